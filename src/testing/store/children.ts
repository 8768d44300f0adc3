import type { Evidence, Run } from '../../model/run/records.ts'
import { askedToEnd } from '../../store/rules/family.ts'
import type { RunChange } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  child,
  claimOne,
  commitOf,
  event,
  evidence,
  namespace,
  newRun,
  record,
  ref,
  type Subject,
} from './fixtures.ts'

const spawning = (...children: ReturnType<typeof child>[]) => ({
  records: [record(1, { tool: 'counterfoil.spawn' })],
  attempts: [attempt()],
  children,
})
const parent = { runId: 'r1', attemptId: attempt().attemptId }
const park = { state: 'waiting_tool', release: true } as const
const done = { state: 'completed', outputJson: '7', release: true } as const

/** A parent that waits and a child that its worker holds. */
async function family(s: Subject, parked: RunChange | null = park): Promise<[Run, Run]> {
  const run = await s.held()
  await s.commit(run, spawning(child()))
  if (parked) await s.commit(run, { run: parked })
  return [run, await claimOne(s, 'kid')]
}

function envelope(row: Evidence | undefined): unknown {
  return row?.resultJson && JSON.parse(row.resultJson)
}

export function childConcern(bench: Bench): void {
  bench.describe('children', () => {
    making(bench)
    telling(bench)
    tellingOnce(bench)
    cancelling(bench)
    whichOnes(bench)
  })
}

function making({ on, expect }: Bench): void {
  on('I10 a child is there with the intent that asks for it, and can be claimed', async (s) => {
    const run = await s.held()
    expect(await s.commit(run, spawning(child()))).toBe('done')
    const made = child()
    const loaded = await s.load(ref('kid'))
    expect(loaded.run).toEqual(made.run)
    expect(loaded.checkpoints).toEqual([made.checkpoint])
    expect(await s.events(ref('kid'))).toEqual([event('started', 'kid')])
    expect(await claimOne(s, 'kid')).toMatchObject({ fence: 1, parentRunId: 'r1' })
  })

  on('I10 nor is it there without: a stale fence, a park that overlooked something', async (s) => {
    const run = await s.held()
    expect(await s.commit(run, spawning(child()), { fence: 9 })).toBe('stale_fence')
    expect(await s.commit(run, spawning(child()), { arrivalsSeen: 9 })).toBe('arrived')
    expect(await s.store.getRun(ref('kid'))).toBe(null)
  })

  on('C8 a run that has this id is left alone', async (s) => {
    const run = await s.held()
    await s.store.start(newRun('kid', { inputHash: 'mine', graph: 'other' }))
    expect(await s.commit(run, spawning(child()))).toBe('done')
    expect(await s.store.getRun(ref('kid'))).toMatchObject({ inputHash: 'mine', parentRunId: null })
    expect((await s.events(ref('kid'))).length).toBe(1)
  })

  on('B8 a child of somebody else is refused, with everything beside it', async (s) => {
    const run = await s.held()
    for (const more of [{ parentRunId: 'r2' }, { parentRunId: null }, { namespace: 'other' }]) {
      const foreign = s.commit(run, spawning(child('kid', more)))
      await expect(foreign).rejects.toMatchObject({ code: 'WRITE_REFUSED' })
    }
    expect((await s.load(run)).records).toEqual([])
    expect(await s.store.getRun(ref('kid'))).toBe(null)
  })
}

