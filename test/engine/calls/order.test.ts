// The one queue: every result reaches the node in the recorded order, whatever the latencies.
import { expect, test } from 'vitest'
import { fake, flow, Lab, work } from '../../lab.ts'

/** Latencies that the next process has reversed. */
function latencies(lab: Lab, first: Record<string, number>, later: Record<string, number>) {
  let process = first
  const answering = (name: string) => fake(lab, name, 'pure', { ms: () => process[name] ?? 0 })
  const reverse = () => {
    process = later
  }
  return { answering, reverse }
}

test('C4 branches wake in recorded order: order of issue would swap the ranks', async () => {
  const lab = new Lab()
  const speed = { a: 10, b: 60, c: 30 }
  const send = fake(lab, 'send', 'unsafe_on_replay', { ms: 300 })
  const { answering, reverse } = latencies(lab, speed, { a: 60, b: 10, c: 1 })
  const [a, b, c] = [answering('a'), answering('b'), answering('c')]
  const woke: string[][] = []
  const graph = flow([a.tool, b.tool, c.tool, send.tool], async (ctx) => {
    const order: string[] = []
    woke.push(order)
    const branch = async (each: typeof a) => {
      await ctx.call(each.tool, 1)
      return ctx.call(send.tool, { who: each.tool.name, rank: order.push(each.tool.name) })
    }
    return (await Promise.all([branch(b), branch(a), branch(c)])).map((each) => each.id)
  })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 3 })
  reverse()
  // A doubt stops the visit, so each resume comes one branch further.
  for (let n = 1; n <= 3; n++) {
    expect(await lab.process(graph, null)).toBe('parked')
    expect((await lab.item()).reason).toBe('unknown')
    await lab.decide({ outcome: 'happened', result: { id: `s${n}` } })
  }
  expect(await lab.process(graph, null)).toBe('ended')
  expect([woke[0], woke.at(-1)]).toEqual([
    ['a', 'c', 'b'],
    ['a', 'c', 'b'],
  ])
  expect(await lab.output()).toEqual(['s3', 's1', 's2'])
  expect(send.sent).toHaveLength(3)
})

