// Rate-limit classes under virtual time: whatever the order of calls, retries and slow commits, no
// stretch of `perMs` sees more sends than `count`.
import { describe, expect, test } from 'vitest'
import { RateLimits, type Slot } from '../../../src/engine/attempt/rate-limit.ts'
import { NotSentError } from '../../../src/model/errors.ts'
import {
  makeTool,
  type RateLimit,
  type ReplayClass,
  type Tool,
} from '../../../src/model/tool/tool.ts'
import { atEveryEvent, fake, flow, Lab, work } from '../../lab.ts'
import { seeded, VirtualClock } from '../../sim/clock.ts'

/** The most sends in any stretch that ends with one of them. */
function mostWithin(moments: readonly number[], perMs: number): number {
  const within = (at: number) => moments.filter((m) => m > at - perMs && m <= at).length
  return Math.max(0, ...moments.map(within))
}

function limited(rateLimit: RateLimit, name = 'limited'): Tool {
  return makeTool(name, { replayClass: 'pure', run: () => {}, rateLimit })
}

function drain(clock: VirtualClock, ms = 1e9) {
  let over = false
  clock.after(ms, () => {
    over = true
  })
  return clock.run(
    () => over,
    () => false,
    1e6,
  )
}

describe('A6 the line', () => {
  test('A6 without a limit everything goes at once', () => {
    const limits = new RateLimits(new VirtualClock(0, () => 0))
    const tool = makeTool('free', { replayClass: 'pure', run: () => {} })
    let gone = 0
    for (let i = 0; i < 100; i++) expect(limits.when(tool, () => gone++)).toBe(true)
    expect(gone).toBe(100)
  })

  test('A6 slots count from the send: however long the intent took', async () => {
    const random = seeded(11)
    for (let round = 0; round < 40; round++) {
      const clock = new VirtualClock(0, random)
      const limits = new RateLimits(clock)
      const count = 1 + Math.floor(random() * 4)
      const perMs = 100
      const tool = limited({ class: 'c', count, perMs })
      const moments: number[] = []
      let lost = 0
      const go = (slot: Slot) => {
        const drawn = random()
        if (drawn < 0.2) {
          lost++
          return clock.after(drawn * 100, () => slot.free())
        }
        return clock.after(Math.floor(drawn * 250), () => {
          moments.push(clock.mono())
          slot.sent()
        })
      }
      for (let i = 0; i < 60; i++) clock.after(random() * 500, () => void limits.when(tool, go))
      await drain(clock)
      expect(moments.length + lost).toBe(60)
      expect(mostWithin(moments, perMs)).toBeLessThanOrEqual(count)
    }
  })

  test('A6 it lets go in the order of the line, and no later than it may', async () => {
    const clock = new VirtualClock(0, () => 0)
    const limits = new RateLimits(clock)
    const tool = limited({ class: 'c', count: 2, perMs: 1_000 })
    const gone: [number, number][] = []
    for (let i = 0; i < 5; i++) {
      limits.when(tool, (slot) => {
        gone.push([i, clock.mono()])
        slot.sent()
      })
    }
    await drain(clock)
    expect(gone).toEqual([
      [0, 0],
      [1, 0],
      [2, 1_000],
      [3, 1_000],
      [4, 2_000],
    ])
  })

  test('A6 whoever gives up leaves no gap, however many do: the next goes at once', async () => {
    const clock = new VirtualClock(0, () => 0)
    const limits = new RateLimits(clock)
    const tool = limited({ class: 'c', count: 1, perMs: 1_000 })
    const gone: number[] = []
    const send = (slot: Slot) => {
      gone.push(clock.mono())
      slot.sent()
    }
    limits.when(tool, send)
    for (let i = 0; i < 20_000; i++) limits.when(tool, (slot) => slot.free())
    limits.when(tool, send)
    await drain(clock)
    expect(gone).toEqual([0, 1_000])
  })

  test('A6 tools that share a class share the line, each with its own limit', async () => {
    const clock = new VirtualClock(0, () => 0)
    const limits = new RateLimits(clock)
    const slow = limited({ class: 'c', count: 1, perMs: 1_000 }, 'slow')
    const fast = limited({ class: 'c', count: 5, perMs: 100 }, 'fast')
    const other = limited({ class: 'd', count: 1, perMs: 1_000 }, 'other')
    const gone: [string, number][] = []
    for (const tool of [slow, slow, fast, slow, other]) {
      limits.when(tool, (slot) => {
        gone.push([tool.name, clock.mono()])
        slot.sent()
      })
    }
    await drain(clock)
    expect(gone.filter(([name]) => name !== 'other')).toEqual([
      ['slow', 0],
      ['slow', 1_000],
      ['fast', 1_000],
      ['slow', 2_000],
    ])
    expect(gone.find(([name]) => name === 'other')).toEqual(['other', 0])
  })

  test('A6 a slot is used or given back once', () => {
    const clock = new VirtualClock(0, () => 0)
    const limits = new RateLimits(clock)
    const tool = limited({ class: 'c', count: 1, perMs: 1_000 })
    let first: Slot | null = null
    limits.when(tool, (slot) => {
      first = slot
    })
    const slot = first as unknown as Slot
    slot.sent()
    slot.free()
    slot.sent()
    expect(limits.when(tool, () => {})).toBe(false)
  })
})

