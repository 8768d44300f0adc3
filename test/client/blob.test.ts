// Large values end to end (B7): a run with a hundred megabytes of observations keeps a small row,
// gets its results back, and is put before a person when a blob is not what it was.
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { collectOrphans } from '../../src/blob/collect.ts'
import { openFiles } from '../../src/blob/files.ts'
import { systemClock } from '../../src/clock.ts'
import { type Counterfoil, type Graph, graph, open, tool } from '../../src/index.ts'

const opened: Counterfoil[] = []
const folders: string[] = []

afterEach(async () => {
  for (const cf of opened.splice(0)) await cf.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-blob-'))
  folders.push(folder)
  return join(folder, 'runs.db')
}

async function opens(path: string, made: Graph, more: object = {}): Promise<Counterfoil> {
  const cf = await open({ store: `sqlite:${path}`, graphs: [made], onWarning: () => {}, ...more })
  opened.push(cf)
  return cf
}

const by = { by: 'ana', reason: 'looked' }
const ref = { namespace: 'default', runId: 'r' }

async function approve(cf: Counterfoil): Promise<void> {
  const [item] = (await cf.inbox.list({ kind: 'approval' })).items
  if (item === undefined) throw new Error('nothing waits')
  await cf.inbox.decide(item.itemId, { outcome: 'approve', version: item.version, ...by })
}

function blobsOf(path: string): { path: string; bytes: number }[] {
  const found = readdirSync(`${path}.blobs`, { recursive: true, withFileTypes: true })
  return found
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .map((each) => ({ path: each, bytes: statSync(each).size }))
}

/** Bytes of the run's row, as SQLite holds them. */
function hotBytes(path: string): number {
  const db = new Database(path, { readonly: true })
  const row = db.prepare('select * from runs').get() as Record<string, unknown>
  db.close()
  return Object.values(row).reduce<number>(
    (sum, value) => sum + Buffer.byteLength(String(value ?? '')),
    0,
  )
}

const mega = 1_000_000

/** Reads large pages, visit after visit, then asks with the last of them at hand. */
function makeReader(pages: number, perVisit: number, bytes: number) {
  const reads: number[] = []
  const read = tool({
    name: 'read',
    replayClass: 'pure',
    input: z.object({ page: z.number() }),
    run: async ({ page }) => {
      reads.push(page)
      return { page, text: String(page % 10).repeat(bytes) }
    },
  })
  const fetched = (text: string) => text.length === bytes && new Set(text).size === 1
  const made = graph({
    id: 'reader@1.0.0',
    state: z.object({ page: z.number(), seen: z.array(z.number()), notes: z.string().default('') }),
    output: z.object({ seen: z.number(), notes: z.string(), whole: z.boolean() }),
    tools: [read],
    start: 'read',
    nodes: {
      read: async ({ page, seen, notes }, ctx) => {
        const numbers = Array.from({ length: perVisit }, (_, i) => page + i)
        const got = await Promise.all(numbers.map((each) => ctx.call(read, { page: each })))
        const whole = got.every((one, i) => one.page === page + i && fetched(one.text))
        const last = page + perVisit >= pages
        if (last) await ctx.approval({ title: 'Enough?' })
        const patch = { page: page + perVisit, seen: [...seen, ...numbers] }
        if (!last) return ctx.go('read', { ...patch, notes: notes + 'n'.repeat(bytes / 10) })
        const output = { seen: patch.seen.length, notes: notes + 'n'.repeat(bytes / 10), whole }
        return ctx.done(output)
      },
    },
  })
  return { reader: made, reads }
}

describe('B7 a hundred megabytes of observations', () => {
  test('B7 the row of the run stays small, and results come back after a resume', async () => {
    const [pages, perVisit] = [100, 20]
    const path = file()
    const { reader, reads } = makeReader(pages, perVisit, mega)
    const first = await opens(path, reader as Graph)
    await first.start(reader, { page: 0, seen: [] }, { runId: 'r' })
    await first.worker().start()
    await first.run('r').until('waiting_human')
    expect(reads.length).toBe(pages)
    await first.close()
    expect(hotBytes(path)).toBeLessThan(256 * 1024)
    expect(statSync(path).size).toBeLessThan(mega)
    const held = blobsOf(path)
    expect(held.reduce((sum, one) => sum + one.bytes, 0)).toBeGreaterThan(pages * mega)
    const cf = await opens(path, reader as Graph)
    await approve(cf)
    await cf.worker().start()
    const run = cf.run<{ seen: number; notes: string; whole: boolean }>('r')
    const { seen, notes, whole } = await run.result()
    // Read back from the ledger: none of the pages was asked for again.
    expect([seen, whole, notes.length]).toEqual([pages, true, (pages / perVisit) * (mega / 10)])
    expect(reads.length).toBe(pages)
    expect(hotBytes(path)).toBeLessThan(256 * 1024)
    const row = await cf.store.getRun(ref)
    expect(row?.outputJson).toBe(null)
    expect(row?.outputDigest).toMatch(/^[0-9a-f]{64}$/)
  }, 300_000)

  test('B7 also if it fails with a message of a megabyte', async () => {
    const path = file()
    const fails = graph({
      id: 'fails@1.0.0',
      state: z.object({}),
      start: 'a',
      nodes: { a: async (_, ctx) => ctx.fail('é'.repeat(mega)) },
    })
    const cf = await opens(path, fails as Graph)
    await cf.worker().start()
    const run = await cf.start(fails, {}, { runId: 'r' })
    await expect(run.result()).rejects.toThrow(/^run r failed: ééé/)
    expect(hotBytes(path)).toBeLessThan(256 * 1024)
  })
})

const [few, kilo] = [4, 1_000]

/** Has read a few large pages, and waits; then somebody is at the blobs. */
async function waiting() {
  const path = file()
  const { reader, reads } = makeReader(few, few, 700 * kilo)
  const first = await opens(path, reader as Graph)
  await first.start(reader, { page: 0, seen: [] }, { runId: 'r' })
  await first.worker().start()
  await first.run('r').until('waiting_human')
  await first.close()
  return { path, reader, reads }
}

describe('B7 a blob that is not what it was', () => {
  test.each([
    ['altered', (at: string) => truncateSync(at, kilo)],
    ['missing', (at: string) => unlinkSync(at)],
  ])('B7 %s: its call goes to a person, and is answered by nobody else', async (_, harm) => {
    const { path, reader, reads } = await waiting()
    const [blob] = blobsOf(path)
    harm(blob?.path ?? '')
    const cf = await opens(path, reader as Graph)
    await approve(cf)
    await cf.worker().start()
    const run = cf.run('r')
    await run.until('waiting_human')
    const { items } = await cf.inbox.list({ kind: 'doubt' })
    expect(items.length).toBe(1)
    for (const item of items) {
      expect(item.reason).toBe('tampered')
      const place = item.body.subject?.nth ?? 0
      const result = { page: place, text: String(place % 10).repeat(700 * kilo) }
      await cf.inbox.decide(item.itemId, {
        outcome: 'happened',
        result,
        version: item.version,
        ...by,
      })
    }
    expect(await run.result()).toMatchObject({ seen: few, whole: true })
    expect(reads.length).toBe(few)
  })

  test('B7 the output: it is said to be gone, and nothing is made up', async () => {
    const { path, reader } = await waiting()
    const cf = await opens(path, reader as Graph)
    await approve(cf)
    await cf.worker().start()
    const run = cf.run('r')
    await run.result()
    const row = await cf.store.getRun(ref)
    const output = blobsOf(path).find((one) => one.path.includes(row?.outputDigest ?? 'none'))
    unlinkSync(output?.path ?? '')
    await expect(run.result()).rejects.toMatchObject({ code: 'BLOB_MISSING' })
    expect(await run.status()).toMatchObject({ state: 'completed' })
  })
})

describe('B7 orphans', () => {
  test('B7 are collected once they are old, and never one that a row refers to', async () => {
    const { path, reader, reads } = await waiting()
    const dir = `${path}.blobs`
    const used = new Set(blobsOf(path).map((one) => one.path))
    const blobs = openFiles({ dir, clock: systemClock })
    // A commit that was never made has left these.
    for (const text of ['left', 'behind']) await blobs.put(text.repeat(100 * kilo))
    expect(blobsOf(path).length).toBe(used.size + 2)
    const cf = await opens(path, reader as Graph)
    const inUse = (digests: readonly string[]) => cf.store.blobsInUse(digests)
    const young = await collectOrphans({ blobs, inUse, clock: systemClock })
    expect(young.removed).toBe(0)
    const later = { ...systemClock, now: () => systemClock.now() + 7_200_000 }
    const old = await collectOrphans({ blobs, inUse, clock: later })
    expect(old).toMatchObject({ removed: 2, kept: used.size })
    expect(new Set(blobsOf(path).map((one) => one.path))).toEqual(used)
    await approve(cf)
    await cf.worker().start()
    expect(await cf.run('r').result()).toMatchObject({ whole: true })
    expect(reads.length).toBe(few)
    // What a superseded state had is kept as well: a person may pin it.
    expect((await collectOrphans({ blobs, inUse, clock: later })).removed).toBe(0)
  })
})
