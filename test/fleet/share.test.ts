// Identical pure calls of runs in different processes share one execution.
import { expect, test } from 'vitest'
import { reader } from './agents.mjs'
import { eventsOf, Fleet, kinds, states } from './site.ts'

test.each(kinds)(
  'B10 two workers, thirty runs that ask the same at once: one execution, on %s',
  async (kind) => {
    const fleet = await Fleet.open(kind, { delayMs: 6_000 })
    const cf = await fleet.client([reader])
    for (let n = 0; n < 30; n++) await cf.start(reader, { text: 'same' }, { runId: `r${n}` })
    const workers = await Promise.all([1, 2].map(() => fleet.worker(['--concurrency', '15'])))
    await expect
      .poll(() => states(cf), { timeout: 30_000, interval: 200 })
      .toEqual({ completed: 30 })
    expect(fleet.effects().length).toBe(1)
    const shared = await eventsOf(cf, 'call_shared')
    expect(shared.length).toBe(29)
    const records = await cf.store.listRecords({ namespace: 'default', runId: 'r7' }, {})
    expect(records.items.map((row) => row.resultJson)).toEqual(['{"id":"embed-1"}'])
    // Each of the two has worked.
    const ids = new Set<string>()
    for (let n = 0; n < 30; n++) {
      const at = { namespace: 'default', runId: `r${n}` }
      const { items } = await cf.store.listRecords(at, {})
      ids.add(items[0]?.workerId ?? '')
    }
    expect(ids.size).toBe(2)
    for (const worker of workers) {
      worker.child.kill('SIGTERM')
      expect((await worker.ended).code).toBe(0)
    }
  },
  60_000,
)
