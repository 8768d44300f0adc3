import {
  attempt,
  type Bench,
  decision,
  event,
  evidence,
  item,
  leaseMs,
  record,
  ref,
  settled,
  worker,
} from './fixtures.ts'

export function survivalConcern({ describe, on, expect, under }: Bench): void {
  describe('survival', () => {
    on('says what it does not promise, and only then (M5)', async (s) => {
      expect(s.store.caveats.length === 0).toBe(under.durable)
    })

    on('I12 a store that was not moved says so', async (s) => {
      expect(await s.store.moved()).toBe(null)
    })

    const { reopen } = under
    if (reopen === undefined) return
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
      s.store = await reopen(s.store, s.clock)
      expect([await s.load(run), await s.events(run), await s.store.workers()]).toEqual(before)
    })

    on('D2 leases, fences and commit ids live on', async (s) => {
      const run = await s.held()
      const one = { ...ref(), commitId: 'c1', workerId: worker, fence: run.fence }
      await s.store.commit([{ ...one, changes: { events: [event('once')] } }])
      s.store = await reopen(s.store, s.clock)
      expect(await s.store.commit([{ ...one, changes: {} }])).toEqual(['done'])
      expect(await s.store.renew(worker, leaseMs)).toBe(true)
      const next = { ...one, commitId: 'c2', changes: { events: [event('twice')] } }
      expect(await s.store.commit([next])).toEqual(['done'])
    })
  })
}
