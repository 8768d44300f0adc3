// What became of a call, in one word: executed, hit (answered by its receipt on a resume), parked,
// decided (a person said what became of it); and what came between its start and its end.
import type { Entry, Event } from '../wire.ts'
import { spaced } from '../words.ts'

export type Fate = 'executed' | 'hit' | 'decided' | 'parked' | 'waits' | 'failed' | 'in flight'

/** When the run was claimed, by visit: a visit that is claimed again is replayed. */
export function claimsOf(events: readonly Event[]): ReadonlyMap<number, readonly string[]> {
  const claims = new Map<number, string[]>()
  for (const { kind, visit, at } of events) {
    if (kind !== 'claimed' && kind !== 'taken_over') continue
    claims.set(visit, [...(claims.get(visit) ?? []), at])
  }
  return claims
}

/** How often a resume has answered the call by its receipt. */
export function hitsOf(entry: Entry, claims: ReadonlyMap<number, readonly string[]>): number {
  const { settled_at: settled, visit } = entry
  if (settled === null) return 0
  return (claims.get(visit) ?? []).filter((at) => at > settled).length
}

export function fateOf(entry: Entry, hits: number): Fate {
  if (entry.status === 'in_doubt') return 'parked'
  if (rulingOf(entry) !== null) return 'decided'
  if (entry.status === 'failed') return 'failed'
  if (entry.status === 'pending') {
    if (entry.attempt_count > 0 && !isWait(entry)) return 'in flight'
    return entry.tool_name === 'counterfoil.approval' || !isWait(entry) ? 'parked' : 'waits'
  }
  return hits > 0 ? 'hit' : 'executed'
}

type Ruling = Entry['decisions'][number]

/** The decision that ended the call: nobody else said how it ended. */
export function rulingOf({ decisions, status, tool_name: tool }: Entry): Ruling | null {
  const ended = status === 'committed' || status === 'failed'
  if (!ended || tool.startsWith('counterfoil.')) return null
  return decisions.findLast((one) => one.answers && one.verifies) ?? null
}

export interface Mark {
  readonly at: string
  readonly words: string
  readonly tone: 'bad' | 'wait' | 'good'
}

/** Death, doubt and decision of a call, in order of time. */
export function marksOf(entry: Entry, events: readonly Event[]): Mark[] {
  const { created_at: from, settled_at: until, visit, tool_name: tool } = entry
  const inside = (at: string) => at >= from && (until === null || at <= until)
  const marks = events.flatMap(({ kind, data, at, visit: place }): Mark[] => {
    if (place !== visit || !inside(at)) return []
    if (kind === 'taken_over' && data['cause'] === 'dead') {
      return [{ at, words: `Its worker ${String(data['from'] ?? '')} died`, tone: 'bad' }]
    }
    const about = kind === 'doubt' && String(data['title'] ?? '').startsWith(`${tool}:`)
    return about ? [{ at, words: 'Put before a person', tone: 'wait' }] : []
  })
  const said = entry.decisions
    .filter(({ outcome }) => outcome !== 'vote' && outcome !== 'comment')
    .map(({ at, outcome, by, reason }): Mark => {
      return { at, words: `${by} decided "${spaced(outcome)}": ${reason}`, tone: 'good' }
    })
  return [...marks, ...said].sort((a, b) => a.at.localeCompare(b.at))
}

export function isWait({ tool_name: tool }: Entry): boolean {
  return tool.startsWith('counterfoil.')
}
