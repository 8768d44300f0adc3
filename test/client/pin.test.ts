// A damaged checkpoint on SQLite, from the outside: with open(), a worker, and somebody who has
// written into the file. The rules themselves are tested in engine/graph/checkpoint-damage.test.ts.
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, type Graph, graph, open, tool } from '../../src/index.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const by = { by: 'ana', reason: 'looked' }

/** Three nodes that send, and a fourth that asks before it sends. */
function makeGraph() {
  const sent: string[] = []
  const begun: string[] = []
  const mail = tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string() }),
    run: async ({ to }) => {
      sent.push(to)
      return { id: `m-${to}`, text: 'x'.repeat(300) }
    },
  })
  const begin = (name: string) => {
    begun.push(name)
    return { to: name }
  }
  const grown = (state: { log: readonly string[] }, { id }: { id: string }) => ({
    log: [...state.log, id, 'y'.repeat(300)],
  })
  const made = graph({
    id: 'steps@1.0.0',
    state: z.object({ log: z.array(z.string()).default([]) }),
    output: z.array(z.string()),
    tools: [mail],
    start: 'a',
    nodes: {
      a: async (state, ctx) => ctx.go('b', grown(state, await ctx.call(mail, begin('a')))),
      b: async (state, ctx) => ctx.go('c', grown(state, await ctx.call(mail, begin('b')))),
      c: async (state, ctx) => ctx.go('d', grown(state, await ctx.call(mail, begin('c')))),
      d: async (state, ctx) => {
        const last = begin('d')
        await ctx.approval({ title: 'Send the last?' })
        await ctx.call(mail, last)
        return ctx.done(state.log.filter((line) => line.startsWith('m-')))
      },
    },
  })
  return { graph: made, sent, begun }
}

async function opens(store: string, made: Graph, more: object = {}) {
  const cf = await open({ store, graphs: [made], onWarning: () => {}, ...more })
  opened.push(cf)
  return cf
}

/** Waits at `d`, closed; then somebody has been at the file, and the approval is given. */
async function damaged(change: (db: Database.Database, path: string) => void, more: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-pin-'))
  folders.push(folder)
  const path = join(folder, 'runs.db')
  const made = makeGraph()
  const first = await opens(`sqlite:${path}`, made.graph as Graph, more)
  await first.start(made.graph, {}, { runId: 'r' })
  await first.worker().start()
  await first.run('r').until('waiting_human')
  await first.close()
  const db = new Database(path)
  change(db, path)
  db.close()
  const cf = await opens(`sqlite:${path}`, made.graph as Graph, more)
  const [item] = (await cf.inbox.list()).items
  await cf.inbox.decide(item?.itemId ?? '', { outcome: 'approve', version: 1, ...by })
  made.begun.length = 0
  await cf.worker().start()
  return { cf, ...made }
}

const at = "where run_id = 'r' and visit"
const damages: [string, (db: Database.Database) => void, number[]][] = [
  [
    'a body',
    (db) =>
      db.exec(`update checkpoints set body_json = replace(body_json, 'm-c', 'm-x') ${at} = 4`),
    [3, 2, 1],
  ],
  ['a digest', (db) => db.exec(`update checkpoints set digest = 'x' ${at} = 4`), [3, 2, 1]],
  ['a node', (db) => db.exec(`update checkpoints set node = 'a' ${at} = 4`), [3, 2, 1]],
  ['a version', (db) => db.exec(`update checkpoints set version = '1.1.0' ${at} = 4`), [3, 2, 1]],
  ['the last row gone', (db) => db.exec(`delete from checkpoints ${at} = 4`), [3, 2, 1]],
  ['a row gone', (db) => db.exec(`delete from checkpoints ${at} = 3`), [2, 1]],
  ['a base visit', (db) => db.exec(`update checkpoints set base_visit = 2 ${at} = 4`), [3, 2, 1]],
  [
    'two rows exchanged',
    (db) => {
      db.exec(`update checkpoints set visit = 99 ${at} = 4`)
      db.exec(`update checkpoints set visit = 4 ${at} = 3`)
      db.exec(`update checkpoints set visit = 3 ${at} = 99`)
    },
    [2, 1],
  ],
]

