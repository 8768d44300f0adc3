// Whole fleets under a virtual clock. `npm run sim -- fleet <count> <from>` runs more.
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { batchInProcesses } from '../../../scripts/sim.mjs'
import { runFleet } from './fleet.ts'
import { planOf } from './plan.ts'
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
