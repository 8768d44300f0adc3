// Identical pure calls of runs in different processes share one execution.
import { expect, test } from 'vitest'
import { reader } from './agents.mjs'
import { eventsOf, Fleet, kinds, states } from './site.ts'

test.each(kinds)(
  'B10 two workers, thirty runs that ask the same at once: one execution, on %s',
  async (kind) => {
    const fleet = await Fleet.open(kind, { delayMs: 6_000 })
    const cf = await fleet.client([reader])
    // Both are there before the first run: one that started late would find nothing left to do.
    const workers = await Promise.all([1, 2].map(() => fleet.worker(['--concurrency', '15'])))
    const ids = Array.from({ length: 30 }, (_, n) => `r${n}`)
    await Promise.all(ids.map((runId) => cf.start(reader, { text: 'same' }, { runId })))
    await expect
      .poll(() => states(cf), { timeout: 60_000, interval: 200 })
      .toEqual({ completed: 30 })
    expect(fleet.effects().length).toBe(1)
    const shared = await eventsOf(cf, 'call_shared')
    expect(shared.length).toBe(29)
    const records = await cf.store.listRecords({ namespace: 'default', runId: 'r7' }, {})
    expect(records.items.map((row) => row.resultJson)).toEqual(['{"id":"embed-1"}'])
    // Each of the two has worked.
    const working = new Set<string>()
    for (const runId of ids) {
      const { items } = await cf.store.listRecords({ namespace: 'default', runId }, {})
      working.add(items[0]?.workerId ?? '')
    }
    expect(working.size).toBe(2)
    for (const worker of workers) {
      worker.child.kill('SIGTERM')
      expect((await worker.ended).code).toBe(0)
    }
  },
  120_000,
)
