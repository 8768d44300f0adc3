import {
  type Bench,
  event,
  graphs,
  item,
  record,
  ref,
  register,
  type Subject,
  settled,
  worker,
} from '../fixtures.ts'

export function recentConcern(bench: Bench): void {
  bench.describe('what was lately done', () => {
    counts(bench)
    resumes(bench)
    duplicates(bench)
  })
}

function counts({ on, expect }: Bench): void {
  on('M1, V2 calls, attempts, waits and ends of one namespace are counted', async (s) => {
    const nothing = await s.store.recent('default', 0)
    const { calls, attempts, ended, resumes } = nothing
    expect({ calls, attempts, ended, resumes }).toEqual({
      calls: [],
      attempts: [],
      ended: [],
      resumes: [],
    })
    expect(nothing.usage).toEqual({ tokensIn: 0, tokensOut: 0, usd: 0 })
    const run = await s.held()
    const usageJson = '{"tokensIn":5,"tokensOut":7,"usd":0.5,"windowMs":12.5}'
    // A person was asked: that is a wait, and neither a call of a tool nor an unsafe window.
    const asked = { tool: 'counterfoil.approval', attempt: 0 }
    const pure = { replayClass: 'pure', usageJson: '{"windowMs":4}', attempt: 4 } as const
    await s.commit(run, {
      records: [
        settled(record(1, { usageJson }), { settledAt: 3_001 }),
        record(2, { attempt: 3 }),
        settled(record(3, asked), { settledAt: 90_000 }),
        // A person said that it happened, much later: no attempt has told of a receipt.
        settled(record(4), { settledAt: 90_000 }),
        settled(record(5, pure)),
      ],
      items: [item('i1', { state: 'decided', closedAt: 7_000 }), item('i2')],
    })
    await s.commit(run, { run: { state: 'completed', release: true } })
    const now = await s.store.recent('default', 0)
    const text = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()
    expect(
      text(now.calls.map(({ replayClass: of, status, count }) => [of, status, count])),
    ).toEqual([
      '["pure","committed",1]',
      '["unsafe_on_replay","committed",2]',
      '["unsafe_on_replay","pending",1]',
    ])
    expect(
      text(now.attempts.map(({ replayClass: of, count, again }) => [of, count, again])),
    ).toEqual(['["pure",4,3]', '["unsafe_on_replay",5,2]'])
    expect(now.unsafeMs).toEqual([12.5])
    expect(now.waits).toEqual([{ kind: 'doubt', ms: 2_000 }])
    expect(now.ended).toEqual([{ state: 'completed', resumed: false, count: 1 }])
    expect([now.resumes, now.duplicates]).toEqual([[], 0])
    expect(now.usage).toEqual({ tokensIn: 5, tokensOut: 7, usd: 0.5 })
    expect((await s.store.recent('other', 0)).attempts).toEqual([])
    const later = await s.store.recent('default', s.store.clock.now() + 60_000)
    expect([later.calls, later.ended, later.waits]).toEqual([[], [], []])
  })
}

async function claim({ store }: Subject, workerId: string) {
  const [run] = await store.claim({ workerId, graphs, countMax: 1 })
  if (run === undefined) throw new Error(`${workerId} was given nothing`)
  return run
}

function resumes({ on, expect }: Bench): void {
  on('V2 a wait that ended is no resume; a takeover and a lost lease are', async (s) => {
    const run = await s.held()
    const waits = { state: 'waiting_human', release: true } as const
    await s.commit(run, { run: waits })
    await s.amend(ref(), { run: { state: 'pending', arrive: true } })
    expect((await claim(s, worker)).fence).toBe(2)
    expect((await s.store.recent('default', 0)).resumes).toEqual([])
    await register(s, 'w_2')
    await s.store.declareDead(worker, 'killed')
    const other = await claim(s, 'w_2')
    expect((await s.store.recent('default', 0)).resumes).toEqual([{ cause: 'dead', count: 1 }])
    const lost = { ...event('lease_lost'), at: s.store.clock.now() }
    await s.commit(other, { events: [lost], run: { state: 'completed', release: true } })
    const now = await s.store.recent('default', 0)
    const causes = now.resumes.map(({ cause, count }) => `${cause} ${count}`)
    expect(causes.sort()).toEqual(['dead 1', 'lease_lost 1'])
    expect(now.ended).toEqual([{ state: 'completed', resumed: true, count: 1 }])
    expect((await s.store.recent('other', 0)).resumes).toEqual([])
    const later = await s.store.recent('default', s.store.clock.now() + 60_000)
    expect(later.resumes).toEqual([])
  })
}

function duplicates({ on, expect }: Bench): void {
  on('V2 an effect has happened twice when two attempts of a call are known to have', async (s) => {
    const run = await s.held()
    const { nodeId, checkpointId, tool, inputHash, occurrence } = record(1)
    const call = { nodeId, checkpointId, tool, inputHash, occurrence, attempt: 1 }
    const told = (outcome: string, more = {}) => {
      const data = { attemptId: 'a', outcome, externalId: null, call: { ...call, ...more } }
      return { ...event('evidence_conflict', 'r1', data), at: s.store.clock.now() }
    }
    const twice = async () => (await s.store.recent('default', 0)).duplicates
    // The first attempt has landed after all; of the second nothing is known yet.
    await s.commit(run, { records: [record(1, { attempt: 2 })], events: [told('landed')] })
    expect(await twice()).toBe(0)
    const receipt = settled(record(1, { attempt: 2, usageJson: '{"windowMs":3}' }))
    await s.commit(run, { records: [receipt] })
    expect(await twice()).toBe(1)
    // Neither what was refused, nor the same attempt heard of again, nor one that a person settled.
    const byPerson = { ...call, inputHash: 'h2' }
    await s.commit(run, {
      records: [settled(record(2, { attempt: 2 }))],
      events: [told('refused'), told('landed', { attempt: 2 }), told('landed', byPerson)],
    })
    expect(await twice()).toBe(1)
  })
}
