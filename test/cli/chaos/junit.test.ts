// The JUnit file of chaos tells of this run, whatever becomes of it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, run, start } from '../harness.ts'
import { library } from '../module.ts'

function agent(dir: string, body: string): string {
  const path = join(dir, 'agent.mjs')
  const any = "{ '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }"
  writeFileSync(
    path,
    `import { tool, workflow } from '${library}'
    const any = ${any}
    const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input: any, run: () => 1 })
    export const w = workflow({ id: 'w@1.0.0', input: any, tools: [mail],
      run: (_, ctx) => ctx.call(mail, {}) })
    export const mocks = { mail: (input) => { ${body} } }`,
  )
  return path
}

test('J2 an older report stayed when chaos could not run: the file says why', async () => {
  const dir = folder()
  const junit = join(dir, 'chaos.xml')
  const cases: [code: string, exit: number, args: string[]][] = [
    ['CHAOS_NO_REFERENCE', 1, [agent(dir, 'return input.user.id'), '--timeout', '60s']],
    ['MODULE_NOT_LOADED', 1, [join(dir, 'no & file.mjs')]],
    ['CLI_USAGE', 2, [join(dir, 'agent.mjs'), '--kills', '0']],
  ]
  for (const [code, exit, args] of cases) {
    writeFileSync(junit, 'an older report')
    const ended = await run(['chaos', ...args, '--junit', junit, '--json'])
    expect([ended.code, JSON.parse(ended.stderr).error.code]).toEqual([exit, code])
    const xml = readFileSync(junit, 'utf8')
    expect(xml).toContain('tests="1" failures="0" errors="1"')
    expect(xml).toContain(`<error message="${code}: `)
    expect(xml).not.toMatch(/an older report|&(?!(amp|lt|gt|quot|apos);)/)
  }
}, 300_000)

test('J2 an older report stayed when chaos was interrupted: the file says so', async () => {
  const dir = folder()
  const junit = join(dir, 'chaos.xml')
  writeFileSync(junit, 'an older report')
  const going = start(['chaos', agent(dir, 'return new Promise(() => {})'), '--junit', junit])
  await expect.poll(() => readFileSync(junit, 'utf8')).toContain('chaos has not come to its end')
  going.child.kill('SIGINT')
  await going.ended
  const xml = readFileSync(junit, 'utf8')
  expect(xml).toContain('errors="1"')
  expect(xml).not.toContain('an older report')
}, 300_000)
