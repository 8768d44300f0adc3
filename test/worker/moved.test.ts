// The file of a store is deleted or exchanged under a worker that holds runs (I12): SQLite itself
// goes on writing into the file that it has open, and says nothing.
import { copyFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, open, tool, workflow } from '../../src/index.ts'
import { newPath } from '../store/bench.ts'

const callsMax = 12

/** A run of so many unsafe calls; `during` is done inside the fifth. */
function site(path: string, sent: number[], during: () => Promise<void> | void = () => {}) {
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.number(),
    output: z.number(),
    run: async (n) => {
      sent.push(n)
      if (n === 5) await during()
      return n
    },
  })
  const flow = workflow({
    id: 'flow@1.0.0',
    input: z.null(),
    tools: [send],
    run: async (_, ctx) => {
      for (let n = 1; n <= callsMax; n++) await ctx.call(send, n)
      return 'done'
    },
  })
  const said: string[] = []
  const onWarning = (message: string) => void said.push(message)
  const opened = open({ store: `sqlite:${path}`, graphs: [flow], onWarning })
  return { send, flow, said, opened }
}

/** The keeper has looked so often since. */
function looks(cf: Counterfoil, count: number): Promise<void> {
  const store = cf.store as { moved: Counterfoil['store']['moved'] }
  const moved = store.moved.bind(store)
  return new Promise((resolve) => {
    let seen = 0
    store.moved = async () => {
      if (++seen >= count) resolve()
      return moved()
    }
  })
}

const nTimes = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const workerOptions = { leaseMs: 600, pollMs: 10 }

for (const [name, what, says] of [
  ['the database is deleted', (path: string) => rmSync(path), /runs\.db is gone/],
  ['the database is moved away', (path: string) => renameSync(path, `${path}.1`), /is gone/],
  ['its log is deleted', (path: string) => rmSync(`${path}-wal`), /log .*-wal is gone/],
  [
    'a copy takes its place',
    (path: string) => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
    /is another/,
  ],
] as const) {
  test(`I12 ${name} under a worker: it sends nothing more, and says so once`, async () => {
    const path = newPath()
    const sent: number[] = []
    const { opened, flow, said } = site(path, sent, () => what(path))
    const cf = await opened
    await cf.worker(workerOptions).start()
    await cf.start(flow, null, { runId: 'r1' })
    while (sent.length < 5) await sleep(1)
    // It has every chance to go on, and to complain again and again.
    await looks(cf, 8)
    expect(sent).toEqual(nTimes(5))
    expect(said).toEqual([expect.stringMatching(says)])
    expect(said[0]).toMatch(/counterfoil store adopt/)
    // Nothing that this process writes is acknowledged either, and it cannot adopt the other file.
    await expect(cf.start(flow, null)).rejects.toMatchObject({ code: 'STORE_MOVED' })
    await expect(cf.store.adopt('ana', 'x')).rejects.toMatchObject({ code: 'STORE_MOVED' })
    await cf.close()
    expect(sent).toEqual(nTimes(5))
  })
}

test('I12 a copy is adopted while the old worker lives: each call is sent once', async () => {
  const path = newPath()
  const sent: number[] = []
  let exchanged = false
  const old = site(path, sent, async () => {
    const db = new Database(path)
    await db.backup(`${path}.copy`)
    db.close()
    for (const end of ['', '-wal', '-shm']) renameSync(path + end, `${path}.old${end}`)
    renameSync(`${path}.copy`, path)
    exchanged = true
  })
  const first = await old.opened
  await first.worker(workerOptions).start()
  await first.start(old.flow, null, { runId: 'r1' })
  while (!exchanged) await sleep(1)
  const next = site(path, sent)
  const cf = await next.opened
  expect(await cf.store.moved()).toMatch(/not the one that was made/)
  await cf.store.adopt('ana', 'the copy is the right one')
  await cf.worker(workerOptions).start()
  const run = cf.run('r1')
  await run.until('waiting_human')
  const [item] = (await cf.inbox.list()).items
  const decision = { outcome: 'happened', result: 5, by: 'ana', reason: 'in its log' } as const
  await cf.inbox.decide(item?.itemId ?? '', { ...decision, version: item?.version ?? 0 })
  expect(await run.result()).toBe('done')
  expect(sent).toEqual(nTimes(callsMax))
  expect(old.said).toHaveLength(1)
  await Promise.all([first.close(), cf.close()])
  expect(sent).toEqual(nTimes(callsMax))
})

test('I12 a scope on a deleted file sends nothing, nor does a new scope', async () => {
  const path = newPath()
  const sent: number[] = []
  const { opened, send, said } = site(path, sent)
  const cf = await opened
  const ids = { workflowId: 't1', nodeId: 'n', checkpointId: 'c1' }
  const scope = await cf.scope(ids)
  await scope.call(send, 1)
  rmSync(path)
  await expect(scope.call(send, 2)).rejects.toThrow()
  await scope.close()
  const again = cf.scope({ ...ids, workflowId: 't2' })
  await expect(again).rejects.toMatchObject({ code: 'STORE_MOVED' })
  expect(sent).toEqual([1])
  expect(said.length).toBeLessThanOrEqual(1)
  await cf.close()
})

test('I12 open() beside a key whose database is gone makes no empty store', async () => {
  const path = newPath()
  const made = await site(path, []).opened
  await made.close()
  rmSync(path)
  const error = await site(path, []).opened.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'STORE_FILE_MISSING' })
  expect((error as Error).message).toMatch(/runs\.db\.key.*store adopt.*move them away/s)
  expect(readdirSync(dirname(path))).not.toContain('runs.db')
  // As it says: without them there is nothing to be lost.
  for (const end of ['.key', '.witness']) renameSync(path + end, `${path}.old${end}`)
  await (await site(path, []).opened).close()
})
