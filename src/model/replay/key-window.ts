// How long a keyed call may be sent again with its recorded key (G6). The upstream counts real
// time, which no single clock of ours is sure to show: the wall clock can be set back, and the
// steady one stands still while the machine sleeps. So the window is over when either says so, and
// early enough that what is sent has ended by then.

import { ofCall } from '../run/attempt-id.ts'
import { type Attempt, type CallRecord, keyOf } from '../run/records.ts'

/** What a look at the clocks says. */
export interface Moment {
  /** The time that rows are written with. */
  readonly now: number
  /** The time that nobody can set back (`Store.steadyNow`). */
  readonly steady: number
}

export interface KeyUse {
  /** On the steady clock; null for a key that is never forgotten. */
  readonly expiresAt: number | null
  /** When its first attempt was sent, by the wall clock; null where that is not known. */
  readonly sentAt: number | null
}

/** What the tool says of its key; of a tool that is not at hand, nothing is known. */
export interface KeyRules {
  readonly keyTtlMs: number | null
  readonly keyMarginMs: number
}

export function keyExpiry(ttlMs: number | null, { steady }: Moment): number | null {
  return ttlMs === null || ttlMs === Number.POSITIVE_INFINITY ? null : steady + ttlMs
}

/** `firstSentAt`: where the call was first sent by whoever asks, and its row is not loaded. */
export function keyUseOf(
  record: CallRecord,
  attempts: readonly Attempt[],
  firstSentAt: number | null = null,
): KeyUse {
  const first = ofCall(attempts, keyOf(record)).find((row) => row.attempt === 1)
  return { expiresAt: record.expiresAt, sentAt: first?.dispatchedAt ?? firstSentAt }
}

export function keyWindow(use: KeyUse, rules: KeyRules, moment: Moment): 'open' | 'closed' {
  return keyLeftMs(use, rules, moment) > 0 ? 'open' : 'closed'
}

/** How long the window stays open; Infinity for a key that is never forgotten. */
export function keyLeftMs(
  { expiresAt, sentAt }: KeyUse,
  { keyTtlMs, keyMarginMs }: KeyRules,
  { now, steady }: Moment,
): number {
  if (expiresAt === null) return Number.POSITIVE_INFINITY
  const bySteady = expiresAt - steady
  const until = sentAt === null || keyTtlMs === null ? expiresAt : sentAt + keyTtlMs
  return Math.min(bySteady, until - now) - keyMarginMs
}
