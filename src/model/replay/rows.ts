// The rows of one visit, as a resume finds them. What they mean is said by the functions beside
// this file, and nowhere else.
import type { Attempt, CallRecord, Decision, Evidence, Item, Run, Signal } from '../run/records.ts'

/** A row with the answer to "is its MAC right?". */
export type Sealed<T> = T & { readonly verifies: boolean }

export interface VisitRows {
  readonly run: Run
  readonly records: readonly Sealed<CallRecord>[]
  readonly attempts: readonly Sealed<Attempt>[]
  readonly evidence: readonly Sealed<Evidence>[]
  readonly items: readonly Item[]
  readonly decisions: readonly Sealed<Decision>[]
  readonly signals: readonly Sealed<Signal>[]
  /** Outputs of ended children that lie in blobs, by digest. */
  readonly childOutputs?: ReadonlyMap<string, string>
  /** Calls of the whole run that were failed without knowledge. */
  readonly unresolved: readonly { tool: string; inputHash: string }[]
}
