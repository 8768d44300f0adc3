import {
  type Bench,
  event,
  newRun,
  record,
  ref,
  type Subject,
  settled,
  signal,
} from './fixtures.ts'

const sealed = (rows: readonly object[]) => rows.map((row) => ({ ...row, verifies: true }))
const send = (s: Subject, ...signals: ReturnType<typeof signal>[]) =>
  s.amend(ref(), { signals, run: { arrive: true } })
const waiting = async (s: Subject) => (await s.load(ref())).signals

export function signalConcern(bench: Bench): void {
  bench.describe('signals', () => {
    sending(bench)
    taking(bench)
    refusing(bench)
  })
}

function sending({ on, expect }: Bench): void {
  on('D5 a signal waits in its run, in the order they came, and verifies', async (s) => {
    await s.store.start(newRun())
    await s.store.start(newRun('r2'))
    await send(s, signal('s2'), signal('s1', { name: 'stop', dataJson: null }))
    await send(s, signal('s0', { at: 1 }))
    const sent = [signal('s2'), signal('s1', { name: 'stop', dataJson: null })]
    expect(await waiting(s)).toEqual(sealed([...sent, signal('s0', { at: 1 })]))
    expect((await s.load(ref('r2'))).signals).toEqual([])
  })

  on('D5 it waits whatever visit the run has come to', async (s) => {
    const run = await s.held()
    await send(s, signal())
    await s.commit(run, { run: { visit: 2, node: 'n2' } })
    expect(await waiting(s)).toEqual(sealed([signal()]))
    const elsewhere = await s.store.load(ref(), { visit: 1 })
    expect(elsewhere?.signals).toEqual(sealed([signal()]))
  })

  on('D5 the same id again is refused whole, also once it was taken', async (s) => {
    const run = await s.held()
    await send(s, signal())
    const again = (more: object) =>
      s.amend(run, { signals: [signal('s1', more)], run: { arrive: true }, events: [event('x')] })
    const final = { code: 'ROW_IMMUTABLE', retryable: false }
    for (const more of [{}, { at: 9_000 }, { dataJson: '{"n":2}' }]) {
      await expect(again(more)).rejects.toMatchObject(final)
    }
    expect(await waiting(s)).toEqual(sealed([signal()]))
    await s.commit(run, { signals: [signal('s1', { usedBy: 'a1' })] })
    await expect(again({})).rejects.toMatchObject(final)
    expect(await waiting(s)).toEqual([])
    expect((await s.store.getRun(run))?.arrivals).toBe(1)
    expect((await s.events(run)).some((row) => row.kind === 'x')).toBe(false)
  })

  on('D5 sent by many at once, one is there and the others are refused', async (s) => {
    await s.store.start(newRun())
    const all = [1, 2, 3].map((n) => send(s, signal('s1', { dataJson: `${n}` })))
    const ends = await Promise.allSettled(all)
    expect(ends.filter((end) => end.status === 'fulfilled').length).toBe(1)
    expect((await waiting(s)).length).toBe(1)
    expect((await s.store.getRun(ref()))?.arrivals).toBe(1)
  })

  on('D5 one is found by its id, taken or not', async (s) => {
    const run = await s.held()
    await send(s, signal(), signal('s2'))
    await s.commit(run, { signals: [signal('s2', { usedBy: 'a1' })] })
    expect(await s.store.getSignal(ref(), 's1')).toEqual(signal())
    expect(await s.store.getSignal(ref(), 's2')).toEqual(signal('s2', { usedBy: 'a1' }))
    expect(await s.store.getSignal(ref(), 's3')).toBe(null)
    expect(await s.store.getSignal(ref('nobody'), 's1')).toBe(null)
    expect(await s.store.getSignal({ ...ref(), namespace: 'other' }, 's1')).toBe(null)
  })

  on('D5 one id in two runs is two signals', async (s) => {
    await s.store.start(newRun())
    await s.store.start(newRun('r2'))
    await send(s, signal())
    await s.amend(ref('r2'), { signals: [signal('s1', { runId: 'r2', name: 'other' })] })
    expect(await waiting(s)).toEqual(sealed([signal()]))
    expect((await s.load(ref('r2'))).signals[0]).toMatchObject({ name: 'other', verifies: true })
  })
}

