import type { Run } from '../../../model/run/records.ts'
import { type Bench, item, leaseMs, namespace, record, type Subject, settled } from '../fixtures.ts'
import { put, step } from './thread-fixtures.ts'

const idle = ({ store }: Subject, before = 5_000, countMax = 50) =>
  store.listIdleThreads(namespace, before, countMax)

/** A step of the thread, and a run with its id that a worker holds. */
async function used(s: Subject, threadId: string): Promise<Run> {
  await put(s, step('1', null, { threadId }))
  return s.held(threadId)
}

const over = { run: { state: 'waiting_human', release: true } } as const

export function idleThreadConcern({ describe, on, expect }: Bench): void {
  describe('threads that nobody needs', () => {
    on('K1, B6 are those whose last step is old, the oldest first', async (s) => {
      const at = (threadId: string, createdAt: number, sub = '') =>
        step(`${createdAt}`, null, { threadId, space: sub, createdAt })
      await put(s, at('b', 1_000), at('b', 3_000, 'sub'), at('a', 2_000), at('c', 5_000))
      await put(s, at('d', 1_000), at('d', 9_000, 'sub'), at('e', 2_000))
      await put(s, { ...at('f', 1_000), namespace: 'other' })
      expect(await idle(s)).toEqual(['a', 'e', 'b'])
      expect(await idle(s, 5_000, 2)).toEqual(['a', 'e'])
      expect(await idle(s, 5_000.5)).toEqual(['a', 'e', 'b', 'c'])
      expect(await idle(s, 1_000)).toEqual([])
      expect(await idle(s, 5_000, 0)).toEqual([])
      await s.store.dropThread(namespace, 'a')
      expect(await idle(s)).toEqual(['e', 'b'])
    })

    on('B6, D2 not those that somebody holds, as long as the lease lives', async (s) => {
      await used(s, 'held')
      await put(s, step('1', null, { threadId: 'free' }))
      expect(await idle(s)).toEqual(['free'])
      s.clock.advance(leaseMs + 1)
      expect(await idle(s)).toEqual(['free', 'held'])
      await s.store.renew('w_1', leaseMs)
      expect(await idle(s)).toEqual(['free'])
      await s.store.declareDead('w_1', 'seen')
      expect(await idle(s)).toEqual(['free', 'held'])
    })

    on('B6 not those with a call that has no end', async (s) => {
      const of = ({ namespace, runId }: Run) => ({ namespace, runId })
      for (const status of ['pending', 'in_doubt'] as const) {
        const run = await used(s, status)
        await s.commit(run, { records: [record(1, { ...of(run), status })], ...over })
      }
      const ended = await used(s, 'ended')
      await s.commit(ended, { records: [settled(record(1, of(ended)))], ...over })
      const failed = await used(s, 'failed')
      const error = { status: 'failed', resultJson: null, errorJson: '{}' } as const
      await s.commit(failed, { records: [settled(record(1, of(failed)), error)], ...over })
      const pure = await used(s, 'pure')
      const look = record(1, { ...of(pure), replayClass: 'pure', status: 'pending' })
      await s.commit(pure, { records: [look], ...over })
      expect(await idle(s)).toEqual(['ended', 'failed', 'pure'])
    })

    on('B6 not those with an item that waits for a person', async (s) => {
      const { namespace, runId } = await used(s, 'asked')
      const run = await s.store.getRun({ namespace, runId })
      const open = item('i1', { namespace, runId, generation: 0, visit: 7 })
      if (run) await s.commit(run, { items: [open], ...over })
      expect(await idle(s)).toEqual([])
      const closed = { state: 'decided', version: 2, closedAt: 7_000, closedBy: 'ana' } as const
      await s.amend({ namespace, runId }, { items: [{ ...open, ...closed }] })
      expect(await idle(s)).toEqual(['asked'])
    })
  })
}
