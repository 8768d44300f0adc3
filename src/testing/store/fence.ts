import {
  attempt,
  type Bench,
  event,
  evidence,
  graphs,
  leaseMs,
  record,
  ref,
  register,
  settled,
} from './fixtures.ts'

export function fenceConcern({ describe, on, expect }: Bench): void {
  describe('fence', () => {
    on('I2 nothing of a holder lands after a takeover (D2)', async (s) => {
      const run = await s.held()
      await s.commit(run, { records: [record()], attempts: [attempt()] })
      s.clock.advance(leaseMs + 1)
      await register(s, 'w_2')
      const [taken] = await s.store.claim({ workerId: 'w_2', graphs, countMax: 1 })
      expect(taken).toMatchObject({ fence: run.fence + 1, workerId: 'w_2' })
      const late = { records: [settled(record())], events: [event('late')] }
      expect(await s.commit(run, late)).toBe('stale_fence')
      expect(await s.commit(run, late, { fence: run.fence + 1 })).toBe('stale_fence')
      expect(await s.commit(run, late, { workerId: 'w_2' })).toBe('stale_fence')
      expect((await s.load(run)).records[0]?.status).toBe('pending')
      expect((await s.events(run)).some((row) => row.kind === 'late')).toBe(false)
    })

    on('I2 nor after it gave the run back', async (s) => {
      const run = await s.held()
      await s.commit(run, { run: { state: 'pending', release: true } })
      expect(await s.commit(run, { records: [record()] })).toBe('stale_fence')
      const [again] = await s.store.claim({ workerId: 'w_1', graphs, countMax: 1 })
      expect(again?.fence).toBe(run.fence + 1)
      expect(await s.commit(run, { records: [record()] })).toBe('stale_fence')
      expect((await s.load(ref())).records.length).toBe(0)
    })

    on('I2 what a former holder learnt about its attempt is taken, by attempt id', async (s) => {
      const run = await s.held()
      await s.commit(run, { records: [record()], attempts: [attempt()] })
      s.clock.advance(leaseMs + 1)
      await register(s, 'w_2')
      await s.store.claim({ workerId: 'w_2', graphs, countMax: 1 })
      const ended = attempt(1, { endedAt: 4_000, outcome: 'landed' })
      await s.store.amend(run, 'evidence', () => ({
        changes: { evidence: [evidence()], attempts: [ended], run: { arrive: true } },
        value: null,
      }))
      const loaded = await s.load(run)
      expect(loaded.evidence).toEqual([{ ...evidence(), verifies: true }])
      expect(loaded.attempts).toEqual([{ ...ended, verifies: true }])
      expect(loaded.run).toMatchObject({ arrivals: 1, workerId: 'w_2' })
      expect(loaded.records[0]?.status).toBe('pending')
    })
  })
}
