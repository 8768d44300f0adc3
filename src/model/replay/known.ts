// What is known of a recorded call, as the verdict asks for it: the same for the gate that has the
// call before it and for whoever foretells what the gate will do.
import * as limits from '../limits.ts'
import { type CallRecord, type CallStatus, type Item, keyOf } from '../run/records.ts'
import { type CallbackRules, callbackOf, type Heard, nothingHeard } from './callback.ts'
import { type KeyRules, keyUseOf, keyWindow, type Moment } from './key-window.ts'
import type { VisitRows } from './rows.ts'
import type { Known } from './verdict.ts'

export type RecordRules = KeyRules & CallbackRules

/** Of a tool that is not at hand: what most say. What has a deadline is asynchronous. */
export const rulesOfNoTool: RecordRules = {
  keyTtlMs: null,
  keyMarginMs: limits.timeoutMs,
  callbackMs: Number.POSITIVE_INFINITY,
  heartbeatMs: null,
}

export interface Learnt {
  readonly verifies: boolean
  readonly unknownAttempts: number
  /** Somebody makes the call, as against a record that was found and that nobody asks for. */
  readonly asked: boolean
  readonly heard?: Heard
}

export function knownRecord(
  record: CallRecord,
  { verifies, unknownAttempts, asked, heard = nothingHeard }: Learnt,
  { items, attempts }: Pick<VisitRows, 'items' | 'attempts'>,
  rules: RecordRules,
  moment: Moment,
): NonNullable<Known['record']> {
  const open = record.expiresAt === null
  const use = () => keyUseOf(record, attempts, heard.firstSentAt)
  return {
    status: statusOf(record, unknownAttempts, asked, items),
    verifies,
    unknownAttempts,
    keyWindow: open ? 'open' : keyWindow(use(), rules, moment),
    callback: callbackOf(record, rules, attempts, moment.now, heard),
  }
}

/**
 * Late evidence may have cleared every attempt of a doubt: then it was certainly not sent. And of a
 * doubt that was found while nobody asked for the call, its tool has not been heard: it may have a
 * probe, or a key.
 */
function statusOf(
  record: CallRecord,
  unknownAttempts: number,
  asked: boolean,
  items: readonly Item[],
): CallStatus {
  const { status } = record
  if (status !== 'in_doubt') return status
  const key = keyOf(record)
  const unheard = ({ state, body: { unasked, subject } }: Item) =>
    state === 'open' && unasked === true && subject !== null && keyOf(subject) === key
  return unknownAttempts === 0 || (asked && items.some(unheard)) ? 'pending' : status
}
