import { type Bench, event, item, namespace, newRun, ref } from './fixtures.ts'

export function historyConcern(bench: Bench): void {
  bench.describe('what people look for', () => {
    starter(bench)
    history(bench)
  })
}

function starter({ on, expect }: Bench): void {
  on('E1 who started a run is kept with it', async (s) => {
    await s.store.start(newRun('r1', { startedBy: 'ana' }))
    await s.store.start(newRun('r2'))
    expect((await s.store.getRun(ref('r1')))?.startedBy).toBe('ana')
    expect((await s.store.getRun(ref('r2')))?.startedBy).toBe(null)
    await s.amend(ref('r1'), { run: { arrive: true } })
    expect((await s.load(ref('r1'))).run.startedBy).toBe('ana')
  })
}

function history({ on, expect }: Bench): void {
  on('M1 events have ids that grow, and a list goes on behind one', async (s) => {
    await s.store.start(newRun())
    for (const kind of ['a', 'b', 'c']) await s.amend(ref(), { events: [event(kind)] })
    const all = (await s.store.listEvents(ref(), {})).items
    expect(all.map(({ kind }) => kind)).toEqual(['started', 'a', 'b', 'c'])
    const ids = all.map(({ id }) => id)
    expect([...ids].sort((a, b) => a - b)).toEqual(ids)
    const after = all[1]?.id ?? 0
    const rest = (await s.store.listEvents(ref(), { after })).items
    expect(rest.map(({ kind }) => kind)).toEqual(['b', 'c'])
    expect((await s.store.listEvents(ref(), { after: all[3]?.id ?? 0 })).items).toEqual([])
  })

  on('M1 runs are found by a part of their id, items by queue, lateness and order', async (s) => {
    for (const id of ['order-1', 'order-2', 'trip_1']) await s.store.start(newRun(id))
    const runs = await s.store.listRuns({ namespace, idContains: 'r-2' })
    expect(runs.items.map(({ runId }) => runId)).toEqual(['order-2'])
    expect((await s.store.listRuns({ namespace, idContains: '_' })).items.length).toBe(1)
    const now = s.store.clock.now()
    const of = { runId: 'order-1' }
    await s.amend(ref('order-1'), {
      items: [
        item('i1', { ...of, dueAt: now - 1 }),
        item('i2', { ...of, queue: 'finance', dueAt: now + 60_000 }),
        item('i3', { ...of, dueAt: now - 1, state: 'closed', closedAt: now }),
      ],
    })
    const ids = async (filter: object) =>
      (await s.store.listItems({ namespace, ...filter })).items.map(({ itemId }) => itemId)
    expect(await ids({ queue: 'finance' })).toEqual(['i2'])
    expect(await ids({ overdue: true })).toEqual(['i1'])
    expect(await ids({ newestFirst: true })).toEqual(['i3', 'i2', 'i1'])
  })
}
