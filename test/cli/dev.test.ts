import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { bin, folder, json, misfits, openItem, prepare, run, start } from './harness.ts'

const library = new URL('../index.js', pathToFileURL(bin)).href
const kindOf = "{ '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }"

/** A module as a user would write it, with a timer that would keep the process alive for ever. */
function module(name = 'agent.mjs'): string {
  const path = join(folder(), name)
  writeFileSync(
    path,
    `import { tool, workflow } from '${library}'
    import { setTimeout as sleep } from 'node:timers/promises'
    import { appendFileSync } from 'node:fs'
    const any = ${kindOf}
    const slow = tool({ name: 'slow', replayClass: 'unsafe_on_replay', input: any,
      run: async ({ file, ms }) => {
        appendFileSync(file, 'begun ')
        await sleep(ms)
        appendFileSync(file, 'ended ')
        return { ms }
      } })
    export const quick = workflow({ id: 'quick@1.0.0', input: any, run: async (x) => ({ got: x }) })
    export default [workflow({ id: 'slow@1.0.0', input: any, tools: [slow],
      run: async (input, ctx) => ctx.call(slow, input) })]
    export const asking = workflow({ id: 'asking@1.0.0', input: any,
      run: async (_, ctx) => ctx.ask({ title: 'Shall it?' }) })
    export const notOne = { id: 'x@1.0.0' }
    setInterval(() => {}, 1_000)`,
  )
  return path
}

test('dev runs what a file exports, says what happens, and ends at Ctrl-C', async () => {
  const store = `sqlite:${join(folder(), 'runs.db')}`
  const words = ['--start', 'quick', '--input', '{"a": 1}', '--run-id', 'q-1', '--store', store]
  const dev = start(['dev', module(), ...words])
  await dev.says('completed')
  dev.child.kill('SIGINT')
  const { code, stdout, stderr } = await dev.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('3 graphs: asking@1.0.0, slow@1.0.0, quick@1.0.0')
  expect(stdout).toMatch(/started {3}q-1 quick@1\.0\.0\n.*completed q-1 \{"got":\{"a":1\}\}/)
  expect(stdout).toContain('Draining')
  expect(misfits(stdout)).toEqual([])
})

test('dev tells of items as they open; with --json a document a line', async () => {
  const store = `sqlite:${join(folder(), 'runs.db')}`
  const words = ['--start', 'asking@1.0.0', '--run-id', 'a-1', '--json', '--store', store]
  const dev = start(['dev', module(), ...words])
  await dev.says('"item"')
  const item = await openItem(store, 'a-1')
  await json([
    'decide',
    item,
    'respond',
    '--result',
    '1',
    '--yes',
    '--reason',
    'y',
    '--store',
    store,
  ])
  await dev.says('"completed"')
  dev.child.kill('SIGTERM')
  const { code, stdout } = await dev.ended
  expect(code).toBe(0)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map((line) => line.kind)).toEqual([
    'ready',
    'started',
    'waiting',
    'item',
    'completed',
  ])
  expect(lines[3]).toMatchObject({ run_id: 'a-1', item_id: item, text: 'Shall it?' })
})

test('I7 Ctrl-C lets a call under way finish and be recorded; a second one does not', async () => {
  for (const patient of [true, false]) {
    const place = folder()
    const store = `sqlite:${join(place, 'runs.db')}`
    const file = join(place, 'slow.txt')
    const input = JSON.stringify({ file, ms: patient ? 1_000 : 60_000 })
    const words = ['--start', 'slow', '--input', input, '--run-id', 's-1', '--store', store]
    const dev = start(['dev', module(), ...words])
    await dev.says('started')
    await expect.poll(() => readFileSync(file, { flag: 'a+' }).toString()).toBe('begun ')
    dev.child.kill('SIGINT')
    await dev.says('Draining')
    if (!patient) dev.child.kill('SIGINT')
    const { code } = await dev.ended
    expect(code).toBe(patient ? 0 : 130)
    const { calls } = await json(['run', 'show', 's-1', '--store', store])
    expect(calls[0].status).toBe(patient ? 'committed' : 'pending')
  }
})

test('what dev cannot use is refused with the way to do it', async () => {
  const place = folder()
  const store = ['--store', `sqlite:${join(place, 'runs.db')}`]
  const file = (name: string, text: string) => {
    writeFileSync(join(place, name), text)
    return join(place, name)
  }
  const cases: [string[], number, RegExp][] = [
    [
      [file('agent.ts', 'export const a: number = 1')],
      1,
      /node --import tsx .*MODULE_NOT_LOADED|MODULE_WITHOUT_GRAPH/,
    ],
    [[file('throws.mjs', 'throw new Error("not today")')], 1, /not today.*MODULE_NOT_LOADED/],
    [[file('empty.mjs', 'export const a = 1')], 1, /exports a, .*MODULE_WITHOUT_GRAPH/],
    [[join(place, 'none.mjs')], 1, /there is no file .*none\.mjs/],
    [[module(), '--start', 'quik'], 1, /did you mean quick\?.*GRAPH_UNKNOWN/],
    [[module(), '--start', 'quick', '--input', '{a:1}'], 2, /JSON_INVALID/],
    [[module(), '--input', '{}'], 2, /belong to --start/],
  ]
  const check = async ([args, code, says]: [string[], number, RegExp]) => {
    const ended = await run(['dev', ...args, ...store])
    expect({ args, code: ended.code }).toEqual({ args, code })
    expect(ended.stderr).toMatch(says)
  }
  await Promise.all(cases.map(check))
})

test('I12 a copied store is not worked on until it is adopted', async () => {
  const { path } = await prepare()
  const copy = join(folder(), 'copy.db')
  copyFileSync(path, copy)
  copyFileSync(`${path}.key`, `${copy}.key`)
  const store = ['--store', `sqlite:${copy}`]
  const looked = await run(['runs', ...store])
  expect(looked.code).toBe(0)
  expect(looked.stderr).toMatch(/^warning: .*counterfoil store adopt/)
  const refused = await run(['dev', module(), ...store])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('STORE_MOVED')

  expect((await run(['store', 'adopt', ...store])).code).toBe(2)
  const words = ['store', 'adopt', '--by', 'ana', '--reason', 'moved to a new disk', ...store]
  expect(await json(words)).toMatchObject({ adopted: true, by: 'ana' })
  expect(await json(words)).toMatchObject({ adopted: false })
  expect((await run(['runs', ...store])).stderr).toBe('')
})
