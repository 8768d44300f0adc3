// Until when a recorded call ends by something that is still to come: an answer, a time, a signal,
// a child, or the callback of a call that was deferred.
import { ofCall } from '../run/attempt-id.ts'
import { type Attempt, type CallRecord, isAsked, isHeld, isWait, keyOf } from '../run/records.ts'
import type { Known } from './verdict.ts'

export interface CallbackRules {
  readonly callbackMs: number | null
  readonly heartbeatMs: number | null
}

/** What whoever has made the call knows of it, and its rows do not say yet. */
export interface Heard {
  readonly firstSentAt: number | null
  readonly dispatchedAt: number | null
  readonly beatAt: number | null
}

export const nothingHeard: Heard = { firstSentAt: null, dispatchedAt: null, beatAt: null }

/**
 * When a wait is over, whatever has come. A deferred call that has to be heard of is over when it
 * was not, also before its own deadline.
 */
export function deadlineOf(
  record: CallRecord,
  { heartbeatMs }: CallbackRules,
  attempts: readonly Attempt[],
  heard: Heard = nothingHeard,
): number | null {
  const { dueAt, tool } = record
  if (dueAt === null || isWait(tool) || heartbeatMs === null) return dueAt
  const own = ofCall(attempts, keyOf(record)).find((row) => row.attempt === record.attempt)
  const sentAt = own?.dispatchedAt ?? heard.dispatchedAt ?? record.createdAt
  const heardAt = heard.beatAt ?? own?.beatAt ?? sentAt
  return Math.min(dueAt, heardAt + heartbeatMs)
}

export function callbackOf(
  record: CallRecord,
  rules: CallbackRules,
  attempts: readonly Attempt[],
  now: number,
  heard: Heard = nothingHeard,
): NonNullable<Known['record']>['callback'] {
  if (isAsked(record.tool) || isWait(record.tool) || isHeld(record)) return 'open'
  if (rules.callbackMs === null || record.dueAt === null) return 'none'
  return now < (deadlineOf(record, rules, attempts, heard) ?? 0) ? 'open' : 'overdue'
}
