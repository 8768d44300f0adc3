import {
  attempt,
  type Bench,
  checkpoint,
  child,
  claimOne,
  decision,
  event,
  evidence,
  graphs,
  item,
  leaseMs,
  namespace,
  record,
  ref,
  settled,
  signal,
  worker,
} from './fixtures.ts'

export function survivalConcern(bench: Bench): void {
  const { describe, on, expect, under } = bench
  describe('survival', () => {
    on('says what it does not promise, and only then (M5)', async (s) => {
      expect(s.store.caveats.length === 0).toBe(under.durable)
    })

    bench.of('moves').on('I12 a store that was not moved says so', async (s) => {
      expect(await s.store.moved()).toBe(null)
    })

    if (bench.reopen === null) return
    callsLive(bench, bench.reopen)
    waitsLive(bench, bench.reopen)
  })
}

type Reopen = NonNullable<Bench['reopen']>

function callsLive({ on, expect }: Bench, reopen: Reopen): void {
  on('B4 everything acknowledged is there after close and open, and verifies', async (s) => {
    const run = await s.held()
    await s.commit(run, {
      records: [settled(record(1)), record(2)],
      attempts: [attempt(1), attempt(2)],
      evidence: [evidence(2)],
      items: [item()],
      decisions: [decision()],
      events: [event('x')],
    })
    const before = [await s.load(run), await s.events(run), await s.store.workers()]
    await reopen(s)
    expect([await s.load(run), await s.events(run), await s.store.workers()]).toEqual(before)
  })

  on('D8 checkpoints, graphs and wishes to stop live on', async (s) => {
    const run = await s.held()
    const delta = { visit: 2, node: 'n2', kind: 'delta', baseVisit: 1, digest: 'd2' } as const
    await s.commit(run, {
      checkpoints: [checkpoint('r1', delta)],
      run: { visit: 2, node: 'n2', reached: 4 },
    })
    const stop = { to: 'cancelled', by: 'ana', why: 'enough', at: 5_000 } as const
    await s.store.amend(run, 'client', () => ({ changes: { run: { stop } }, value: null }))
    const graph = { ...graphs[0], namespace: run.namespace, registeredAt: 1_000 }
    const known = { ...graph, name: 'g', version: '1.0.0', fingerprint: 'f', contentJson: '{}' }
    await s.store.registerGraph(known)
    const before = await s.load(run)
    await reopen(s)
    expect(await s.load(run)).toEqual(before)
    expect(before.checkpoints.length).toBe(2)
    expect(before.run).toMatchObject({ visit: 2, reached: 4, stop })
    expect((await s.store.stops(worker)).length).toBe(1)
    expect(await s.store.registerGraph({ ...known, fingerprint: 'other' })).toEqual(known)
  })

  on('D2 leases, fences and commit ids live on', async (s) => {
    const run = await s.held()
    const one = { ...ref(), commitId: 'c1', workerId: worker, fence: run.fence }
    await s.store.commit([{ ...one, changes: { events: [event('once')] } }])
    await reopen(s)
    expect(await s.store.commit([{ ...one, changes: {} }])).toEqual(['done'])
    expect(await s.store.renew(worker, leaseMs)).toBe(true)
    const next = { ...one, commitId: 'c2', changes: { events: [event('twice')] } }
    expect(await s.store.commit([next])).toEqual(['done'])
  })
}

function waitsLive({ on, expect, has }: Bench, reopen: Reopen): void {
  on('D5 signals, children, deadlines, tokens and times to wake live on', async (s) => {
    const run = await s.held()
    const sent = { signals: [signal(), signal('s2')], run: { arrive: true } }
    await s.amend(run, sent)
    await s.commit(run, {
      records: [record(1, { dueAt: 9_000 })],
      attempts: [attempt(1, { tokenHash: 't1', beatAt: 2_500, beatJson: '{"at":1}' })],
      items: [item('i1', { dueAt: 9_000, overdueAt: 9_500 })],
      signals: [signal('s2', { usedBy: 'a1' })],
      children: [child(), child('kid2')],
    })
    await s.commit(await claimOne(s, 'kid'), {
      run: { state: 'failed', errorJson: '{}', release: true },
    })
    const wakeAt = s.store.clock.now() + 5
    await s.commit(run, { run: { state: 'waiting_tool', wakeAt, release: true } })
    const key = { namespace, tool: 'look', inputHash: 'h1' }
    const shared = { resultJson: '1', externalId: null }
    if (has('shares')) {
      await s.store.takeShare(key, worker, 5_000)
      await s.store.putShare(key, worker, shared, 60_000)
    }
    const look = async () => [
      await s.load(run),
      await s.load(ref('kid')),
      await s.store.listRuns({ namespace, parentRunId: 'r1' }),
      await s.store.findAttempt('t1'),
    ]
    const before = await look()
    await reopen(s)
    expect(await look()).toEqual(before)
    const { run: parent, signals, evidence: news } = await s.load(run)
    expect(parent).toMatchObject({ state: 'waiting_tool', wakeAt, arrivals: 2 })
    expect([...signals, ...news].map((row) => row.verifies)).toEqual([true, true])
    expect((await s.store.getRun(ref('kid')))?.endedAt === null).toBe(false)
    if (has('shares')) {
      expect(await s.store.takeShare(key, worker, 5_000)).toEqual({ do: 'use', shared })
    }
    s.clock.advance(5)
    expect((await s.store.wakeDue(10)).woken).toBe(1)
  })
}
