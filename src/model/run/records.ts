// The rows of a run, as engine, client and stores exchange them. Field names are the columns'.

import type { DoubtReason, ItemKind, Subject } from '../decisions/item.ts'
import type { RunRef } from './ref.ts'
import type { RunState } from './states.ts'

export type * from '../decisions/item.ts'
export * from './call-records.ts'
export type { RunRef } from './ref.ts'

export interface Run extends RunRef {
  readonly graph: string
  readonly version: string
  readonly state: RunState
  readonly node: string
  /** Grows with restart. */
  readonly generation: number
  /** Grows with every arrival at a node. */
  readonly visit: number
  /**
   * The highest visit that a record may belong to: beyond `visit` where checkpoints are skipped.
   */
  readonly reached: number
  readonly inputHash: string
  readonly outputJson: string | null
  /** Where a large output lies instead (B7). */
  readonly outputDigest: string | null
  readonly errorJson: string | null
  readonly waitingFor: WaitingFor | null
  /** What somebody has asked of the worker that holds the run. */
  readonly stop: StopRequest | null
  readonly fence: number
  readonly workerId: string | null
  /** Raised under the row's lock by everything that may wake the run (I10). */
  readonly arrivals: number
  /** Claims since the last durable progress: a run that kills its workers shows here. */
  readonly claims: number
  /**
   * The last commit that was applied and was more than intents and receipts, so that writing it
   * again is no second write (I4).
   */
  readonly commitId: string | null
  readonly traceId: string
  /** The run that started this one, and the attempt of its `ctx.spawn` that is told of the end. */
  readonly parentRunId: string | null
  readonly parentAttemptId: string | null
  /** Who asked for it, if they said: whoever may not decide about their own run. */
  readonly startedBy: string | null
  /** When a run that waits is looked at again, whatever arrives before: its first deadline. */
  readonly wakeAt: number | null
  readonly endedAt: number | null
  /** What retention has taken of an ended run; of one that was taken whole, the row stays (B6). */
  readonly swept: Swept | null
  readonly createdAt: number
  readonly updatedAt: number
}

export type Swept = 'pure' | 'keyed' | 'all'

/** What a run waits for that is no person: a time, a signal, a child, or an upstream's callback. */
export type WaitKind = 'timer' | 'signal' | 'child' | 'callback'

export interface WaitingFor {
  /** `host`: the foreign runtime that opens the run's scopes. `operator`: whoever paused it. */
  readonly kind: ItemKind | WaitKind | 'operator' | 'host'
  /** The first of them, at most `waitingItemsMax`. */
  readonly items: readonly string[]
  readonly since: number
  readonly queue: string
  /** Signals, children or tools by name; the first of them, at most `waitingItemsMax`. */
  readonly names?: readonly string[]
}

export interface StopRequest {
  readonly to: 'paused' | 'cancelled'
  readonly by: string
  readonly why: string
  readonly at: number
}

/** What somebody sent to a run by name. It waits there until a `ctx.signal` takes it. */
export interface Signal extends RunRef {
  /** The sender's own id: the same one again is not a second signal. */
  readonly signalId: string
  readonly name: string
  readonly dataJson: string | null
  readonly at: number
  /** The attempt (of number 0) of the `ctx.signal` that took it. */
  readonly usedBy: string | null
}

export const outcomes = [
  'happened',
  'did_not_happen',
  'fail',
  'abandon',
  'use_record',
  'send',
  'retire_record',
  'respond',
  'approve',
  'edit',
  'reject',
  'pin',
  'resume',
] as const
export type Outcome = (typeof outcomes)[number]

/**
 * What is said about an item and is no person's decision: one vote of several that are needed, a
 * comment, and the time that was over before anybody decided.
 */
export type Remark = 'vote' | 'comment' | 'expire'

/** What a person said about an item. Votes and comments have no subject: they decide nothing. */
export interface Decision extends RunRef {
  readonly decisionId: string
  readonly itemId: string
  readonly kind: ItemKind
  readonly reason: DoubtReason | null
  readonly generation: number
  readonly visit: number
  readonly subject: Subject | null
  readonly outcome: Outcome | Remark
  /** use_record and retire_record: the record that is meant. */
  readonly record: Subject | null
  readonly resultJson: string | null
  /** Approvals: the hash of what was shown to whoever decided. */
  readonly shownHash: string | null
  readonly by: string
  readonly why: string
  readonly evidence: string | null
  /** The operator states on record that they made sure, instead of waiting (I5). */
  readonly madeSure: boolean
  readonly version: number
  readonly at: number
  /** Given by the engine when the answer enters the run. */
  readonly seq: number | null
  /** did_not_happen and send: the attempt that consumed the grant. */
  readonly usedBy: string | null
  /** Evidence that the call had landed voids a grant not yet used (I11). */
  readonly voidedAt: number | null
}

export interface Checkpoint extends RunRef {
  readonly generation: number
  readonly visit: number
  readonly node: string
  readonly version: string
  readonly schemaVersion: number
  /** A base holds the whole state, a delta what changed since the row before it. */
  readonly kind: 'base' | 'delta'
  /** The visit of the base it builds on: a base's own. */
  readonly baseVisit: number
  /** The digest that a base follows; null for the first, and for deltas: the row before it. */
  readonly previous: string | null
  readonly bodyJson: string
  /** Where a large body lies instead (B7). */
  readonly bodyDigest: string | null
  readonly digest: string
  readonly createdAt: number
}

export interface Event extends RunRef {
  readonly at: number
  readonly kind: string
  readonly generation: number
  readonly visit: number
  readonly data: Readonly<Record<string, unknown>>
}

export type NoticeKind = 'waiting_human' | 'doubt' | 'sla_passed' | 'run_failed'

/** What people outside must be told, written with what it is about. */
export interface Notice extends RunRef {
  /** The same for the same thing, however often it is written. */
  readonly noticeId: string
  readonly kind: NoticeKind
  readonly itemId: string | null
  readonly at: number
  readonly dataJson: string
}

/** A row as it is written: without the answer that reading it had added. */
export function bare<T extends object>(row: T): T {
  const { verifies: _, ...rest } = row as T & { verifies?: boolean }
  return rest as T
}

/** One line of a run's history, at its present visit. */
export function eventOf(
  run: Pick<Run, 'namespace' | 'runId' | 'generation' | 'visit'>,
  at: number,
  kind: string,
  data: Record<string, unknown>,
): Event {
  const { namespace, runId, generation, visit } = run
  return { namespace, runId, generation, visit, at, kind, data }
}
