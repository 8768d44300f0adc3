// An error from a commit is "unknown" (I4): the same commit is written again.
// And how many there are.
import { expect, test } from 'vitest'
import type { Commit, CommitResult } from '../../../src/store/store.ts'
import { fake, flow, Lab, work } from '../../lab.ts'

type Apply = () => Promise<CommitResult[]>
type Fault = (apply: Apply) => Promise<CommitResult[]>

const faults: Record<string, Fault> = {
  'applied but not acknowledged': async (apply) => {
    await apply()
    throw new Error('connection reset after COMMIT')
  },
  'not applied, with an error': async () => {
    throw new Error('connection reset before COMMIT')
  },
}

/** Lets the n-th write fail, and `times` in a row. */
function failing(n: number, fault: Fault, times = 1) {
  let writes = 0
  return async (_batch: readonly Commit[], apply: Apply) => {
    writes++
    return writes >= n && writes < n + times ? fault(apply) : apply()
  }
}

function workload() {
  const lab = new Lab()
  const read = fake(lab, 'read', 'pure', { ms: 3 })
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const k = fake(lab, 'k', 'idempotent_with_key')
  const b = fake(lab, 'b', 'unsafe_on_replay', { ms: 20 })
  const c = fake(lab, 'c', 'unsafe_on_replay', { ms: 35 })
  const all = [read, a, k, b, c]
  const graph = flow(
    all.map((each) => each.tool),
    async (ctx) => {
      const first = await ctx.call(read.tool, 1)
      const second = await ctx.call(a.tool, first.id)
      const third = await ctx.call(k.tool, second.id)
      const both = await Promise.all([ctx.call(b.tool, third.id), ctx.call(c.tool, third.id)])
      await work(lab, 100)
      const last = await ctx.call(
        a.tool,
        both.map((each) => each.id),
      )
      return last.id
    },
  )
  const sent = () => all.map((each) => each.sent.length)
  return { lab, graph, sent }
}

async function writesOf(): Promise<number> {
  const { lab, graph } = workload()
  expect(await lab.process(graph, null)).toBe('ended')
  return lab.commits.length
}

for (const [name, fault] of Object.entries(faults)) {
  test(`I4 I1 each commit in turn is ${name}: nothing lost, twice or asked`, async () => {
    const writes = await writesOf()
    expect(writes).toBeGreaterThan(5)
    for (let n = 1; n <= writes; n++) {
      for (const times of [1, 4]) {
        const { lab, graph, sent } = workload()
        const commit = failing(n, fault, times)
        expect([n, await lab.process(graph, null, { commit })]).toEqual([n, 'ended'])
        expect([n, sent()]).toEqual([n, [1, 2, 1, 1, 1]])
        expect(await lab.output()).toBe('a2')
        expect(await lab.events('doubt')).toEqual([])
        const rows = await lab.records()
        expect(rows.every((row) => row.status === 'committed')).toBe(true)
        expect(await lab.attempts()).toHaveLength(5)
        const states = (await lab.events('state')).map(({ data: { to } }) => to)
        expect(states.filter((to) => to === 'completed')).toHaveLength(1)
      }
    }
  })

  test(`I4 no dispatch before the intent is acknowledged: ${name}`, async () => {
    const lab = new Lab()
    const t = fake(lab, 't', 'unsafe_on_replay')
    const graph = flow([t.tool], (ctx) => ctx.call(t.tool, 1))
    // The store never answers well: a re-read that finds the intent there would send.
    const commit = failing(1, fault, Number.POSITIVE_INFINITY)
    const start = lab.clock.now()
    const killWhen = () => lab.clock.now() > start + 20_000
    expect(await lab.process(graph, null, { commit, killWhen })).toBe('crash')
    expect(t.sent).toEqual([])
  })

  test(`I4 I11 the intent that consumes a grant is ${name}: sent once`, async () => {
    for (let n = 1; n <= 3; n++) {
      const lab = new Lab()
      const does = (nth: number) => {
        if (nth === 1) throw new Error('lost')
        return { id: `t${nth}` }
      }
      const t = fake(lab, 't', 'unsafe_on_replay', { does })
      const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
      expect(await lab.process(graph, null)).toBe('parked')
      await lab.decide({ outcome: 'did_not_happen' })
      expect(await lab.process(graph, null, { commit: failing(n, fault) })).toBe('ended')
      expect(await lab.output()).toBe('t2')
      expect(t.sent).toHaveLength(2)
      expect((await lab.decisions())[0]?.usedBy).toMatch(/\/2~/)
    }
  })

  test(`I4 I10 a park is ${name}: one item, and its decision wakes it`, async () => {
    for (let n = 1; n <= 3; n++) {
      const lab = new Lab()
      const does = () => {
        throw new Error('lost')
      }
      const t = fake(lab, 't', 'unsafe_on_replay', { does })
      const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
      expect(await lab.process(graph, null, { commit: failing(n, fault) })).toBe('parked')
      expect(await lab.items()).toHaveLength(1)
      expect(await lab.state()).toBe('waiting_human')
      await lab.decide({ outcome: 'happened', result: { id: 'x' } })
      expect(await lab.process(graph, null, { commit: failing(n, fault) })).toBe('ended')
      expect(t.sent).toHaveLength(1)
    }
  })
}