const classes = ['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const satisfies ReplayClass[]

describe.each(classes)('A6 %s in a run', (replayClass) => {
  const rateLimit = { class: 'mail', count: 3, perMs: 1_000 }

  test('A6 side by side and with retries: never more than the limit', async () => {
    const lab = new Lab()
    const refused = new Set<number>()
    // Every third is certainly not sent, once: it is tried again, in line like any other.
    const does = (n: number) => {
      if (n % 3 === 0 && !refused.has(n)) {
        refused.add(n)
        throw new NotSentError('busy')
      }
      return n
    }
    let keys = 0
    const keyed = { idempotencyKey: (input: unknown) => `k${input}`, keyTtlMs: 1e9 }
    const own = replayClass === 'idempotent_with_key' ? keyed : {}
    const retry = { attemptMax: 5, backoffMs: 10, backoffMaxMs: 20 }
    const mail = fake(lab, 'mail', replayClass, { ms: 5, does, rateLimit, retry, ...own })
    const graph = flow([mail.tool], async (ctx) => {
      const all = Array.from({ length: 12 }, (_, i) => ctx.call(mail.tool, i))
      await Promise.all(all)
      keys = all.length
    })
    // Commits take longer and longer, and shorter again.
    let n = 0
    const commit = async (_: unknown, apply: () => Promise<never>) => {
      await work(lab, (++n * 37) % 90)
      return apply()
    }
    expect(await lab.process(graph, null, { commit: commit as never })).toBe('ended')
    expect(keys).toBe(12)
    expect(mail.sent.length).toBeGreaterThan(12)
    const moments = mail.sent.map((each) => each.at)
    expect(mostWithin(moments, 1_000)).toBe(3)
  })

  test('A6 I1 a call that waits in line has no intent: a kill then leaves no doubt', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const one = { class: 'mail', count: 1, perMs: 1_000 }
      const mail = fake(lab, 'mail', replayClass, { ms: 5, rateLimit: one })
      const graph = flow([mail.tool], async (ctx) => {
        await ctx.call(mail.tool, 1)
        await ctx.call(mail.tool, 1)
      })
      await lab.process(graph, null, { killWhen: kill.in(lab) })
      const pending = (await lab.records()).filter((row) => row.status === 'pending')
      const done = (await lab.records()).filter((row) => row.status === 'committed')
      // Between the two sends lies a second in which nothing is pending.
      const mayGoAt = (mail.sent[0]?.at ?? 0) + 1_000
      if (done.length === 1) for (const row of pending) expect(row.createdAt >= mayGoAt).toBe(true)
      if ((await lab.state()) === 'completed') return
      const end = await lab.process(graph, null)
      if (end === 'parked') {
        expect(replayClass).toBe('unsafe_on_replay')
        expect(pending).toHaveLength(1)
      }
    })
  })
})

test('A6 I7 a visit that parks drops what waits in line: others have its slots', async () => {
  const lab = new Lab()
  const one = { class: 'mail', count: 1, perMs: 60_000 }
  const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 5, rateLimit: one })
  const graph = flow([mail.tool], (ctx) =>
    Promise.all([1, 2, 3].map((n) => ctx.call(mail.tool, n))),
  )
  let wished = false
  const leaveWhen = () => {
    if (!wished && mail.sent.length === 1) {
      wished = true
      void lab.wish('pause')
    }
    return false
  }
  const before = lab.clock.now()
  expect(await lab.process(graph, null, { leaveWhen, obeysMs: 10 })).toBe('parked')
  expect(await lab.state()).toBe('paused')
  expect(lab.clock.now() - before).toBeLessThan(1_000)
  await lab.pass(600_000)
  expect(mail.sent).toHaveLength(1)
  expect(await lab.records()).toHaveLength(1)
  await lab.wish('resume')
  expect(await lab.process(graph, null)).toBe('ended')
  expect(mail.sent.map((each) => each.input)).toEqual([1, 2, 3])
})
