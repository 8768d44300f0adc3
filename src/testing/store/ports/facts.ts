import type { Run } from '../../../model/run/records.ts'
import { type Bench, item, namespace, newRun, type Subject } from '../fixtures.ts'

export function factConcern({ describe, on, expect }: Bench): void {
  describe('facts', () => {
    on('M1 an empty store has none to count', async (s) => {
      const none = { runs: {}, otherRuns: 0, openItems: {}, overdue: 0, oldestDoubt: null }
      expect(await s.store.facts(namespace)).toMatchObject(none)
    })

    on('M1 runs by state, and items of one namespace by kind', async (s) => {
      await fill(s)
      const facts = await s.store.facts(namespace)
      expect(facts.runs).toEqual({ pending: 2, running: 1, completed: 1 })
      expect(facts.otherRuns).toBe(1)
      expect(facts.openItems).toEqual({ doubt: 2, approval: 1 })
      expect(facts.overdue).toBe(1)
      expect(facts.oldestDoubt).toEqual({ itemId: 'older', runId: 'held', createdAt: 4_000 })
      const { runs, otherRuns, overdue } = await s.store.facts('other')
      expect([runs, otherRuns, overdue]).toEqual([{ pending: 1 }, 4, 0])
    })

    on(
      'D6 an item is overdue from the same moment here, in the backlog and in lists',
      async (s) => {
        const run = await s.held()
        await s.commit(run, { items: [item('i1', { dueAt: s.store.clock.now() + 5 })] })
        const counted = async () => [
          (await s.store.facts(namespace)).overdue,
          (await s.store.backlog()).overdueItems,
          (await s.store.listItems({ namespace, overdue: true })).items.length,
        ]
        expect(await counted()).toEqual([0, 0, 0])
        s.clock.advance(5)
        expect(await counted()).toEqual([1, 1, 1])
      },
    )

    on('I8 says of itself what people ask for, as plain data', async (s) => {
      const facts = await s.store.facts(namespace)
      expect(JSON.parse(JSON.stringify(facts))).toEqual(facts)
      expect(typeof facts.bytes).toBe('number')
      expect(Object.values(facts.durability).every((value) => typeof value === 'string')).toBe(true)
    })
  })
}

async function fill(s: Subject): Promise<Run> {
  const done = await s.held('done')
  await s.commit(done, { run: { state: 'completed', outputJson: '1', release: true } })
  const held = await s.held('held')
  const now = s.store.clock.now()
  const of = { runId: 'held' }
  const approval = { kind: 'approval', reason: null } as const
  await s.commit(held, {
    items: [
      item('newer', { ...of, createdAt: 5_000, dueAt: now - 1 }),
      item('older', { ...of, createdAt: 4_000 }),
      item('closed', { ...of, createdAt: 1_000, state: 'closed', closedAt: now, closedBy: 'ana' }),
      item('asked', { ...of, ...approval, createdAt: 3_000 }),
    ],
  })
  await s.store.start(newRun('a'))
  await s.store.start(newRun('b'))
  const other = newRun('c', { namespace: 'other' })
  const theirs = { ...other, checkpoint: null, event: { ...other.event, namespace: 'other' } }
  await s.store.start(theirs)
  return held
}
