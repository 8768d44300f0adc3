// A record of a visit with all that was learnt about it since, and what a person said about a place
// in the node that may have no record.
import { type CallRecord, type Decision, isHeld } from '../run/records.ts'

/** What a call is answered with: a value or an error, in its place of the order. */
export interface Settled {
  readonly seq: number
  readonly ok: boolean
  readonly value: unknown
  /** Known since the last visit, and not seen by the node before. */
  readonly fresh?: boolean
}

export interface Entry {
  readonly key: string
  record: CallRecord
  readonly verifies: boolean
  /** Attempts whose outcome nobody knows and no person has ruled out; not counted if settled. */
  unknownAttempts: number
  settled: Settled | null
  /** The decision that settled it; the row follows when the call is matched. */
  ruling: Decision | null
  /** A decision that allows one more attempt. */
  grant: Decision | null
  matched: boolean
  /** Given up by the settle rule: it holds no result back any more. */
  skipped: boolean
  /** Nobody's any more, by decision: it holds nothing up, but still answers its own call. */
  retired: boolean
  /** Its host knows how it ended: it holds nothing up, but still answers its own call. */
  seen: boolean
  /** Failed, and its run is tried again: its place has what was decided, the row stays as it is. */
  retried: boolean
  /**
   * Pure, of another version: nobody's, unless its tool is not pure any more. Then the stricter
   * class rules, and what is on record is not sent (A4).
   */
  aside: boolean
}

/** What a person said about a place: the n-th call of a tool in the visit. */
export interface PlaceRuling {
  readonly decision: Decision
  readonly settled: Settled | null
  /** The record that answers here. */
  readonly useKey: string | null
  /** One send is allowed and not yet used. */
  readonly send: boolean
}

export function placeKey(tool: string, nth: number): string {
  return `${tool}#${nth}`
}

/**
 * Whether what is said is about the record of its call, and not about a place in the node: of what
 * was sent, and of what a node asked or a policy holds.
 */
export function isAboutRecord({ reason }: Pick<Decision, 'reason'>): boolean {
  return reason === null || isAboutSent(reason)
}

/** A doubt about what was sent, as against a call that waits to be. */
export function isAboutSent(reason: Decision['reason']): boolean {
  return reason === 'unknown' || reason === 'tampered'
}

/** What a call asks for, wherever in its run: a call that nobody resolved is known again by it. */
export function askKey({ tool, inputHash }: { tool: string; inputHash: string }): string {
  return `${tool}/${inputHash}`
}

/**
 * Whether nothing has claimed the record, so that a call without one may be this one, changed. A
 * call that was held and never sent has no effect that could be repeated.
 */
export function isUnmatched({ record, matched, retired, seen }: Entry): boolean {
  if (matched || retired || seen || isHeld(record)) return false
  return record.replayClass !== 'pure' && record.status !== 'failed'
}

/** Sent, nobody knows how it ended, and nobody has asked for it since. */
export function isLeft({ record, matched, unknownAttempts, verifies }: Entry): boolean {
  const open = record.status === 'pending' && !isHeld(record)
  return open && !matched && verifies && unknownAttempts > 0
}

/** Whether the call's outcome is open: sent, and neither settled nor certainly refused. */
export function isUnknown({ settled, unknownAttempts }: Entry): boolean {
  return settled === null && unknownAttempts > 0
}