test('I4 C5 killed before the acknowledgement of a receipt: it is there, and replays', async () => {
  const { lab, graph, sent } = workload()
  const applied: Fault = async (apply) => {
    await apply()
    return new Promise<never>(() => {})
  }
  // The commit that carries a's receipt with k's intent.
  const killWhen = () => lab.durable('k', 'pending')
  await lab.process(graph, null, { commit: failing(2, applied), killWhen })
  expect(sent()).toEqual([1, 1, 0, 0, 0])
  expect(await lab.process(graph, null)).toBe('ended')
  expect(sent()).toEqual([1, 2, 1, 1, 1])
  expect(await lab.events('doubt')).toEqual([])
})

test('B4 I1 killed at every commit in turn: no durable receipt is asked for again', async () => {
  const writes = await writesOf()
  for (let n = 1; n <= writes; n++) {
    const { lab, graph } = workload()
    const killWhen = () => lab.commits.length === n
    await lab.process(graph, null, { killWhen })
    const done = (await lab.records()).filter((row) => row.status === 'committed')
    for (let i = 0; i < 10 && (await lab.process(graph, null)) === 'parked'; i++) {
      const { subject } = (await lab.item()).body
      const asked = done.filter((row) => row.tool === subject?.tool && row.nth === subject.nth)
      expect(asked).toEqual([])
      await lab.decide({ outcome: 'did_not_happen' })
    }
    expect([n, await lab.state()]).toEqual([n, 'completed'])
    const after = await lab.records()
    for (const row of done) expect(after).toContainEqual(row)
  }
})

test('I10 I4 a decision between a lost park and its repetition is not parked over', async () => {
  const lab = new Lab()
  const does = () => {
    throw new Error('lost')
  }
  const t = fake(lab, 't', 'unsafe_on_replay', { does })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  let decided = false
  const end = await lab.process(graph, null, {
    commit: async (batch, apply) => {
      const results = await apply()
      if (decided || !batch.some((each) => each.changes.run?.state === 'waiting_human'))
        return results
      decided = true
      await lab.decide({ outcome: 'happened', result: { id: 'x' } })
      throw new Error('acknowledgement lost')
    },
  })
  expect(decided).toBe(true)
  expect(['parked', 'lost']).toContain(end)
  expect(await lab.state()).toBe('pending')
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('x')
  expect(t.sent).toHaveLength(1)
})

async function commitsOf(body: (lab: Lab) => ReturnType<typeof flow>): Promise<Lab> {
  const lab = new Lab()
  expect(await lab.process(body(lab), null)).toBe('ended')
  return lab
}

for (const replayClass of ['unsafe_on_replay', 'idempotent_with_key'] as const) {
  test(`B3 B4 n back-to-back calls cost n + 1 commits: ${replayClass}`, async () => {
    for (const n of [1, 2, 7]) {
      const lab = await commitsOf((of) => {
        const t = fake(of, 't', replayClass)
        return flow([t.tool], async (ctx) => {
          for (let i = 0; i < n; i++) await ctx.call(t.tool, 1)
        })
      })
      expect(lab.commits).toHaveLength(n + 1)
    }
  })
}

