import type { Run } from '../../model/run/records.ts'
import type { Store } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  commitOf,
  event,
  item,
  record,
  ref,
  settled,
  worker,
} from './fixtures.ts'

export function commitConcern(bench: Bench): void {
  bench.describe('commit', () => {
    landing(bench)
    once(bench)
    eachByItself(bench)
    runRow(bench)
  })
}

function landing({ on, expect }: Bench): void {
  on('B3 an intent is there when it is acknowledged, and its receipt replaces it', async (s) => {
    const run = await s.held()
    expect(await s.commit(run, { records: [record()], attempts: [attempt()] })).toBe('done')
    expect((await s.load(run)).records[0]).toMatchObject({ status: 'pending', verifies: true })
    const end = { endedAt: 3_000, outcome: 'landed' } as const
    await s.commit(run, { records: [settled(record())], attempts: [attempt(1, end)] })
    const loaded = await s.load(run)
    expect(loaded.records.length).toBe(1)
    expect(loaded.records[0]).toMatchObject({ ...settled(record()), verifies: true })
    expect(loaded.attempts).toEqual([{ ...attempt(1, end), verifies: true }])
  })

  on('intent and receipt of one call may lie in one commit', async (s) => {
    const run = await s.held()
    await s.commit(run, { records: [record(), settled(record())] })
    const { records } = await s.load(run)
    expect(records.length).toBe(1)
    expect(records[0]).toMatchObject({ status: 'committed', verifies: true })
  })

  on('B1 no axis of the key is collapsed', async (s) => {
    const run = await s.held()
    const twins = [
      record(1),
      record(1, { occurrence: 1 }),
      record(1, { inputHash: 'other' }),
      record(1, { tool: 'other' }),
      record(1, { checkpointId: '1.0.1#0#1' }),
      record(1, { nodeId: 'other', checkpointId: '1.0.0#0#2' }),
    ]
    await s.commit(run, { records: twins })
    const { items } = await s.store.listRecords(run, {})
    expect(items.length).toBe(twins.length)
  })

  on('a large value and odd characters come back as they were', async (s) => {
    const run = await s.held()
    const resultJson = JSON.stringify({ text: `ü€😀\u0000\u2028"'`, big: 'x'.repeat(1e6) })
    await s.commit(run, { records: [settled(record(), { resultJson })] })
    const [row] = (await s.load(run)).records
    expect(row?.resultJson === resultJson).toBe(true)
    expect(row?.verifies).toBe(true)
  })
}

function once({ on, expect }: Bench): void {
  on('I4 the same commit written again is done, and no second write', async (s) => {
    const run = await s.held()
    const one = commitOf(run, 'c1', {
      records: [settled(record())],
      events: [event('called')],
      run: { arrive: true },
    })
    expect(await s.store.commit([one])).toEqual(['done'])
    const before = await s.store.getRun(run)
    expect(await s.store.commit([one])).toEqual(['done'])
    expect(await s.store.getRun(run)).toEqual(before)
    const kinds = (await s.events(run)).map((row) => row.kind)
    expect(kinds).toEqual(['started', 'claimed', 'called'])
  })

  on('I4 also one of intents and receipts alone, whose rows are there already', async (s) => {
    const run = await s.held()
    const end = { endedAt: 3_000, outcome: 'refused' } as const
    const failed = { status: 'failed', resultJson: null, errorJson: '{}' } as const
    const all = [
      commitOf(run, '1.1', { records: [record()], attempts: [attempt()] }),
      commitOf(run, '1.2', { records: [settled(record()), record(2)], attempts: [attempt(2)] }),
      commitOf(run, '1.3', { records: [settled(record(2), failed)], attempts: [attempt(2, end)] }),
    ]
    for (const one of all) {
      expect(await s.store.commit([one])).toEqual(['done'])
      const before = await s.load(run)
      s.clock.advance(5)
      expect(await s.store.commit([one])).toEqual(['done'])
      expect(await s.load(run)).toEqual(before)
    }
    const other = { records: [settled(record(), { externalId: 'm2' })] }
    const rewritten = s.store.commit([commitOf(run, '1.4', other)])
    await expect(rewritten).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
  })

  on('I4 also when it gave the lease back, or a client wrote in between', async (s) => {
    const run = await s.held()
    const changes = { events: [event('parked')], run: { state: 'pending', release: true } } as const
    const one = commitOf(run, 'c1', structuredClone(changes) as never)
    expect(await s.store.commit([one])).toEqual(['done'])
    await s.store.amend(run, 'client', () => ({
      changes: { events: [event('note')], run: { arrive: true } },
      value: null,
    }))
    expect(await s.store.commit([one])).toEqual(['done'])
    expect((await s.events(run)).filter((row) => row.kind === 'parked').length).toBe(1)
  })

  on('I10 a park that overlooked an arrival writes nothing', async (s) => {
    const run = await s.held()
    await s.store.amend(run, 'client', () => ({ changes: { run: { arrive: true } }, value: null }))
    const park = { state: 'waiting_human', release: true } as const
    const changes = { records: [record()], items: [item()], run: park }
    const arrivalsSeen = run.arrivals
    expect(await s.commit(run, changes, { arrivalsSeen })).toBe('arrived')
    const loaded = await s.load(run)
    expect(loaded.run).toMatchObject({ state: 'running', workerId: worker, arrivals: 1 })
    expect(loaded.records.length + loaded.items.length).toBe(0)
    expect(await s.commit(run, changes, { arrivalsSeen: 1 })).toBe('done')
    expect((await s.load(run)).run).toMatchObject({ state: 'waiting_human', workerId: null })
  })
}

