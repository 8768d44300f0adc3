import type { Page } from '../../store/store.ts'
import {
  attempt,
  type Bench,
  decision,
  event,
  item,
  namespace,
  newRun,
  record,
  ref,
  settled,
} from './fixtures.ts'

type Read<T> = (page: { cursor?: string; countMax?: number }) => Promise<Page<T>>

/** All pages of a list, each of `countMax` rows. */
async function pages<T>(read: Read<T>, countMax: number): Promise<(readonly T[])[]> {
  const all: (readonly T[])[] = []
  let cursor: string | null = null
  do {
    const page: Page<T> = await read({ countMax, ...(cursor === null ? {} : { cursor }) })
    all.push(page.items)
    cursor = page.next
  } while (cursor !== null && all.length < 100)
  return all
}

export function listConcern(bench: Bench): void {
  bench.describe('lists', () => {
    runsAndItems(bench)
    ofOneRun(bench)
    cursors(bench)
    versions(bench.of('facts'))
  })
}

function runsAndItems({ on, expect }: Bench): void {
  on('runs by namespace, state and graph, in the order made', async (s) => {
    await s.held('a')
    await s.store.start(newRun('b'))
    await s.store.start(newRun('c', { graph: 'other' }))
    const other = newRun('d', { namespace: 'other' })
    await s.store.start({ ...other, event: { ...other.event, namespace: 'other' } })
    const ids = async (filter: object) => {
      const { items } = await s.store.listRuns({ namespace, ...filter })
      return items.map((run) => run.runId)
    }
    expect(await ids({})).toEqual(['a', 'b', 'c'])
    expect(await ids({ state: 'pending' })).toEqual(['b', 'c'])
    expect(await ids({ graph: 'g' })).toEqual(['a', 'b'])
    expect(await ids({ graph: 'g', state: 'running' })).toEqual(['a'])
    expect(await ids({ namespace: 'other' })).toEqual(['d'])
    const two = await pages((page) => s.store.listRuns({ namespace, ...page }), 2)
    expect(two.map((page) => page.map((run) => run.runId))).toEqual([['a', 'b'], ['c']])
  })

  on('items by kind, state and run; one by its id', async (s) => {
    const run = await s.held()
    const question = item('i2', { kind: 'question', reason: null })
    await s.commit(run, { items: [item(), question, item('i3', { state: 'decided' })] })
    const other = await s.held('r2')
    await s.commit(other, { items: [item('i4', { runId: 'r2' })] })
    const ids = async (filter: object) => {
      const { items } = await s.store.listItems({ namespace, ...filter })
      return items.map((row) => row.itemId)
    }
    expect(await ids({})).toEqual(['i1', 'i2', 'i3', 'i4'])
    expect(await ids({ state: 'open' })).toEqual(['i1', 'i2', 'i4'])
    expect(await ids({ state: 'decided' })).toEqual(['i3'])
    expect(await ids({ kind: 'question' })).toEqual(['i2'])
    expect(await ids({ runId: 'r2' })).toEqual(['i4'])
    expect(await ids({ runId: 'r1', kind: 'doubt', state: 'open' })).toEqual(['i1'])
    expect(await ids({ namespace: 'other' })).toEqual([])
    expect(await s.store.getItem(namespace, 'i2')).toEqual(question)
    expect(await s.store.getItem('other', 'i2')).toBe(null)
    expect(await s.store.getItem(namespace, 'i9')).toBe(null)
  })
}

