// counterfoil chaos when the mocks break the process that they live in.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, run } from '../harness.ts'
import { library } from '../module.ts'

const graph = `import { tool, workflow } from '${library}'
const any = { '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }
const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input: any, run: () => 1 })
export const sends = workflow({ id: 'sends@1.0.0', input: any, tools: [mail],
  run: (_, ctx) => ctx.call(mail, { to: 'acme' }) })
`

test('J2 a mock that breaks its process is named, and no socket', async () => {
  const path = join(folder(), 'agent.mjs')
  const said = async (mock: string) => {
    writeFileSync(path, `${graph}export const mocks = { mail: () => { ${mock} } }`)
    const { code, stderr } = await run(['chaos', path, '--kills', '1'])
    expect(code).toBe(1)
    return stderr.replaceAll(/\s+/g, ' ')
  }
  const ended = 'the process of your mocks ended by itself'
  const floating = await said("Promise.reject(new Error('floating')); return 1")
  expect(floating).toContain(`${ended} (exit code 1): Error: floating [CHAOS_OPTIONS`)
  const exits = await said('process.exit(3)')
  expect(exits).toContain(`${ended} (exit code 3): does a mock call process.exit()? [CHAOS_OPTIONS`)
}, 300_000)
