// Many schedules, one after the other, and what they come to.
import { type Outcome, runFleet } from './fleet.ts'
import { planOf } from './plan.ts'

export interface Totals {
  /** Executions; those in which at least one fault happened are `schedules`. */
  seeds: number
  schedules: number
  faults: Record<keyof Outcome['happened'] | 'late', number>
  events: number
  effects: number
  decisions: number
  decisionsMax: number
  eventsMax: number
  doubts: number
  falseDoubts: number
  bad: { seed: number; found: readonly string[] }[]
}

export function noTotals(): Totals {
  return {
    ...{
      seeds: 0,
      schedules: 0,
      events: 0,
      effects: 0,
      decisions: 0,
      decisionsMax: 0,
      eventsMax: 0,
    },
    ...{ doubts: 0, falseDoubts: 0, bad: [] },
    faults: { crash: 0, stall: 0, lost: 0, locked: 0, unheard: 0, late: 0 },
  }
}

export async function batch(
  from: number,
  count: number,
  { tooLate = false, badMax = 20 } = {},
): Promise<Totals> {
  const totals = noTotals()
  for (let seed = from; seed < from + count && totals.bad.length < badMax; seed++) {
    const outcome = await runFleet(planOf(seed, { tooLate }))
    totals.seeds++
    if (outcome.faults > 0) totals.schedules++
    for (const [kind, count] of Object.entries(outcome.happened)) {
      totals.faults[kind as keyof Outcome['happened']] += count
    }
    totals.faults.late += outcome.late
    for (const key of ['events', 'effects', 'decisions', 'doubts', 'falseDoubts'] as const) {
      totals[key] += outcome[key]
    }
    totals.decisionsMax = Math.max(totals.decisionsMax, outcome.decisions)
    totals.eventsMax = Math.max(totals.eventsMax, outcome.events)
    if (outcome.bad.length > 0) totals.bad.push({ seed, found: outcome.bad })
  }
  return totals
}

export function sum(parts: readonly Totals[]): Totals {
  const totals = noTotals()
  for (const part of parts) {
    for (const key of ['seeds', 'schedules', 'events', 'effects', 'decisions'] as const) {
      totals[key] += part[key]
    }
    for (const key of ['doubts', 'falseDoubts'] as const) totals[key] += part[key]
    for (const [kind, count] of Object.entries(part.faults)) {
      totals.faults[kind as keyof Totals['faults']] += count
    }
    totals.decisionsMax = Math.max(totals.decisionsMax, part.decisionsMax)
    totals.eventsMax = Math.max(totals.eventsMax, part.eventsMax)
    totals.bad.push(...part.bad)
  }
  return totals
}
