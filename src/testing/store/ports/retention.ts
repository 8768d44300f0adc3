import * as limits from '../../../model/limits.ts'
import type { Run } from '../../../model/run/records.ts'
import type { RunChange } from '../../../store/store.ts'
import {
  attempt,
  type Bench,
  checkpoint,
  child,
  claimOne,
  decision,
  event,
  evidence,
  item,
  namespace,
  newRun,
  record,
  ref,
  register,
  type Subject,
  settled,
  signal,
} from '../fixtures.ts'

const dayMs = 24 * 3_600_000
const keep = { pureMs: dayMs, keyedMs: 2 * dayMs, unsafeMs: limits.retentionFloorMs }
const completed = { state: 'completed', outputJson: '7', release: true } as const
const failed = { state: 'failed', errorJson: '{"code":"X"}', release: true } as const

/** A run with one call of each class and one of everything else, ended so. */
async function ended(s: Subject, runId: string, end: RunChange = completed): Promise<Run> {
  await s.store.start(newRun(runId))
  const run = await claimOne(s, runId)
  await s.amend(run, { signals: [signal('s1', { runId })] })
  await s.commit(run, {
    records: [
      settled(record(1, { runId, replayClass: 'pure' })),
      settled(record(2, { runId, replayClass: 'idempotent_with_key', idempotencyKey: 'k1' })),
      settled(record(3, { runId })),
    ],
    attempts: [1, 2, 3].map((nth) => attempt(nth, { runId, tokenHash: `${runId}/${nth}` })),
    evidence: [evidence(2, { runId }), evidence(3, { runId })],
    items: [item(`i_${runId}`, { runId, state: 'decided' })],
    decisions: [decision('d1', { runId, itemId: `i_${runId}` })],
    events: [event('worked', runId)],
    checkpoints: [checkpoint(runId, { visit: 2, kind: 'delta', digest: 'd2' })],
    signals: [signal('s1', { runId, usedBy: 'a1' })],
    run: end,
  })
  return run
}

/** What is left of a run: its calls, and how many rows of the other kinds. */
async function left(s: Subject, runId: string): Promise<{ calls: number[]; rest: number[] }> {
  const of = ref(runId)
  const { items } = await s.store.listRecords(of, {})
  const lists = await Promise.all([
    s.store.listAttempts(of),
    s.store.listEvidence(of),
    s.store.listDecisions(of),
    s.store.listCheckpoints(of),
    s.store.listEvents(of, {}).then((page) => page.items),
    s.store.listItems({ namespace, runId }).then((page) => page.items),
  ])
  return { calls: items.map((row) => row.nth), rest: lists.map((rows) => rows.length) }
}

const whole = { calls: [1, 2, 3], rest: [3, 2, 1, 2, 3, 1] }
const empty = { calls: [], rest: [0, 0, 0, 0, 0, 0] }
const sweptOf = async (s: Subject, runId = 'r1') => (await s.store.getRun(ref(runId)))?.swept

export function retentionConcern(bench: Bench): void {
  bench.describe('retention', () => {
    byClass(bench)
    tombstones(bench)
    kept(bench)
    bounded(bench)
    refused(bench)
  })
}

function byClass({ on, expect }: Bench): void {
  on('B6 records of a completed run go by class, with what belongs to them', async (s) => {
    const run = await ended(s, 'r1')
    s.clock.advance(dayMs - 1)
    expect(await s.store.retain(keep, 10)).toBe(0)
    expect(await left(s, 'r1')).toEqual(whole)
    s.clock.advance(1)
    expect(await s.store.retain(keep, 10)).toBe(1)
    expect((await left(s, 'r1')).calls).toEqual([2, 3])
    expect(await sweptOf(s)).toBe('pure')
    s.clock.advance(dayMs)
    expect(await s.store.retain(keep, 10)).toBe(1)
    const { calls, rest } = await left(s, 'r1')
    expect([calls, rest]).toEqual([[3], [1, 1, 1, 2, 3, 1]])
    const [unsafe] = await s.store.listAttempts(run)
    expect(unsafe).toMatchObject({ attemptId: attempt(3).attemptId, verifies: true })
    expect(await sweptOf(s)).toBe('keyed')
    expect(await s.store.retain(keep, 10)).toBe(0)
    expect(await s.store.readOutput((await s.store.getRun(run)) as Run)).toBe('7')
    s.clock.advance(keep.unsafeMs)
    expect(await s.store.retain(keep, 10)).toBe(1)
    expect(await left(s, 'r1')).toEqual(empty)
    expect(await s.store.retain(keep, 10)).toBe(0)
  })

  on('B6 an intent that has no end is not taken with its class', async (s) => {
    await s.store.start(newRun())
    const run = await claimOne(s, 'r1')
    const keyed = { replayClass: 'idempotent_with_key', idempotencyKey: 'k1' } as const
    const records = [record(1, keyed), record(2, { ...keyed, status: 'in_doubt' })]
    await s.commit(run, { records, run: { state: 'cancelled', release: true } })
    s.clock.advance(keep.keyedMs)
    expect(await s.store.retain(keep, 10)).toBe(1)
    expect((await left(s, 'r1')).calls).toEqual([1, 2])
  })

  on('C10 a failed run keeps everything for the longest time: it can be tried again', async (s) => {
    await ended(s, 'r1', failed)
    s.clock.advance(keep.unsafeMs - 1)
    expect(await s.store.retain(keep, 10)).toBe(0)
    expect(await left(s, 'r1')).toEqual(whole)
    await s.amend(ref(), { run: { state: 'pending', errorJson: null } })
    s.clock.advance(keep.unsafeMs)
    expect(await s.store.retain(keep, 10)).toBe(0)
    const again = await claimOne(s, 'r1')
    await s.commit(again, { run: failed })
    expect(await s.store.retain(keep, 10)).toBe(0)
    s.clock.advance(keep.unsafeMs)
    expect(await s.store.retain(keep, 10)).toBe(1)
    expect(await left(s, 'r1')).toEqual(empty)
  })
}

