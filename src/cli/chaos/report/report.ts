// What chaos has found, as data.
import type { ReplayClass } from '../../../model/tool/tool.ts'

export type FindingKind =
  | 'duplicate'
  | 'lost'
  | 'strange'
  | 'key'
  | 'end'
  | 'drift'
  | 'doubt'
  | 'endless'
  | 'crash'

export interface ChaosFinding {
  readonly kind: FindingKind
  /** Null if it is about the whole run. */
  readonly tool: string | null
  readonly message: string
}

/** What a person was asked because of the crash. */
export interface ChaosDoubt {
  readonly tool: string | null
  readonly reason: string
  readonly title: string
  /** Whether it had happened, by the upstream's own log. */
  readonly happened: boolean
}

/** One crash point: where the process died, and what became of it. */
export interface ChaosPoint {
  readonly point: number
  /** The boundaries at which it was killed: two with `pairs`. */
  readonly deaths: readonly string[]
  readonly doubts: readonly ChaosDoubt[]
  readonly findings: readonly ChaosFinding[]
  readonly ms: number
}

/**
 * `yes`: no call had a second effect. `assumed`: nobody could see whether a call that was sent
 * again had one. `not_tried`: no crash made it be sent again, or fell between an unsafe call's
 * intent and its receipt.
 */
export type Holds = 'yes' | 'no' | 'assumed' | 'not_tried'

export interface ChaosTool {
  readonly tool: string
  /** Null for one that is not guarded. */
  readonly replayClass: ReplayClass | null
  readonly upstream: 'mock' | 'recorded' | 'real'
  /** Of the uninterrupted run. */
  readonly calls: number
  readonly effects: number
  /** How often crashes made the same call be sent once more, over all crash points. */
  readonly sentAgain: number
  /** The most effects that one call has had. */
  readonly effectsMax: number
  readonly duplicates: number
  readonly lost: number
  readonly doubts: number
  /** Doubts about a call that had not happened. */
  readonly doubtsInVain: number
  readonly holds: Holds
}

export interface ChaosReport {
  readonly subject: string
  readonly store: 'sqlite' | 'postgres' | 'memory'
  readonly seed: number
  /** Boundaries of the uninterrupted run, and how many of them were tried. */
  readonly boundaries: number
  readonly points: readonly ChaosPoint[]
  /** Processes that were killed. A boundary that timing moved away kills nobody. */
  readonly kills: number
  readonly tools: readonly ChaosTool[]
  /** Parts of the end that move without any crash, and are not compared. */
  readonly moving: readonly string[]
  readonly notes: readonly string[]
  readonly ms: number
  readonly ok: boolean
}

const classWords: Readonly<Record<ReplayClass, string>> = {
  pure: 'pure',
  idempotent_with_key: 'keyed',
  unsafe_on_replay: 'unsafe',
}

export function classWord(replayClass: ReplayClass | null): string {
  return replayClass === null ? 'none' : classWords[replayClass]
}

export const holdsWords: Readonly<Record<Holds, string>> = {
  yes: 'yes',
  no: 'NO',
  assumed: 'assumed',
  not_tried: 'not tried',
}

/** The findings of a report, each with the point it was made at. */
export function findingsOf(report: ChaosReport): (ChaosFinding & ChaosAt)[] {
  return report.points.flatMap(({ point, deaths, findings }) =>
    findings.map((finding) => ({ ...finding, point, deaths })),
  )
}

interface ChaosAt {
  readonly point: number
  readonly deaths: readonly string[]
}

/** The same thing at many points is told once: `2 × "…" (points 14, 15)`. */
export function gathered(report: ChaosReport): { finding: ChaosFinding; points: number[] }[] {
  const found = new Map<string, { finding: ChaosFinding; points: number[] }>()
  for (const { point, ...finding } of findingsOf(report)) {
    const id = `${finding.kind}\n${finding.message}`
    const known = found.get(id)
    if (known) known.points.push(point)
    else found.set(id, { finding, points: [point] })
  }
  return [...found.values()]
}
