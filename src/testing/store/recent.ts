import { type Bench, item, record, settled } from './fixtures.ts'

export function recentConcern(bench: Bench): void {
  bench.describe('what was lately done', () => {
    counts(bench)
  })
}

function counts({ on, expect }: Bench): void {
  on('M1 calls, attempts, waits and ends of one namespace are counted', async (s) => {
    const nothing = await s.store.recent('default', 0)
    expect([nothing.calls, nothing.dispatched, nothing.ended]).toEqual([[], 0, []])
    expect(nothing.usage).toEqual({ tokensIn: 0, tokensOut: 0, usd: 0 })
    const run = await s.held()
    const usageJson = '{"tokensIn":5,"tokensOut":7,"usd":0.5}'
    // A person was asked: that is a wait, and neither a call of a tool nor an unsafe window.
    const asked = { tool: 'counterfoil.approval', attempt: 0 }
    await s.commit(run, {
      records: [
        settled(record(1, { usageJson }), { settledAt: 3_001 }),
        record(2, { attempt: 3 }),
        settled(record(3, asked), { settledAt: 90_000 }),
      ],
      items: [item('i1', { state: 'decided', closedAt: 7_000 }), item('i2')],
    })
    await s.commit(run, { run: { state: 'completed', release: true } })
    const now = await s.store.recent('default', 0)
    const byStatus = [...now.calls].sort((a, b) => (a.status < b.status ? -1 : 1))
    expect(byStatus.map(({ status, count }) => [status, count])).toEqual([
      ['committed', 1],
      ['pending', 1],
    ])
    expect([now.dispatched, now.repeated]).toEqual([4, 2])
    expect(now.unsafeMs).toEqual([1_000])
    expect(now.waits).toEqual([{ kind: 'doubt', ms: 2_000 }])
    expect(now.ended).toEqual([{ state: 'completed', resumed: false, count: 1 }])
    expect(now.usage).toEqual({ tokensIn: 5, tokensOut: 7, usd: 0.5 })
    expect((await s.store.recent('other', 0)).dispatched).toBe(0)
    const later = await s.store.recent('default', s.store.clock.now() + 60_000)
    expect([later.calls, later.ended, later.waits]).toEqual([[], [], []])
  })
}
