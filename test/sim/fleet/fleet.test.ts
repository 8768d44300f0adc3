// Whole fleets under a virtual clock. `npm run sim -- fleet <count> <from>` runs more.
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { batchInProcesses } from '../../../scripts/sim.mjs'
import { runFleet } from './fleet.ts'
import { type Plan, planOf } from './plan.ts'
import { shrink } from './shrink.ts'

const count = 1_500
const timeout = 20 * 60_000
const processes = Math.min(2, availableParallelism())

test(
  'J4, I1–I5, I10, I11 fleets with crashes, stalls, lost answers and late effects do no harm',
  async () => {
    const { bad, ...figures } = await batchInProcesses({ from: 1, count, processes })
    console.log(`fleets, seeds 1…${count}: ${JSON.stringify(figures)}`)
    expect(bad.slice(0, 5)).toEqual([])
    // Evidence: what was meant to happen did.
    expect(figures.schedules).toBeGreaterThan(count * 0.75)
    for (const kind of ['crash', 'stall', 'lost', 'locked', 'unheard', 'late'] as const) {
      expect(figures.faults[kind]).toBeGreaterThan(count / 50)
    }
    expect(figures.decisionsMax).toBeLessThan(20)
    // Not everything is put before a person: that would pass, too.
    expect(figures.doubts).toBeLessThan(figures.effects / 2)
  },
  timeout,
)

test(
  'J1 the control: effects later than the quiet time are repeated, and the judge says so',
  async () => {
    const { bad } = await batchInProcesses({ from: 1, count: 200, processes, kind: 'late' })
    const found = bad.flatMap((each) => each.found)
    expect(found.some((each) => each.startsWith('UNSAFE EFFECT TWICE'))).toBe(true)
  },
  timeout,
)

test(
  'J4 a seed gives the same schedule again, to the letter',
  async () => {
    for (const seed of [3, 17, 80, 147]) {
      const [one, two] = [await runFleet(planOf(seed)), await runFleet(planOf(seed))]
      expect(two.trace).toBe(one.trace)
      expect(two.events).toBe(one.events)
    }
    const traces = new Set([(await runFleet(planOf(3))).trace, (await runFleet(planOf(4))).trace])
    expect(traces.size).toBe(2)
  },
  timeout,
)

test(
  'J4 a failing schedule is made smaller, and still fails in the same way',
  async () => {
    const seed = await firstBad()
    const plan = planOf(seed, { tooLate: true })
    const { plan: smallest, found } = await shrink(plan)
    expect(found.join()).toContain('EFFECT TWICE')
    expect(sizeOf(smallest)).toBeLessThan(sizeOf(plan))
    const again = await runFleet(smallest)
    expect(again.bad).toEqual(found)
  },
  timeout,
)

test(
  'D5, J4, I10 two workers and a child with a deadline, dead at whatever moment',
  async () => {
    let cancelled = 0
    let left = 0
    for (let seed = 1; seed <= 150; seed++) {
      const { bad, lines } = await runFleet(deadlines(seed), { keep: true })
      expect({ seed, bad }).toEqual({ seed, bad: [] })
      const ends = lines.filter((line) => line.includes(' commits child_'))
      if (ends.some((line) => line.endsWith(' cancelled'))) cancelled++
      else if (lines.findIndex((line) => / commits r0 .* completed$/.test(line)) >= 0) left++
    }
    // Evidence: it was cancelled before and after it had begun, and left to go on.
    expect(cancelled).toBeGreaterThan(30)
    expect(left).toBeGreaterThan(30)
  },
  timeout,
)

/** A plan's faults, for a parent that gives its child a moment, then cancels it or goes on. */
function deadlines(seed: number): Plan {
  const call = (site: string) => ({ op: 'call', site, cls: 'unsafe' }) as const
  const steps = [call('r0c1'), { op: 'sleep', ms: 400 } as const, call('r0c2')]
  const [deadlineMs, cancels] = [[5, 100, 450, 2_000][seed % 4] ?? 5, seed % 3 > 0]
  const spawn = { op: 'spawn', site: 'r0s1', steps, deadlineMs, cancels } as const
  const parts = [[spawn, call('r0s2')], [call('r0s3')]]
  const kind = seed % 2 === 0 ? 'workflow' : 'graph'
  const run = { runId: 'r0', kind, parts, startMs: 0 } as const
  return { ...planOf(`deadline ${seed}`), workers: 2, runs: [run] }
}

async function firstBad(): Promise<number> {
  for (let seed = 1; seed < 400; seed++) {
    const { bad } = await runFleet(planOf(seed, { tooLate: true }))
    if (bad.some((each) => each.includes('EFFECT TWICE'))) return seed
  }
  throw new Error('the control did not fail')
}

function sizeOf(plan: ReturnType<typeof planOf>): number {
  return JSON.stringify(plan).length
}
