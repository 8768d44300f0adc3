// The committer alone, on a store that refuses one run of a batch.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Committer } from '../../../src/engine/committer.ts'
import { CounterfoilError } from '../../../src/model/errors.ts'
import type { Run } from '../../../src/model/run/records.ts'
import type { Commit, Store } from '../../../src/store/store.ts'

function runOf(runId: string): Run {
  return { namespace: 'default', runId, fence: 1, workerId: 'w' } as Run
}

test('I4 a refusal that one run of a batch has caused loses that run and no other', async () => {
  const batches: string[][] = []
  const commit = async (batch: readonly Commit[]) => {
    batches.push(batch.map((each) => each.runId))
    if (batch.some((each) => each.runId === 'bad')) {
      throw new CounterfoilError('WRITE_REFUSED', 'never')
    }
    return batch.map(() => 'done' as const)
  }
  const options = { pureFlushMs: 10, onError: () => {} }
  const committer = new Committer({ commit } as unknown as Store, systemClock, options)
  const ends = ['good', 'bad', 'other'].map((runId) => {
    const log = committer.open(runOf(runId))
    log.append({ events: [] })
    return new Promise((resolve) =>
      log.durable(
        () => resolve('durable'),
        () => resolve('lost'),
      ),
    )
  })
  expect(await Promise.all(ends)).toEqual(['durable', 'lost', 'durable'])
  expect(batches[0]).toEqual(['good', 'bad', 'other'])
})

test('I4 a row that is locked is no acknowledgement: it is written again', async () => {
  const seen: string[] = []
  const left = new Map([
    ['held', 3],
    ['free', 0],
  ])
  const commit = async (batch: readonly Commit[]) =>
    batch.map(({ runId, commitId }) => {
      seen.push(`${runId} ${commitId} of ${batch.length}`)
      const more = left.get(runId) ?? 0
      left.set(runId, more - 1)
      return more > 0 ? ('locked' as const) : ('done' as const)
    })
  const options = { pureFlushMs: 10, onError: () => {} }
  const committer = new Committer({ commit } as unknown as Store, systemClock, options)
  const order: string[] = []
  await Promise.all(
    ['held', 'free'].map((runId) => {
      const log = committer.open(runOf(runId))
      log.append({ events: [] })
      return new Promise<void>((resolve) =>
        log.durable(() => {
          order.push(runId)
          resolve()
        }),
      )
    }),
  )
  // The other one has not waited, and the held one was sent with the same id each time.
  expect(order).toEqual(['free', 'held'])
  expect(seen.filter((each) => each.startsWith('held'))).toEqual([
    'held 1.1 of 2',
    ...['held 1.1 of 1', 'held 1.1 of 1', 'held 1.1 of 1'],
  ])
})
