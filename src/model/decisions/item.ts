// What waits for a person, as engine, client and stores exchange it. Field names are the columns'.

import type { CallStatus } from '../run/call-records.ts'
import type { RunRef } from '../run/ref.ts'
import type { ApprovalBody, Deadlines } from './approval.ts'

export type { ApprovalBody, Deadlines, Vote } from './approval.ts'

export type ItemKind = 'doubt' | 'question' | 'approval'
/**
 * `same_effect`: another call on record may have had the effect that this one asks for.
 * `failed`: the fate of a failed call when its run is tried again. `poison`: its workers died,
 * again and again, without getting any further.
 */
export type DoubtReason =
  | 'unknown'
  | 'drift'
  | 'tampered'
  | 'unresolved'
  | 'same_effect'
  | 'key_conflict'
  | 'checkpoint'
  | 'failed'
  | 'poison'

/** What waits for a person. */
export interface Item extends RunRef {
  readonly itemId: string
  readonly kind: ItemKind
  readonly reason: DoubtReason | null
  readonly state: 'open' | 'decided' | 'closed'
  readonly version: number
  readonly queue: string
  readonly title: string
  readonly generation: number
  readonly visit: number
  /** The next of its deadlines: its SLA, or an earlier or later one of its approval. */
  readonly dueAt: number | null
  /** When it was noticed that the last of them had passed. */
  readonly overdueAt: number | null
  readonly body: ItemBody
  readonly createdAt: number
  readonly closedAt: number | null
  /** Why it was closed without a decision. */
  readonly closedBy: string | null
}

/** Which call an item or a decision is about. */
export interface Subject {
  readonly tool: string
  readonly inputHash: string
  readonly occurrence: number
  readonly nth: number
}

export interface ItemBody {
  /** Null when the node ended and left records behind. */
  readonly subject: Subject | null
  readonly node: string
  /** The name of the run's graph; not there in items of before it was kept. */
  readonly graph?: string
  /** The ids that a foreign runtime gave to the visit; null for a graph's. */
  readonly scope: { readonly nodeId: string; readonly checkpointId: string } | null
  readonly input: unknown
  readonly attempt: number
  /** What the last attempt is called upstream, if the tool sent `call.attemptId` along. */
  readonly attemptId?: string
  readonly idempotencyKey: string | null
  /**
   * Drift: the recorded calls that nothing claimed. Same effect: those that may have had it, of
   * whatever visit of the run.
   */
  readonly unmatched: readonly UnmatchedCall[]
  readonly error: { code: string; message: string } | null
  readonly probe: string | null
  /** Questions and approvals: what was shown. */
  readonly data: unknown
  readonly approval: ApprovalBody | null
  /** A damaged checkpoint: what is wrong, and which earlier ones are good. */
  readonly damage: Damage | null
  /** Found on record after its process had died; nobody has asked for the call since. */
  readonly unasked?: true
  /** Where to look whether it happened, by its tool (A10). */
  readonly look?: Look
  /** What "it happened" is answered with, by its tool; not there if nothing is known of it. */
  readonly answer?: AnswerForm
  /** What becomes of it if nobody decides; an approval has its own. */
  readonly deadlines?: Deadlines
}

export interface Look {
  /** http or https, or null. */
  readonly url: string | null
  readonly say: string | null
  /** Why the tool's `whereToLook` could not be used. */
  readonly fault: string | null
}

export interface AnswerForm {
  /** JSON Schema, where the library of its output schema tells. */
  readonly schema: unknown
  /** Null if the tool has none. */
  readonly example: unknown
  /** It can be said without a result. */
  readonly optional: boolean
}

export interface Damage {
  readonly why: string
  readonly visit: number
  /** Visits whose checkpoint can be pinned, newest first. */
  readonly good: readonly number[]
}

export interface UnmatchedCall extends Subject {
  readonly status: CallStatus
  readonly input: unknown
  readonly result: unknown
  readonly look?: Look
}
