// Many programs, each crashed at its durable boundaries.
import { judge } from './judge.ts'
import { live } from './life.ts'
import type { Kind } from './program.ts'

export interface Totals {
  programs: number
  points: number
  decisions: number
  decisionsMax: number
  doubts: number
  falseDoubts: number
  drifts: number
  /** Violations of a kind that is a known limit of decisions that bind to places. */
  limits: number
  /** What was found, with the seed and crash point that show it again. */
  bad: string[]
}

export async function batch(
  kind: Kind,
  from: number,
  count: number,
  pointsMax: number,
  misdeclared = false,
): Promise<Totals> {
  const totals: Totals = {
    programs: 0,
    points: 0,
    decisions: 0,
    decisionsMax: 0,
    doubts: 0,
    falseDoubts: 0,
    drifts: 0,
    limits: 0,
    bad: [],
  }
  for (let seed = from; seed < from + count; seed++) {
    totals.programs++
    const whole = await live({ seed, kind, crashAt: Number.POSITIVE_INFINITY, misdeclared })
    for (const bad of judge(whole, kind)) totals.bad.push(`seed ${seed}, no crash: ${bad}`)
    for (const crashAt of pointsOf(whole.boundaries, whole.events, pointsMax)) {
      const life = await live({ seed, kind, crashAt, misdeclared })
      totals.points++
      totals.decisions += life.decisions
      totals.decisionsMax = Math.max(totals.decisionsMax, life.decisions)
      totals.doubts += life.doubts
      totals.falseDoubts += life.falseDoubts
      totals.drifts += life.drifts
      const found = judge(life, kind)
      const limits = found.filter((each) => isLimit(each, kind))
      if (limits.length > 0) totals.limits++
      for (const bad of found) {
        if (!limits.includes(bad)) totals.bad.push(`seed ${seed}, event ${crashAt}: ${bad}`)
      }
    }
  }
  return totals
}

/** Before and after each durable boundary, and evenly between them; at most `pointsMax`. */
function pointsOf(boundaries: readonly number[], events: number, pointsMax: number): number[] {
  const wanted = new Set<number>()
  for (const at of boundaries) {
    for (const event of [at, at + 1, at + 2]) if (event <= events) wanted.add(event)
  }
  const all = [...wanted].sort((a, b) => a - b)
  const step = Math.max(1, all.length / pointsMax)
  return all.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step))
}

/**
 * An answer about drift binds to a place, the n-th call of a tool. Where parallel branches call the
 * same tool and what they ask for moves, the place can be another branch's at the next resume: a
 * person's answer, or a send they allowed, then goes to the wrong one. docs/architecture.md says
 * so.
 */
function isLimit(found: string, kind: Kind): boolean {
  if (kind === 'nondet') return /^(WRONG RESULT|UNSAFE EFFECT|KEYED EFFECT|LOST EFFECT)/.test(found)
  return kind === 'version' && /^(WRONG RESULT|KEYED EFFECT|LOST EFFECT)/.test(found)
}