function eachByItself({ on, expect }: Bench): void {
  const calledIn = async (store: Store, run: Run) =>
    (await store.listEvents(run, {})).items.some((row) => row.kind === 'called')

  on('every commit of a batch succeeds or fails by itself', async (s) => {
    const [a, b, c] = [await s.held('a'), await s.held('b'), await s.held('c')]
    const called = (run: Run) => ({ events: [event('called', run.runId)] })
    const results = await s.store.commit([
      commitOf(a, 'c1', called(a)),
      commitOf(b, 'c1', called(b), { fence: 0 }),
      commitOf(c, 'c1', called(c), { arrivalsSeen: 7 }),
      commitOf({ ...c, runId: 'nobody' }, 'c1', {}),
    ])
    expect(results).toEqual(['done', 'stale_fence', 'arrived', 'stale_fence'])
    expect([await calledIn(s.store, a), await calledIn(s.store, b)]).toEqual([true, false])
    expect(await calledIn(s.store, c)).toBe(false)
  })

  on(
    'one that is refused is written nowhere, and written one by one the others land',
    async (s) => {
      const [a, b, c] = [await s.held('a'), await s.held('b'), await s.held('c')]
      const final = settled(record(1, { runId: 'b' }))
      await s.commit(b, { records: [final] })
      const called = (run: Run) => ({ events: [event('called', run.runId)] })
      const batch = [
        commitOf(a, 'x1', called(a)),
        commitOf(b, 'x1', { ...called(b), records: [{ ...final, resultJson: '"forged"' }] }),
        commitOf(c, 'x1', { ...called(c), run: { state: 'running' } }),
      ]
      await expect(s.store.commit(batch)).rejects.toMatchObject({ retryable: false })
      for (const [i, one] of batch.entries()) {
        if (i !== 1) expect(await s.store.commit([one])).toEqual(['done'])
        else await expect(s.store.commit([one])).rejects.toMatchObject({ code: 'ROW_IMMUTABLE' })
      }
      expect([await calledIn(s.store, a), await calledIn(s.store, c)]).toEqual([true, true])
      expect(await calledIn(s.store, b)).toBe(false)
    },
  )

  on(
    'B4 all of a commit lands, or nothing: an illegal transition takes its rows along',
    async (s) => {
      const run = await s.held()
      const changes = { records: [record()], events: [event('called')], items: [item()] }
      await s.commit(run, { run: { state: 'completed', outputJson: '1', release: true } })
      const bad = commitOf(run, 'x', { ...changes, run: { state: 'pending' } }, { workerId: '' })
      expect(await s.store.commit([bad])).toEqual(['stale_fence'])
      const other = await s.held('r2')
      const rows = { records: [record(1, { runId: 'r2' })], events: [event('called', 'r2')] }
      const illegal = s.commit(other, { ...rows, run: { state: 'nowhere' as never } })
      await expect(illegal).rejects.toMatchObject({ code: 'TRANSITION_ILLEGAL' })
      expect((await s.load(other)).records.length).toBe(0)
      expect(await calledIn(s.store, other)).toBe(false)
    },
  )

  on('rows of another run are refused', async (s) => {
    const run = await s.held()
    const foreign = s.commit(run, { events: [event('called', 'r2')] })
    await expect(foreign).rejects.toMatchObject({ code: 'WRITE_REFUSED', retryable: false })
  })
}

function runRow({ on, expect }: Bench): void {
  on('changes the run row: waiting, end, release, progress', async (s) => {
    const run = await s.held()
    expect(run.claims).toBe(1)
    s.clock.advance(5)
    await s.commit(run, { run: { progress: true } })
    expect(await s.store.getRun(ref())).toMatchObject({ claims: 0, updatedAt: s.clock.now() })
    const waitingFor = { kind: 'question', items: ['i1'], since: 1, queue: 'q' } as const
    await s.commit(run, { run: { state: 'waiting_human', waitingFor, release: true } })
    const parked = { state: 'waiting_human', waitingFor, workerId: null }
    expect(await s.store.getRun(ref())).toMatchObject(parked)
    const wake = { state: 'pending', waitingFor: null, arrive: true } as const
    await s.store.amend(run, 'client', () => ({ changes: { run: wake }, value: null }))
    const [again] = await s.store.claim({
      workerId: worker,
      graphs: [{ name: 'g', version: '1.0.0' }],
      countMax: 1,
    })
    if (again === undefined) throw new Error('not claimed')
    expect(again).toMatchObject({ waitingFor: null, arrivals: 1, fence: 2 })
    await s.commit(again, { run: { state: 'completed', outputJson: '{"ok":true}', release: true } })
    const ended = { state: 'completed', outputJson: '{"ok":true}', errorJson: null, workerId: null }
    expect(await s.store.getRun(ref())).toMatchObject(ended)
  })
}