function taking({ on, expect }: Bench): void {
  on('D5 a signal that was taken with its receipt is not given again', async (s) => {
    const run = await s.held()
    await send(s, signal(), signal('s2'))
    const receipt = settled(record(1, { tool: 'counterfoil.signal' }))
    await s.commit(run, { records: [receipt], signals: [signal('s1', { usedBy: 'a1' })] })
    expect(await waiting(s)).toEqual(sealed([signal('s2')]))
  })

  on('I10 a park that overlooked a signal writes nothing, and the signal stays', async (s) => {
    const run = await s.held()
    await send(s, signal())
    const park = { run: { state: 'waiting_tool', release: true } } as const
    expect(await s.commit(run, park, { arrivalsSeen: run.arrivals })).toBe('arrived')
    expect(await s.commit(run, park, { arrivalsSeen: run.arrivals + 1 })).toBe('done')
    expect(await waiting(s)).toEqual(sealed([signal()]))
  })

  on('I10 a signal after the park wakes the run in one write with it', async (s) => {
    const run = await s.held()
    const park = { run: { state: 'waiting_tool', wakeAt: 9e15, release: true } } as const
    await s.commit(run, park, { arrivalsSeen: run.arrivals })
    const wake = { state: 'pending', waitingFor: null, arrive: true } as const
    await s.amend(run, { signals: [signal()], run: wake })
    const loaded = await s.load(run)
    expect(loaded.run).toMatchObject({ state: 'pending', arrivals: 1, wakeAt: null })
    expect(loaded.signals).toEqual(sealed([signal()]))
  })

  on('I2 a stale holder takes none', async (s) => {
    const run = await s.held()
    await send(s, signal())
    const taken = { signals: [signal('s1', { usedBy: 'a1' })] }
    expect(await s.commit(run, taken, { fence: run.fence + 1 })).toBe('stale_fence')
    expect((await waiting(s)).length).toBe(1)
  })
}

function refusing({ on, expect }: Bench): void {
  const taken = (usedBy: string, more = {}) => ({ signals: [signal('s1', { usedBy, ...more })] })

  on('B8 a client may not take a signal, nor a holder send one', async (s) => {
    const run = await s.held()
    await send(s, signal())
    const refused = { code: 'WRITE_REFUSED' }
    await expect(s.amend(run, taken('a1'))).rejects.toMatchObject(refused)
    await expect(s.commit(run, { signals: [signal('s2')] })).rejects.toMatchObject(refused)
    expect(await waiting(s)).toEqual(sealed([signal()]))
  })

  on('B8 what a signal says cannot be rewritten by taking it', async (s) => {
    const run = await s.held()
    await send(s, signal())
    const final = { code: 'ROW_IMMUTABLE', retryable: false }
    for (const more of [{ dataJson: '"forged"' }, { dataJson: null }, { name: 'x' }, { at: 1 }]) {
      await expect(s.commit(run, taken('a1', more))).rejects.toMatchObject(final)
    }
    expect(await waiting(s)).toEqual(sealed([signal()]))
  })

  on('B8 a signal is taken once; said twice is no change; one never sent is none', async (s) => {
    const run = await s.held()
    await send(s, signal())
    expect(await s.commit(run, taken('a1'))).toBe('done')
    expect(await s.commit(run, taken('a1'))).toBe('done')
    const final = { code: 'ROW_IMMUTABLE' }
    await expect(s.commit(run, taken('a2'))).rejects.toMatchObject(final)
    const never = { signals: [signal('s9', { usedBy: 'a1' })] }
    await expect(s.commit(run, never)).rejects.toMatchObject(final)
    expect(await waiting(s)).toEqual([])
  })
}
