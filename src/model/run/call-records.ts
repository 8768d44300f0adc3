// The rows of a call: its record, its attempts, and what was learnt late about one.

import { sha256 } from '../json/canonical.ts'
import type { ReplayClass } from '../tool/replay-class.ts'
import type { RunRef } from './ref.ts'

export type CallStatus = 'pending' | 'committed' | 'failed' | 'in_doubt'

/** The record of one call: a row of tool_call_results. */
export interface CallRecord extends RunRef {
  readonly nodeId: string
  readonly checkpointId: string
  readonly tool: string
  readonly inputHash: string
  readonly occurrence: number
  /** n-th call of this tool in the visit: its place, whatever its input says. */
  readonly nth: number
  readonly replayClass: ReplayClass
  readonly idempotencyKey: string | null
  /** When the upstream forgets the key; null for never and for calls without one. */
  readonly expiresAt: number | null
  /** When a wait is over, whatever has come: a sleep's end, a signal's or callback's deadline. */
  readonly dueAt: number | null
  readonly status: CallStatus
  /** Its place among the results the node has seen; null until the result is known. */
  readonly seq: number | null
  /** The seq last delivered when the call was issued. */
  readonly after: number
  /** Kept for calls that are not pure: a person may have to look at it. */
  readonly inputJson: string | null
  readonly resultJson: string | null
  /** Where a large result lies instead (B7). */
  readonly resultDigest: string | null
  readonly externalId: string | null
  readonly errorJson: string | null
  /**
   * What the call has cost, if its tool can tell: tokens and money. Of an unsafe call also
   * `windowMs`, from dispatch to receipt, if its own attempt has brought the receipt.
   */
  readonly usageJson: string | null
  /** Failed by a person without knowledge: the same call again goes to a person. */
  readonly unresolved: boolean
  readonly attempt: number
  readonly fence: number
  readonly workerId: string
  readonly spanId: string
  readonly createdAt: number
  readonly settledAt: number | null
}

export type AttemptOutcome = 'landed' | 'refused' | 'not_sent' | 'unknown'

/** One dispatch of a call. Written before it, ended once. */
export interface Attempt extends RunRef {
  readonly attemptId: string
  readonly attempt: number
  readonly fence: number
  readonly workerId: string
  readonly outlives: boolean
  readonly quietMs: number
  readonly dispatchedAt: number
  /** SHA-256 of the token that an asynchronous tool's upstream calls back with. */
  readonly tokenHash: string | null
  /** When the attempt was last heard of while it was under way, and what it said. */
  readonly beatAt: number | null
  readonly beatJson: string | null
  readonly endedAt: number | null
  readonly outcome: AttemptOutcome | null
}

/**
 * What was learnt late about an attempt, by its id, whoever holds the run now. A callback and the
 * end of a child come in this form too.
 */
export interface Evidence extends RunRef {
  readonly attemptId: string
  readonly outcome: AttemptOutcome
  readonly resultJson: string | null
  readonly resultDigest: string | null
  readonly externalId: string | null
  readonly errorJson: string | null
  readonly at: number
  readonly seq: number | null
}

/** Records of what a person is asked by the node itself, as against calls that are held for one. */
export const askTools = ['counterfoil.ask', 'counterfoil.approval'] as const

export function isAsked(tool: string): boolean {
  return (askTools as readonly string[]).includes(tool)
}

/** Records of what the node waits for without a call: nothing is ever dispatched for them. */
export const waitTools = ['counterfoil.sleep', 'counterfoil.signal', 'counterfoil.spawn'] as const

export function isWait(tool: string): boolean {
  return (waitTools as readonly string[]).includes(tool)
}

/** Held before a person by the risk policy, and never sent. */
export function isHeld(record: CallRecord): boolean {
  const open = record.status === 'pending' && record.attempt === 0
  const waits = isAsked(record.tool) || isWait(record.tool)
  return open && record.replayClass !== 'pure' && !waits
}

/** The hash of what was sent: of the edit, if a person made one; else the record's own. */
export function sentHash({ inputJson, inputHash }: CallRecord): string {
  return inputJson === null ? inputHash : sha256(inputJson)
}

/** `version#generation#visit`. */
export function checkpointId(version: string, generation: number, visit: number): string {
  return `${version}#${generation}#${visit}`
}

/** A record's key within its visit. */
export function callKey(tool: string, inputHash: string, occurrence: number): string {
  return `${tool}/${inputHash}/${occurrence}`
}

export function keyOf(subject: { tool: string; inputHash: string; occurrence: number }): string {
  return callKey(subject.tool, subject.inputHash, subject.occurrence)
}