function telling({ on, expect }: Bench): void {
  on('I10 the end of a child wakes its parent, with what came of it, in one write', async (s) => {
    const [, kid] = await family(s)
    s.clock.advance(5)
    expect(await s.commit(kid, { run: done }, { parent })).toBe('done')
    const loaded = await s.load(ref())
    expect(loaded.run).toMatchObject({ state: 'pending', arrivals: 1, waitingFor: null })
    const [news] = loaded.evidence
    const said = { attemptId: parent.attemptId, outcome: 'landed', externalId: 'kid', seq: null }
    expect(news).toMatchObject({ ...said, verifies: true })
    const nothing = { outputDigest: null, error: null }
    expect(envelope(news)).toEqual({ runId: 'kid', state: 'completed', output: 7, ...nothing })
    const data = { from: 'waiting_tool', to: 'pending', cause: 'its child kid ended' }
    expect((await s.events(ref())).at(-1)).toMatchObject({ kind: 'state', data })
  })

  on('I10 one that is at work sees it when it tries to park', async (s) => {
    const [run, kid] = await family(s, null)
    const failed = { state: 'failed', errorJson: '{"code":"X"}', release: true } as const
    await s.commit(kid, { run: failed }, { parent })
    const loaded = await s.load(run)
    expect(loaded.run).toMatchObject({ state: 'running', arrivals: 1, workerId: run.workerId })
    expect(envelope(loaded.evidence[0])).toMatchObject({ state: 'failed', error: { code: 'X' } })
    expect(await s.commit(run, { run: park }, { arrivalsSeen: run.arrivals })).toBe('arrived')
    expect(await s.commit(run, { records: [record(2)] })).toBe('done')
  })

  on('I10 also when both are written in one batch, in either order', async (s) => {
    const [run, kid] = await family(s, null)
    const end = commitOf(kid, 'x1', { run: done }, { parent })
    const parking = commitOf(run, 'x2', { run: park }, { arrivalsSeen: run.arrivals })
    const results = await s.store.commit([parking, end])
    expect(results[1]).toBe('done')
    const woken = await s.store.getRun(ref())
    expect(woken?.arrivals).toBe(1)
    expect(woken?.state).toBe(results[0] === 'done' ? 'pending' : 'running')
  })

  on('I10 a client that ends a child tells its parent too', async (s) => {
    const run = await s.held()
    await s.commit(run, spawning(child()))
    await s.commit(run, { run: park })
    await s.amend(ref('kid'), { run: { state: 'cancelled' } })
    const loaded = await s.load(run)
    expect(loaded.run).toMatchObject({ state: 'pending', arrivals: 1 })
    expect(envelope(loaded.evidence[0])).toMatchObject({ runId: 'kid', state: 'cancelled' })
  })

  for (const parked of ['paused', 'failed'] as const) {
    on(`I10 a parent that is ${parked} is told and stays so`, async (s) => {
      const [run, kid] = await family(s, { state: parked, errorJson: '{}', release: true })
      await s.commit(kid, { run: done }, { parent })
      const loaded = await s.load(run)
      expect(loaded.run).toMatchObject({ state: parked, arrivals: 1 })
      expect(loaded.evidence.length).toBe(1)
    })
  }
}

function tellingOnce({ on, expect }: Bench): void {
  on('I4 an end that is written again is told once', async (s) => {
    const [, kid] = await family(s)
    const end = commitOf(kid, 'x1', { run: done }, { parent })
    expect([await s.store.commit([end]), await s.store.commit([end])]).toEqual([['done'], ['done']])
    expect((await s.store.getRun(ref()))?.arrivals).toBe(1)
  })

  on('B8 the first end stands: what was said already stays as it is', async (s) => {
    const [run, kid] = await family(s)
    await s.store.amend(run, 'evidence', () => ({
      changes: { evidence: [evidence(1, { outcome: 'refused', resultJson: null })] },
      value: null,
    }))
    expect(await s.commit(kid, { run: done }, { parent })).toBe('done')
    const [only, ...more] = (await s.load(run)).evidence
    expect(only).toMatchObject({ outcome: 'refused', verifies: true })
    expect(more).toEqual([])
  })

  on('B8 the child’s own row says who its parent is: another is refused', async (s) => {
    const [run, kid] = await family(s)
    for (const other of [
      { ...parent, runId: 'r2' },
      { ...parent, attemptId: 'a9' },
    ]) {
      const lie = s.commit(kid, { run: done, events: [event('beside', 'kid')] }, { parent: other })
      await expect(lie).rejects.toMatchObject({ code: 'WRITE_REFUSED', retryable: false })
    }
    expect(await s.store.getRun(ref('kid'))).toMatchObject({ state: 'running' })
    expect((await s.events(ref('kid'))).some((row) => row.kind === 'beside')).toBe(false)
    expect(await s.commit(kid, { run: done })).toBe('done')
    expect((await s.load(run)).evidence.length).toBe(1)
  })

  on('I10 nothing that does not end the child is told', async (s) => {
    const [run, kid] = await family(s)
    await s.commit(kid, { run: { progress: true } }, { parent })
    await s.commit(kid, { run: { state: 'waiting_human', release: true } }, { parent })
    const loaded = await s.load(run)
    expect(loaded.run).toMatchObject({ state: 'waiting_tool', arrivals: 0 })
    expect(loaded.evidence).toEqual([])
  })
}