test('B4 each of these commits holds the receipt and what the node did next', async () => {
  const lab = await commitsOf((of) => {
    const t = fake(of, 't', 'unsafe_on_replay')
    return flow([t.tool], async (ctx) => {
      for (let i = 0; i < 3; i++) await ctx.call(t.tool, i)
    })
  })
  const kinds = lab.commits.map(({ changes }) => [
    ...(changes.records ?? []).map((row) => row.status),
    changes.run?.state ?? '',
  ])
  expect(kinds).toEqual([
    ['pending', ''],
    ['committed', 'pending', ''],
    ['committed', 'pending', ''],
    ['committed', 'completed'],
  ])
})

test('B4 a call followed by other waiting costs two: its receipt does not wait', async () => {
  const lab = await commitsOf((of) => {
    const t = fake(of, 't', 'unsafe_on_replay')
    return flow([t.tool], async (ctx) => {
      for (let i = 0; i < 3; i++) {
        await ctx.call(t.tool, i)
        await work(of, 1_000)
      }
    })
  })
  expect(lab.commits).toHaveLength(2 * 3 + 1)
})

test('B5 a pure call costs no commit of its own; the next intent carries its receipt', async () => {
  const lab = await commitsOf((of) => {
    const read = fake(of, 'read', 'pure', { ms: 1 })
    const t = fake(of, 't', 'unsafe_on_replay')
    return flow([read.tool, t.tool], async (ctx) => {
      await ctx.call(read.tool, 1)
      await ctx.call(read.tool, 2)
      await ctx.call(t.tool, 1)
      await ctx.call(read.tool, 3)
    })
  })
  const [first] = lab.commits
  expect(first?.changes.records?.map((row) => row.tool)).toEqual(['read', 'read', 't'])
  // Intent with the reads, receipt of t (followed by other waiting), the end with the last read.
  expect(lab.commits).toHaveLength(3)
})

test('B5 C5 a pure receipt is durable within milliseconds, though the node waits on', async () => {
  const lab = new Lab()
  const read = fake(lab, 'read', 'pure', { ms: 1 })
  const nap = fake(lab, 'nap', 'pure', { ms: 5_000 })
  const graph = flow([read.tool, nap.tool], async (ctx) => {
    await ctx.call(read.tool, 1)
    await ctx.call(nap.tool, 1)
  })
  const start = lab.clock.now()
  expect(await lab.process(graph, null, { killWhen: () => lab.durable('read') })).toBe('crash')
  expect(lab.clock.now() - 1_000 - start).toBeLessThanOrEqual(20)
  expect(await lab.process(graph, null)).toBe('ended')
  expect(read.sent).toHaveLength(1)
})

test('B3 n parallel calls: one commit for all intents, one at most for a receipt', async () => {
  for (const n of [2, 5, 20]) {
    const lab = await commitsOf((of) => {
      const t = fake(of, 't', 'unsafe_on_replay', { ms: (nth) => nth * 10 })
      return flow([t.tool], async (ctx) => {
        await Promise.all(Array.from({ length: n }, (_, i) => ctx.call(t.tool, i)))
      })
    })
    expect(lab.commits[0]?.changes.records).toHaveLength(n)
    expect(lab.commits).toHaveLength(n + 1)
  }
})

test('I1 every commit carries what came before it: no receipt behind its effects', async () => {
  const { lab, graph } = workload()
  await lab.process(graph, null)
  const seqs = lab.commits
    .flatMap((commit) => commit.changes.records ?? [])
    .flatMap((row) => (row.seq === null ? [] : [row.seq]))
  expect(seqs).toEqual([...seqs].sort((x, y) => x - y))
  const seen = new Set<number>([0])
  for (const { changes } of lab.commits) {
    for (const row of changes.records ?? []) {
      if (row.seq !== null) seen.add(row.seq)
      expect(seen.has(row.after)).toBe(true)
    }
  }
})