describe('D11 a damaged checkpoint in the file', () => {
  test.each(damages)(
    'D11 F2 %s: nothing runs; a good one is pinned, nothing is sent twice',
    async (_, change, good) => {
      const { cf, sent, begun } = await damaged(change)
      const run = cf.run('r')
      await run.until('waiting_human')
      const { items } = await cf.inbox.list({ kind: 'doubt' })
      expect(items).toMatchObject([{ reason: 'checkpoint', visit: 4, body: { damage: { good } } }])
      expect(begun).toEqual([])
      expect(sent).toEqual(['a', 'b', 'c'])
      await expect(run.pin({ visit: 4, ...by })).rejects.toMatchObject({ code: 'PIN_REFUSED' })
      await expect(run.state()).rejects.toMatchObject({
        code: expect.stringMatching(/^CHECKPOINT_(DAMAGED|NOT_FOUND)$/),
      })
      await run.pin({ visit: good[0] ?? 0, ...by })
      expect(await run.result()).toEqual(['m-a', 'm-b', 'm-c'])
      // The approval that was given before holds: it is a record of its visit.
      expect(sent).toEqual(['a', 'b', 'c', 'd'])
      expect(begun).toEqual(['a', 'b', 'c', 'd'].slice((good[0] ?? 0) - 1))
      expect(await run.state(2)).toMatchObject({ log: ['m-a', 'y'.repeat(300)] })
    },
  )

  test('D11 all of them: it can only be abandoned', async () => {
    const { cf, sent, begun } = await damaged((db) => {
      db.exec("update checkpoints set digest = 'x'")
    })
    const run = cf.run('r')
    await run.until('waiting_human')
    const [item] = (await cf.inbox.list({ kind: 'doubt' })).items
    expect(item?.body.damage?.good).toEqual([])
    const view = await cf.inbox.get(item?.itemId ?? '')
    expect(view.outcomes).toEqual(['abandon'])
    for (const visit of [1, 2, 3, 4]) {
      await expect(run.pin({ visit, ...by })).rejects.toMatchObject({ code: 'PIN_REFUSED' })
    }
    await cf.inbox.decide(view.itemId, { outcome: 'abandon', version: view.version, ...by })
    await expect(run.result()).rejects.toMatchObject({ code: 'RUN_FAILED' })
    expect([begun, sent]).toEqual([[], ['a', 'b', 'c']])
    // What was done stays where it is, for whoever looks at it.
    const { items } = await cf.store.listRecords({ namespace: 'default', runId: 'r' }, {})
    expect(items.filter((row) => row.status === 'committed').length).toBe(3)
  })

  test('D11 B7 a body in a blob that is cut off', async () => {
    const cut = (_: Database.Database, path: string) => {
      const files = readdirSync(`${path}.blobs`, { recursive: true, withFileTypes: true })
      const blobs = files.filter((file) => file.isFile() && /^[0-9a-f]{64}/.test(file.name))
      expect(blobs.length).toBeGreaterThan(3)
      for (const { parentPath, name } of blobs) truncateSync(join(parentPath, name), 7)
    }
    const { cf, begun } = await damaged(cut, { blobBytesMin: 200 })
    await cf.run('r').until('waiting_human')
    const [item] = (await cf.inbox.list({ kind: 'doubt' })).items
    expect(item).toMatchObject({ reason: 'checkpoint' })
    // The first state is small: it lies in its row.
    expect(item?.body.damage?.good).toEqual([1])
    expect(item?.body.damage?.why).toMatch(/body is missing \(blob [0-9a-f]{64}\)/)
    expect(begun).toEqual([])
  })
})

describe('D11 pinning without damage', () => {
  test('D11 a run that is worked on is refused; paused, it goes back', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'counterfoil-pin-'))
    folders.push(folder)
    const made = makeGraph()
    const cf = await opens(`sqlite:${join(folder, 'runs.db')}`, made.graph as Graph)
    const run = await cf.start(made.graph, {}, { runId: 'r' })
    await expect(run.pin({ visit: 1, ...by })).rejects.toThrow(/it is pending; pause it first/)
    await cf.worker().start()
    await run.until('waiting_human')
    await run.pause(by)
    await run.until('paused')
    made.begun.length = 0
    await run.pin({ visit: 2, ...by })
    await run.until('waiting_human')
    expect(made.begun).toEqual(['b', 'c', 'd'])
    expect(made.sent).toEqual(['a', 'b', 'c'])
    const { items } = await cf.inbox.list()
    expect(items.map((item) => item.title)).toEqual(['Send the last?'])
    await expect(cf.run('nobody').pin({ visit: 1, ...by })).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    })
  })
})
