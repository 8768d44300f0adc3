// The committer alone, on a store that writes several batches at once.
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Committer, type RunLog } from '../../../src/engine/committer.ts'
import type { Run } from '../../../src/model/run/records.ts'
import type { Commit, Store } from '../../../src/store/store.ts'

const runOf = (runId: string) => ({ namespace: 'n', runId, fence: 1, workerId: 'w' }) as Run

test('I1 I4 several batches at once: never two of one run, no more than said', async () => {
  const held = new Set<string>()
  let now = 0
  let most = 0
  const sizes: number[] = []
  const commit = async (batch: readonly Commit[]) => {
    most = Math.max(most, ++now)
    sizes.push(batch.length)
    for (const { runId } of batch) {
      expect(held.has(runId)).toBe(false)
      held.add(runId)
    }
    await new Promise<void>((resolve) => {
      systemClock.after(systemClock.random() * 5, resolve)
    })
    for (const { runId } of batch) held.delete(runId)
    now--
    return batch.map(() => 'done' as const)
  }
  const store = { commit, batchesMax: 3 } as unknown as Store
  const committer = new Committer(store, systemClock, { pureFlushMs: 10, onError: () => {} })
  const write = async (log: RunLog) => {
    for (let i = 0; i < 20; i++) {
      log.append({ events: [] })
      // A second one while the first is on its way waits for it.
      log.flush()
      log.append({ events: [] })
      await new Promise<void>((resolve) => log.durable(resolve))
    }
  }
  const runs = Array.from({ length: 50 }, (_, i) => committer.open(runOf(`r${i}`)))
  await Promise.all(runs.map(write))
  expect(most).toBe(3)
  // Fifty that come together are shared out.
  expect(sizes.slice(0, 3)).toEqual([17, 17, 16])
})