function ofOneRun({ on, expect }: Bench): void {
  on('records, attempts and decisions of all visits, verified', async (s) => {
    const run = await s.held()
    const earlier = record(1, { checkpointId: '0.9.0#0#0' })
    const attempts = [attempt(1), attempt(2, { attemptId: '0#0/send/h9/0/1' })]
    const decisions = [decision('d1'), decision('d2', { visit: 0 })]
    await s.commit(run, { records: [earlier, settled(record(2))], attempts, decisions })
    const { items, next } = await s.store.listRecords(run, {})
    const sealed = (rows: readonly object[]) => rows.map((row) => ({ ...row, verifies: true }))
    expect(items).toEqual(sealed([earlier, settled(record(2))]))
    expect(next).toBe(null)
    expect(await s.store.listAttempts(run)).toEqual(sealed(attempts))
    expect(await s.store.listDecisions(run)).toEqual(sealed(decisions))
    expect(await s.store.listAttempts(ref('nobody'))).toEqual([])
  })

  on('a long run in pages, each record once, also those of one millisecond', async (s) => {
    const run = await s.held()
    const records = Array.from({ length: 25 }, (_, i) =>
      record(i + 1, { createdAt: 2_000 + Math.floor(i / 10) }),
    )
    await s.commit(run, { records })
    const all = await pages((page) => s.store.listRecords(run, page), 10)
    expect(all.map((page) => page.length)).toEqual([10, 10, 5])
    const order = all.flat().map((row) => row.nth)
    expect(order).toEqual(records.map((row) => row.nth))
  })

  on('events in the order they were written, with their data', async (s) => {
    const run = await s.held()
    const data = { text: 'ü😀', list: [1, null, { deep: true }] }
    const written = [event('b', 'r1', data), event('a'), event('c')]
    await s.commit(run, { events: written })
    const { items } = await s.store.listEvents(run, {})
    expect(items.slice(2).map(({ id: _, ...row }) => row)).toEqual(written)
    const all = await pages((page) => s.store.listEvents(run, page), 2)
    expect(all.map((page) => page.map((row) => row.kind))).toEqual([
      ['started', 'claimed'],
      ['b', 'a'],
      ['c'],
    ])
  })
}

function cursors({ on, expect }: Bench): void {
  on('a cursor that was not given by the list is refused', async (s) => {
    const run = await s.held()
    const invalid = { code: 'CURSOR_INVALID' }
    for (const cursor of ['', 'x', '!!', '-1', 'MTA6eA', '{"a":1}']) {
      const runs = s.store.listRuns({ namespace, cursor })
      await expect(runs, cursor).rejects.toMatchObject(invalid)
      await expect(s.store.listEvents(run, { cursor })).rejects.toMatchObject(invalid)
      await expect(s.store.listRecords(run, { cursor })).rejects.toMatchObject(invalid)
    }
  })

  on('rows made after a page are on a later one', async (s) => {
    for (const id of ['a', 'b', 'c']) await s.store.start(newRun(id))
    const first = await s.store.listRuns({ namespace, countMax: 2 })
    await s.store.start(newRun('d'))
    if (first.next === null) throw new Error('no second page')
    const second = await s.store.listRuns({ namespace, countMax: 2, cursor: first.next })
    expect(second.items.map((run) => run.runId)).toEqual(['c', 'd'])
    expect(second.next).toBe(null)
  })

  on('no page is longer than 500 rows', async (s) => {
    const run = await s.held()
    await s.commit(run, { events: Array.from({ length: 600 }, () => event('x')) })
    const page = await s.store.listEvents(run, { countMax: 10_000 })
    expect(page.items.length).toBe(500)
  })
}

function versions({ on, expect }: Bench): void {
  on('F4 says what is left on each version, registered or not, with runs or without', async (s) => {
    const content = { fingerprint: 'f', contentJson: '{}' }
    const known = (version: string, registeredAt: number) =>
      s.store.registerGraph({ namespace, name: 'g', version, ...content, registeredAt })
    await known('1.0.0', 1_000)
    await known('2.0.0', 2_000)
    await s.store.registerGraph({
      ...content,
      namespace: 'other',
      name: 'g',
      version: '3.0.0',
      registeredAt: 1,
    })
    const run = await s.held('a')
    await s.commit(run, { run: { state: 'completed', outputJson: '1', release: true } })
    await s.held('b')
    await s.store.start(newRun('c'))
    await s.store.start(newRun('d'))
    await s.store.start(newRun('e', { graph: 'unknown' }))
    const rows = [...(await s.store.listVersions(namespace))]
    rows.sort((x, y) => (`${x.graph}${x.version}` < `${y.graph}${y.version}` ? -1 : 1))
    const states = { completed: 1, running: 1, pending: 2 }
    expect(rows).toEqual([
      { graph: 'g', version: '1.0.0', registeredAt: 1_000, states },
      { graph: 'g', version: '2.0.0', registeredAt: 2_000, states: {} },
      { graph: 'unknown', version: '1.0.0', registeredAt: null, states: { pending: 1 } },
    ])
    expect(await s.store.listVersions('nowhere')).toEqual([])
  })
}
