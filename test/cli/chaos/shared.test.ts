// A shared call whose maker was killed: who comes next makes it, and waits for nobody.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, run } from '../harness.ts'
import { library } from '../module.ts'

const agent = `import { tool, workflow } from '${library}'
const any = { '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }
const look = tool({ name: 'look', replayClass: 'pure', shareMs: 600_000, timeoutMs: 600_000,
  input: any, run: () => 1 })
export const looks = workflow({ id: 'looks@1.0.0', input: any, tools: [look],
  run: (_, ctx) => ctx.call(look, { q: 1 }) })
export const mocks = { look: () => 1 }
`

test('J2, B10 a resume waited out the time of a maker that was killed', async () => {
  const path = join(folder(), 'agent.mjs')
  writeFileSync(path, agent)
  // The first death falls after the work and before its record.
  const words = ['chaos', path, '--kills', '1', '--timeout', '30s', '--json']
  const { code, stdout } = await run(words)
  const { ok, tools } = JSON.parse(stdout)
  expect([code, ok]).toEqual([0, true])
  expect(tools[0].sent_again).toBe(1)
}, 300_000)