function cancelling({ on, expect }: Bench): void {
  const stop = { to: 'cancelled', by: 'parent', why: 'its parent run r1 was cancelled' }

  /** Children in every state, made in one go. */
  async function offspring(s: Subject): Promise<Run> {
    const run = await s.held()
    const ids = ['fresh', 'held', 'waits', 'paused', 'ended']
    await s.commit(run, spawning(...ids.map((id) => child(id))))
    await claimOne(s, 'held')
    const waits = await claimOne(s, 'waits')
    await s.commit(waits, { run: { state: 'waiting_tool', wakeAt: 9e15, release: true } })
    await s.amend(ref('paused'), { run: { state: 'paused' } })
    await s.commit(await claimOne(s, 'ended'), { run: done })
    return run
  }

  for (const by of ['holder', 'client'] as const) {
    on(`D4 a cancelling by a ${by} reaches every live child`, async (s) => {
      const run = await offspring(s)
      const cancel = { run: { state: 'cancelled', release: true } } as const
      if (by === 'holder') await s.commit(run, cancel)
      else {
        await s.commit(run, { run: park })
        await s.amend(run, cancel)
      }
      const states = { fresh: 'pending', held: 'running', waits: 'pending', paused: 'pending' }
      for (const [id, state] of Object.entries(states)) {
        const asked = { state, stop, arrivals: 1, wakeAt: null }
        expect(await s.store.getRun(ref(id)), id).toMatchObject(asked)
        expect((await s.events(ref(id))).at(-1)).toMatchObject({ kind: 'stop_asked', data: stop })
      }
      expect((await s.store.stops('w_1')).map((one) => one.runId)).toEqual(['held'])
      expect(await s.store.getRun(ref('ended'))).toMatchObject({ state: 'completed', stop: null })
    })
  }

  on('D5 a child is asked to end by its parent, whatever it waits for', async (s) => {
    await offspring(s)
    const states = { fresh: 'pending', held: 'running', waits: 'pending', paused: 'pending' }
    for (const [id, state] of Object.entries(states)) {
      const now = await s.store.getRun(ref(id))
      if (now) await s.amend(ref(id), askedToEnd(now, 'late', 7))
      const stop = { to: 'cancelled', by: 'parent', why: 'late', at: 7 }
      const asked = { state, stop, arrivals: 1, wakeAt: null }
      expect(await s.store.getRun(ref(id)), id).toMatchObject(asked)
    }
  })

  on('D4 what is said to a run that was cancelled before asks nobody again', async (s) => {
    const run = await s.held()
    await s.commit(run, { ...spawning(child()), run: { state: 'cancelled', release: true } })
    await s.amend(run, { events: [event('note')], run: { state: 'cancelled' } })
    expect(await s.store.getRun(ref('kid'))).toMatchObject({ stop, arrivals: 1 })
  })

  on('D4 no other end does, and nobody else’s child is asked', async (s) => {
    const run = await s.held()
    await s.commit(run, spawning(child()))
    const other = child('stranger', { parentRunId: 'r9', namespace: 'default' })
    await s.store.start(other)
    await s.commit(run, { run: { state: 'failed', errorJson: '{}', release: true } })
    expect(await s.store.getRun(ref('kid'))).toMatchObject({ stop: null, arrivals: 0 })
    expect(await s.store.getRun(ref('stranger'))).toMatchObject({ stop: null, arrivals: 0 })
  })
}

function whichOnes({ on, expect }: Bench): void {
  on('lists the children of a run, in the order made, and by state', async (s) => {
    const run = await s.held()
    await s.commit(run, spawning(child('b'), child('a'), child('c')))
    await s.store.start(newRun('alone'))
    await s.commit(await claimOne(s, 'a'), { run: done })
    const ids = async (filter: object) => {
      const { items } = await s.store.listRuns({ namespace, parentRunId: 'r1', ...filter })
      return items.map((one) => one.runId)
    }
    expect(await ids({})).toEqual(['b', 'a', 'c'])
    expect(await ids({ newestFirst: true, countMax: 2 })).toEqual(['c', 'a'])
    expect(await ids({ state: 'completed' })).toEqual(['a'])
    expect(await ids({ parentRunId: 'alone' })).toEqual([])
    expect(await ids({ namespace: 'other' })).toEqual([])
  })
}
