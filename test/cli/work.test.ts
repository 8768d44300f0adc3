// counterfoil worker <file>, and counterfoil versions.
import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { folder, json, misfits, run, start } from './harness.ts'
import { module } from './module.ts'

/** A store, a file with graphs, and a place where its slow tool says what it does. */
function site() {
  const dir = folder()
  const file = module()
  const log = join(dir, 'said')
  const store = `sqlite:${join(dir, 'runs.db')}`
  const begin = async (runId: string, input: unknown, graph = 'slow') => {
    const graphs: { [name: string]: unknown; default?: unknown[] } = await import(file)
    const all = [graphs['quick'], ...(graphs.default ?? [])] as never[]
    const cf = await open({ store, graphs: all })
    const wanted = all.find(({ name }) => name === graph) as never
    await cf.start(wanted, input as never, { runId })
    await cf.close()
  }
  const says = () => (existsSync(log) ? readFileSync(log, 'utf8') : '')
  const state = async (runId: string) =>
    (await json(['run', 'show', runId, '--store', store])).run.state
  return { dir, file, store, log, begin, says, state }
}

test('L2 worker <file> says one line, works, and ends with 0 at SIGTERM', async () => {
  const { file, store, begin, state } = site()
  await begin('q1', { a: 1 }, 'quick')
  const worker = start(['worker', file, '--store', store, '--concurrency', '3'])
  const said = await worker.says('at once')
  expect(said).toMatch(/^Worker w_\w+ \(pid \d+\) on sqlite:\S+: .*slow@1.0.0.*; 3 at once/)
  await expect.poll(() => state('q1'), { timeout: 90_000 }).toBe('completed')
  worker.child.kill('SIGTERM')
  const { code, stdout, stderr } = await worker.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('Draining')
  const { workers } = await json(['worker', 'list', '--store', store])
  expect(workers).toMatchObject([{ state: 'stopped', runs: [] }])
})

test('E6 a gate that the file exports is asked before a call is sent', async () => {
  const { file, store, log, begin, says, state } = site()
  await begin('g1', { file: log, ms: 1 })
  appendFileSync(file, "\nexport const gate = () => ({ refuse: 'not today' })\n")
  const worker = start(['worker', file, '--store', store])
  await expect.poll(() => state('g1'), { timeout: 90_000 }).toBe('failed')
  worker.child.kill('SIGTERM')
  await worker.ended
  expect(says()).toBe('')
  const { run: ended } = await json(['run', 'show', 'g1', '--store', store])
  expect(JSON.stringify(ended.error)).toContain('not today')
})

test('D2 SIGTERM: a call under way finishes and is recorded, the run is given back', async () => {
  const { file, store, log, begin, says, state } = site()
  await begin('s1', { file: log, ms: 4_000 })
  const worker = start(['worker', 'run', file, '--store', store, '--json'])
  await worker.says('"kind":"ready"')
  await expect.poll(says, { timeout: 90_000 }).toBe('begun ')
  worker.child.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
  expect(says()).toBe('begun ended ')
  expect(['pending', 'completed']).toContain(await state('s1'))
  const { calls } = await json(['ledger', 'show', 's1', '--store', store])
  expect(calls).toMatchObject([{ tool_name: 'slow', status: 'committed' }])
})