function tombstones({ on, expect }: Bench): void {
  for (const end of [completed, failed, { state: 'cancelled', release: true } as const]) {
    on(`C8 the id of a run that was ${end.state} is never a new run`, async (s) => {
      await ended(s, 'r1', end)
      const before = (await s.store.getRun(ref())) as Run
      s.clock.advance(keep.unsafeMs)
      await s.store.retain(keep, 10)
      const { graph, version, state, inputHash, createdAt, endedAt } = before
      const stays = { graph, version, state, inputHash, createdAt, endedAt }
      const gone = { outputJson: null, outputDigest: null, errorJson: null, swept: 'all' }
      const again = await s.store.start(newRun('r1', { inputHash: 'other' }))
      expect(again.created).toBe(false)
      expect(again.run).toMatchObject({ ...stays, ...gone })
      expect(await left(s, 'r1')).toEqual(empty)
      expect((await s.load(ref())).signals).toEqual([])
    })
  }

  on('C10 nor is it tried again, or told anything', async (s) => {
    const run = await ended(s, 'r1', failed)
    s.clock.advance(keep.unsafeMs)
    await s.store.retain(keep, 10)
    const retry = s.amend(run, { run: { state: 'pending', errorJson: null } })
    await expect(retry).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
    const news = { changes: { evidence: [evidence()] }, value: null }
    const late = s.store.amend(run, 'evidence', () => news)
    await expect(late).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
    expect(await left(s, 'r1')).toEqual(empty)
    expect(await s.store.findAttempt('r1/3')).toBe(null)
  })

  on('I10 a child that ends after its parent was taken ends all the same', async (s) => {
    const run = await s.held()
    await s.commit(run, { children: [child()], run: failed })
    s.clock.advance(keep.unsafeMs)
    expect(await s.store.retain(keep, 10)).toBe(1)
    const kid = await claimOne(s, 'kid')
    expect(await s.commit(kid, { run: completed })).toBe('done')
    expect(await left(s, 'r1')).toEqual(empty)
  })

  on('B7 blobs of what was taken are referred to no more', async (s) => {
    const digests = ['a', 'b', 'c'].map((letter) => letter.repeat(64)) as [string, string, string]
    const [pure, unsafe, output] = digests
    await s.store.start(newRun())
    const large = (resultDigest: string) => ({ resultJson: null, resultDigest })
    await s.commit(await claimOne(s, 'r1'), {
      records: [
        settled(record(1, { replayClass: 'pure' }), large(pure)),
        settled(record(2), large(unsafe)),
      ],
      run: { state: 'completed', outputJson: null, outputDigest: output, release: true },
    })
    s.clock.advance(keep.pureMs)
    await s.store.retain(keep, 10)
    expect([...(await s.store.blobsInUse(digests))].sort()).toEqual([unsafe, output])
    s.clock.advance(keep.unsafeMs)
    await s.store.retain(keep, 10)
    expect((await s.store.blobsInUse(digests)).size).toBe(0)
  })
}