test('C4 Promise.race has the recorded winner, though the loser is there first', async () => {
  const lab = new Lab()
  const { answering, reverse } = latencies(
    lab,
    { fast: 20, slow: 400, early: 0 },
    { fast: 400, slow: 1, early: 0 },
  )
  const [fast, slow, early] = [answering('fast'), answering('slow'), answering('early')]
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const winners: string[] = []
  const graph = flow([fast.tool, slow.tool, early.tool, send.tool], async (ctx) => {
    // Issued first, after a raw wait: its record holds the winner back for a while on replay, in
    // which the loser's fresh answer arrives. Delivered at once it would win.
    const branch = work(lab, 10).then(() => ctx.call(early.tool, 1))
    const winner = await Promise.race([
      ctx.call(slow.tool, 1).then(() => 'slow'),
      ctx.call(fast.tool, 1).then(() => 'fast'),
    ])
    winners.push(winner)
    await branch
    return (await ctx.call(send.tool, { winner })).id
  })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 1 })
  reverse()
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  await lab.decide({ outcome: 'happened', result: { id: 's' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(winners).toEqual(['fast', 'fast', 'fast'])
  expect(send.sent).toHaveLength(1)
})

test('C4 a fresh result waits for recorded ones, also if they are matched later', async () => {
  const lab = new Lab()
  const fresh = fake(lab, 'fresh', 'pure', { ms: (n) => (n === 1 ? 5_000 : 1) })
  const old = fake(lab, 'old', 'unsafe_on_replay', { ms: 20 })
  const woke: string[] = []
  const graph = flow([fresh.tool, old.tool], async (ctx) => {
    const one = ctx.call(fresh.tool, 1).then(() => woke.push('fresh'))
    const two = work(lab, 100)
      .then(() => ctx.call(old.tool, 1))
      .then(() => woke.push('old'))
    await Promise.all([one, two])
  })
  expect(await lab.process(graph, null, { killWhen: () => lab.durable('old') })).toBe('crash')
  expect(woke.splice(0)).toEqual(['old'])
  expect(await lab.process(graph, null)).toBe('ended')
  expect(woke).toEqual(['old', 'fresh'])
  expect(old.sent).toHaveLength(1)
})

test('C4 each delivery has a turn of its own, fresh or replayed', async () => {
  const lab = new Lab()
  const calls = ['a', 'b', 'c'].map((name) => fake(lab, name, 'unsafe_on_replay', { ms: 10 }))
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const turns: number[][] = []
  const graph = flow([...calls.map((each) => each.tool), nap.tool], async (ctx) => {
    const seen: number[] = []
    turns.push(seen)
    const branch = async (each: (typeof calls)[0]) => {
      await ctx.call(each.tool, 1)
      seen.push(lab.clock.events)
    }
    await Promise.all(calls.map(branch))
    await ctx.call(nap.tool, 1)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('c') })
  expect(await lab.process(graph, null)).toBe('ended')
  for (const seen of turns) expect(new Set(seen).size).toBe(3)
  expect(turns).toHaveLength(2)
})

/** Branch one sleeps and calls `a`; branch two calls `b`, at once on replay. Killed in between. */
function rawTimers(lab: Lab, sleepMs: number) {
  const a = fake(lab, 'a', 'unsafe_on_replay', { ms: 10 })
  const b = fake(lab, 'b', 'unsafe_on_replay', { ms: 10 })
  let bSleepMs = 10_000
  const graph = flow([a.tool, b.tool], async (ctx) => {
    const one = work(lab, sleepMs).then(() => ctx.call(a.tool, 1))
    const two = work(lab, bSleepMs).then(() => ctx.call(b.tool, 1))
    return (await Promise.all([one, two])).map((each) => each.id)
  })
  const crash = async () => {
    expect(await lab.process(graph, null, { killWhen: () => lab.durable('a') })).toBe('crash')
    bSleepMs = 0
  }
  return { a, b, graph, crash }
}

test('C4 a raw timer shorter than settleMs: the new call waits for the record', async () => {
  const lab = new Lab()
  const { a, b, graph, crash } = rawTimers(lab, 200)
  await crash()
  const start = lab.clock.now()
  expect(await lab.process(graph, null)).toBe('ended')
  expect(b.sent[0]?.at).toBeGreaterThanOrEqual(start + 200)
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
  expect(await lab.events('doubt')).toEqual([])
})

test('C2 a raw timer longer than settleMs may ask, and never sends by itself', async () => {
  const lab = new Lab()
  const { a, b, graph, crash } = rawTimers(lab, 400)
  await crash()
  expect(await lab.process(graph, null)).toBe('parked')
  expect(b.sent).toHaveLength(0)
  expect(await lab.item()).toMatchObject({ reason: 'drift', body: { subject: { tool: 'b' } } })
  await lab.decide({ outcome: 'send' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['a1', 'b1'])
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
})

test('C4 settleMs is the process option: a longer one saves the question', async () => {
  const lab = new Lab()
  const { b, graph, crash } = rawTimers(lab, 400)
  await crash()
  expect(await lab.process(graph, null, { settleMs: 500 })).toBe('ended')
  expect(b.sent).toHaveLength(1)
})

test('C2 every new call begins the settle time again, though nothing is delivered', async () => {
  const lab = new Lab()
  const slow = fake(lab, 'slow', 'pure', { ms: 5_000 })
  const a = fake(lab, 'a', 'unsafe_on_replay', { ms: 10 })
  const b = fake(lab, 'b', 'unsafe_on_replay', { ms: 10 })
  let bSleepMs = 10_000
  const graph = flow([slow.tool, a.tool, b.tool], async (ctx) => {
    const one = async () => {
      for (let i = 0; i < 4; i++) {
        void ctx.call(slow.tool, i)
        await work(lab, 200)
      }
      return ctx.call(a.tool, 1)
    }
    const two = work(lab, bSleepMs).then(() => ctx.call(b.tool, 1))
    return (await Promise.all([one(), two])).map((each) => each.id)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('a') })
  bSleepMs = 0
  expect(await lab.process(graph, null)).toBe('ended')
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
  expect(await lab.events('doubt')).toEqual([])
})

test('C2 a sequence of short raw timers: every new call begins the settle time again', async () => {
  const lab = new Lab()
  const tick = fake(lab, 'tick', 'pure', { ms: 0 })
  const a = fake(lab, 'a', 'unsafe_on_replay', { ms: 10 })
  const b = fake(lab, 'b', 'unsafe_on_replay', { ms: 10 })
  let bSleepMs = 10_000
  const graph = flow([tick.tool, a.tool, b.tool], async (ctx) => {
    const one = async () => {
      for (let i = 0; i < 4; i++) {
        await work(lab, 200)
        await ctx.call(tick.tool, i)
      }
      return ctx.call(a.tool, 1)
    }
    const two = async () => {
      await work(lab, bSleepMs)
      return ctx.call(b.tool, 1)
    }
    return (await Promise.all([one(), two()])).map((each) => each.id)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('a') })
  bSleepMs = 0
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['a1', 'b1'])
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
})

test('C4 a record that nothing claims is skipped after settleMs, not before', async () => {
  const lab = new Lab()
  const gone = fake(lab, 'gone', 'unsafe_on_replay', { ms: 10 })
  const kept = fake(lab, 'kept', 'unsafe_on_replay', { ms: 30 })
  const nap = fake(lab, 'nap', 'pure', { ms: 5_000 })
  const tools = [gone.tool, kept.tool, nap.tool]
  const old = flow(tools, async (ctx) => {
    await Promise.all([ctx.call(gone.tool, 1), ctx.call(kept.tool, 1)])
    await ctx.call(nap.tool, 1)
  })
  let answeredAt = 0
  const next = flow(tools, async (ctx) => {
    const { id } = await ctx.call(kept.tool, 1)
    answeredAt = lab.clock.now()
    return id
  })
  await lab.process(old, null, { killWhen: () => lab.durable('kept') })
  const start = lab.clock.now()
  expect(await lab.process(next, null)).toBe('parked')
  expect(answeredAt - start).toBeGreaterThanOrEqual(250)
  expect(answeredAt - start).toBeLessThan(300)
  expect((await lab.item()).body.subject).toBeNull()
})

test('C5 a decision enters the order when it becomes known, and keeps its place', async () => {
  const lab = new Lab()
  const doubtful = fake(lab, 'doubtful', 'unsafe_on_replay', { ms: 1_000 })
  const quick = fake(lab, 'quick', 'unsafe_on_replay', { ms: 20 })
  const after = fake(lab, 'after', 'unsafe_on_replay', { ms: 300 })
  const tools = [doubtful.tool, quick.tool, after.tool]
  const woke: string[][] = []
  const graph = flow(tools, async (ctx) => {
    const order: string[] = []
    woke.push(order)
    const one = ctx.call(doubtful.tool, 1).then((each) => order.push(each.id))
    const two = ctx.call(quick.tool, 1).then((each) => order.push(each.id))
    await two
    await one
    return ctx.call(after.tool, order.join())
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('quick') })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'happened', result: { id: 'd' } })
  await lab.process(graph, null, { killWhen: () => after.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  expect(woke.slice(2)).toEqual([
    ['quick1', 'd'],
    ['quick1', 'd'],
  ])
  expect(after.sent).toHaveLength(1)
})
