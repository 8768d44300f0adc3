// What became of a call, in one word: executed, hit (answered by its receipt on a resume), parked.
import type { Entry, Event } from '../wire.ts'

export type Fate = 'executed' | 'hit' | 'parked' | 'waits' | 'failed' | 'in flight'

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
  if (entry.status === 'failed') return 'failed'
  if (entry.status === 'pending') {
    if (entry.attempt_count > 0 && !isWait(entry)) return 'in flight'
    return entry.tool_name === 'counterfoil.approval' || !isWait(entry) ? 'parked' : 'waits'
  }
  return hits > 0 ? 'hit' : 'executed'
}

export function isWait({ tool_name: tool }: Entry): boolean {
  return tool.startsWith('counterfoil.')
}