function kept(bench: Bench): void {
  const { on, expect } = bench
  on('B6 nothing is taken of a live run, however long it lives', async (s) => {
    await s.held('held')
    for (const id of ['fresh', 'parked', 'paused']) await ended(s, id, { progress: true })
    for (const state of ['waiting_human', 'paused', 'pending'] as const) {
      const id = { waiting_human: 'parked', paused: 'paused', pending: 'fresh' }[state]
      const run = (await s.store.getRun(ref(id))) as Run
      await s.commit(run, { run: { state, release: true } })
    }
    s.clock.advance(100 * keep.unsafeMs)
    expect(await s.store.retain(keep, 10)).toBe(0)
    for (const id of ['fresh', 'parked', 'paused']) expect(await left(s, id)).toEqual(whole)
  })

  for (const [name, state, keeps] of [
    ['waits', { state: 'waiting_tool', release: true }, true],
    ['has failed, and may be tried again,', failed, true],
    ['has ended', completed, false],
  ] as const) {
    on(`B6 the child of a parent that ${name} ${keeps ? 'keeps' : 'loses'} its rows`, async (s) => {
      const run = await s.held()
      await s.commit(run, { children: [child()] })
      const kid = await claimOne(s, 'kid')
      const rows = { records: [settled(record(1, { runId: 'kid' }))] }
      await s.commit(kid, { ...rows, run: completed })
      s.clock.advance(keep.unsafeMs)
      await s.commit((await s.store.getRun(run)) as Run, { run: state })
      expect(await s.store.retain(keep, 10)).toBe(keeps ? 0 : 1)
      expect((await left(s, 'kid')).calls).toEqual(keeps ? [1] : [])
      expect((await s.store.getRun(run))?.swept).toBe(null)
    })
  }

  on('B6 workers that ended long ago go, unless an attempt names them', async (s) => {
    await register(s, 'w_2')
    await register(s, 'w_3')
    await register(s, 'w_4')
    const run = await s.held()
    await s.commit(run, { attempts: [attempt(1, { workerId: 'w_3' })] })
    await s.store.stopWorker('w_2', true)
    await s.store.declareDead('w_3', 'gone')
    s.clock.advance(keep.unsafeMs + 1)
    await s.store.stopWorker('w_4', true)
    expect(await s.store.retain(keep, 10)).toBe(0)
    const ids = (await s.store.workers()).map((row) => row.workerId)
    expect(ids).toEqual(['w_1', 'w_3', 'w_4'])
    expect((await s.load(run)).deaths.size).toBe(1)
  })
}

function bounded({ on, expect }: Bench): void {
  on('D6 at most so many in a pass, oldest first, and nothing twice', async (s) => {
    for (const id of ['c', 'a', 'b']) {
      await ended(s, id)
      s.clock.advance(1_000)
    }
    s.clock.advance(keep.unsafeMs)
    expect(await s.store.retain(keep, 2)).toBe(2)
    const swept = async () => Promise.all(['c', 'a', 'b'].map((id) => sweptOf(s, id)))
    expect(await swept()).toEqual(['all', 'all', null])
    expect(await s.store.retain(keep, 0)).toBe(0)
    const passes = await Promise.all([s.store.retain(keep, 2), s.store.retain(keep, 2)])
    expect(passes.reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(await swept()).toEqual(['all', 'all', 'all'])
  })

  on('B6 other runs, also of the same id elsewhere, keep theirs', async (s) => {
    const other = newRun('r1', { namespace: 'other' })
    const theirs = { ...other, event: { ...other.event, namespace: 'other' }, checkpoint: null }
    await s.store.start(theirs)
    await ended(s, 'r2', { progress: true })
    await ended(s, 'r1')
    s.clock.advance(keep.unsafeMs)
    expect(await s.store.retain(keep, 10)).toBe(1)
    expect(await left(s, 'r2')).toEqual(whole)
    const events = await s.store.listEvents({ namespace: 'other', runId: 'r1' }, {})
    expect(events.items.length).toBe(1)
  })
}

function refused({ on, expect }: Bench): void {
  on('B6 less than the floor, or out of order, is refused before anything is taken', async (s) => {
    await ended(s, 'r1')
    s.clock.advance(100 * keep.unsafeMs)
    const invalid = { code: 'RETENTION_INVALID' }
    for (const bad of [
      { unsafeMs: keep.unsafeMs - 1 },
      { unsafeMs: Number.NaN },
      { pureMs: keep.keyedMs + 1 },
      { keyedMs: keep.unsafeMs + 1 },
      { pureMs: -1 },
      { pureMs: Number.NaN },
    ]) {
      const pass = s.store.retain({ ...keep, ...bad }, 10)
      await expect(pass, JSON.stringify(bad)).rejects.toMatchObject(invalid)
    }
    expect(await left(s, 'r1')).toEqual(whole)
    const forEver = Number.POSITIVE_INFINITY
    expect(await s.store.retain({ pureMs: forEver, keyedMs: forEver, unsafeMs: forEver }, 9)).toBe(
      0,
    )
  })
}