test('D2 a grace that is over: exit code 1, and the next one asks a person', async () => {
  const { file, store, log, begin, says, state } = site()
  await begin('s1', { file: log, ms: 60_000 })
  const words = ['worker', file, '--store', store]
  const worker = start([...words, '--grace', '100ms'])
  await expect.poll(says, { timeout: 90_000 }).toBe('begun ')
  worker.child.kill('SIGTERM')
  const { code, stderr } = await worker.ended
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /1 run had not finished .* 1 call .*: s1\. Other workers.*WORKER_UNFINISHED/,
  )
  const next = start(words)
  await expect.poll(() => state('s1'), { timeout: 90_000 }).toBe('waiting_human')
  // It was given back, or its end was proven: nobody waited for the end of its lease.
  const { events } = await json(['run', 'events', 's1', '--store', store])
  const taken = events.find(({ data }: { data: { fence?: number } }) => data.fence === 2)
  expect(['pending', 'dead']).toContain(taken?.data.cause)
  expect(says()).toBe('begun ')
  next.child.kill('SIGTERM')
  expect((await next.ended).code).toBe(0)
})

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('D2 a second %s ends at once with %i', async (signal, code) => {
  const { file, store, log, begin, says } = site()
  await begin('s1', { file: log, ms: 60_000 })
  const worker = start(['worker', file, '--store', store])
  await expect.poll(says, { timeout: 90_000 }).toBe('begun ')
  worker.child.kill(signal)
  await worker.says('Draining')
  worker.child.kill(signal)
  expect((await worker.ended).code).toBe(code)
})

test('M4 the ready file is there while the worker is, and is touched again', async () => {
  const { dir, file, store } = site()
  const ready = join(dir, 'ready')
  const worker = start(['worker', file, '--store', store, '--ready-file', ready])
  await worker.says('at once')
  expect(readFileSync(ready, 'utf8')).toMatch(new RegExp(`^w_\\w+ ${worker.child.pid}\n$`))
  const before = statSync(ready).mtimeMs
  await expect.poll(() => statSync(ready).mtimeMs, { timeout: 90_000 }).toBeGreaterThan(before)
  worker.child.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
  expect(existsSync(ready)).toBe(false)
})

test('I9 a worker that was declared dead ends with 1, to be started again', async () => {
  const { file, store } = site()
  const worker = start(['worker', file, '--store', store])
  const [id = ''] = /w_\w+/.exec(await worker.says('at once')) ?? []
  const dead = ['worker', 'dead', id, '--force', '--by', 'ops', '--reason', 'a test']
  expect((await run([...dead, '--store', store])).code).toBe(0)
  const { code, stderr } = await worker.ended
  expect({ code }).toEqual({ code: 1 })
  expect(stderr).toMatch(/is on record as dead.*start it again.*WORKER_DEAD/)
}, 300_000)

describe('L2 a wrong use of worker has an answer', () => {
  test.each([
    [['worker'], ''],
    [['worker', 'lsit'], 'did you mean: worker list?'],
    [['worker', 'f.js', '--grace', 'soon'], '--grace takes a time like 30s or 5m'],
    [['worker', 'f.js', '--concurrency', 'many'], '--concurrency takes a whole number'],
  ])('%j', async (args, says) => {
    const { code, stderr } = await run(args)
    expect(code).toBe(2)
    expect(stderr).toContain(says)
  })

  test('a file that is not there', async () => {
    const { code, stderr } = await run(['worker', './nowhere.js'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/there is no file .*nowhere\.js.*MODULE_NOT_LOADED/)
  })
})

test('F4 versions shows what is left on each, and which may go', async () => {
  const { store, begin, log } = site()
  const empty = await run(['versions', '--store', store])
  expect(empty.code).toBe(1)
  await begin('s1', { file: log, ms: 1 })
  await begin('s2', { file: log, ms: 1 })
  const { versions } = await json(['versions', '--store', store])
  expect(versions).toMatchObject([
    { graph: 'quick', version: '1.0.0', live: 0, ended: 0, states: {} },
    { graph: 'slow', version: '1.0.0', live: 2, ended: 0, states: { pending: 2 } },
  ])
  expect(versions[0].registered_at).toMatch(/^\d{4}-\d\d-\d\dT/)
  const { stdout } = await run(['versions', '--graph', 'slow', '--store', store])
  expect(stdout).toMatch(
    /^GRAPH +VERSION +REGISTERED +LIVE +FAILED +ENDED +WHERE\nslow +1\.0\.0 .* 2 /,
  )
  expect(stdout).toContain('2 pending')
  expect(stdout).not.toContain('quick')
  expect(misfits(stdout)).toEqual([])
  const none = await run(['versions', '--graph', 'nothing', '--store', store])
  expect(none.stdout).toBe('No graph nothing.\n')
})
