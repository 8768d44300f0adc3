import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder, json, misfits, openItem, prepare, run, start } from './harness.ts'
import { library, module } from './module.ts'

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
    const input = JSON.stringify({ file, ms: patient ? 4_000 : 60_000 })
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

test('J2 the way to load TypeScript named a script of chaos: it is the command', async () => {
  const place = folder()
  const path = join(place, 'agent.ts')
  // No Node takes an enum by itself.
  writeFileSync(path, 'export enum A { B }')
  const store = ['--store', `sqlite:${join(place, 'runs.db')}`]
  const check = async (command: string, ...more: string[]) => {
    const { stderr } = await run([command, path, ...more])
    const text = stderr.replaceAll(/\s+/g, ' ')
    expect(text).toMatch(new RegExp(`node --import tsx \\S*main\\.js ${command} \\S*agent\\.ts;`))
  }
  await Promise.all([check('chaos'), check('dev', ...store), check('worker', ...store)])
  await check('serve', ...store)
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

/** A graph with one tool of this class. */
function changing(path: string, version: string, replayClass: string): void {
  writeFileSync(
    path,
    `import { tool, workflow } from '${library}'
    const any = { '~standard': { version: 1, vendor: 't', validate: (value) => ({ value }) } }
    const greet = tool({ name: 'greet', replayClass: '${replayClass}', input: any, run: () => 1 })
    export const hello = workflow({ id: 'hello@${version}', input: any, tools: [greet],
      run: (_, ctx) => ctx.call(greet, {}) })`,
  )
}

test('F3 a changed graph under its old version: dev says what to write, and goes on', async () => {
  const place = folder()
  const path = join(place, 'agent.mjs')
  const words = ['dev', path, '--store', `sqlite:${join(place, 'runs.db')}`]
  changing(path, '1.0.0', 'unsafe_on_replay')
  const first = start(words)
  await first.says('1 graph: hello@1.0.0')
  first.child.kill('SIGINT')
  await first.ended

  changing(path, '1.0.0', 'pure')
  const dev = start([...words, '--start', 'hello', '--run-id', 'h-1'])
  const told = await dev.says('Waiting for a change')
  expect(told).toMatch(/^hello@1\.0\.0 has changed, and this store knows it with other content:\n/)
  expect(told).toContain('tool greet: class was unsafe_on_replay, is pure')
  expect(told).toContain("id: 'hello@1.0.1'")
  expect(misfits(told)).toEqual([])
  // Half saved, and then right.
  writeFileSync(path, 'export const hello = {')
  await expect.poll(() => dev.stderr(), { timeout: 90_000 }).toContain('MODULE_NOT_LOADED')
  changing(path, '1.0.1', 'pure')
  await dev.says('completed h-1')
  dev.child.kill('SIGINT')
  const { code, stdout } = await dev.ended
  expect(code).toBe(0)
  expect(stdout).toMatch(/started {3}h-1 hello@1\.0\.1\n/)
  expect(stdout).toContain('Draining')
})

test('F3 with --json a changed graph is a line, and Ctrl-C ends the waiting', async () => {
  const place = folder()
  const path = join(place, 'agent.mjs')
  const words = ['dev', path, '--json', '--store', `sqlite:${join(place, 'runs.db')}`]
  changing(path, '1.0.0', 'unsafe_on_replay')
  const first = start(words)
  await first.says('"ready"')
  first.child.kill('SIGINT')
  await first.ended
  changing(path, '1.0.0', 'pure')
  const dev = start(words)
  await dev.says('"graph_changed"')
  dev.child.kill('SIGTERM')
  const { code, stdout } = await dev.ended
  expect(code).toBe(0)
  const [line, ...rest] = stdout.trim().split('\n')
  expect(rest).toEqual([])
  expect(JSON.parse(line ?? '')).toMatchObject({
    kind: 'graph_changed',
    graph: 'hello@1.0.0',
    differences: ['tool greet: class was unsafe_on_replay, is pure'],
  })
})

test('dev names the live runs of graphs that its file does not export', async () => {
  const { store } = await prepare()
  const dev = start(['dev', module(), '--store', store])
  await dev.says('wait for a person')
  dev.child.kill('SIGINT')
  const { stdout } = await dev.ended
  expect(stdout).toMatch(/3 runs are of outreach@1\.0\.0, which this file does not export/)
})
