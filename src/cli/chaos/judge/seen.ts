// What became of a stage, as those who compare and count see it.
import type { ChaosDoubt, ChaosPoint } from '../report/report.ts'
import type { End, Entry, Life } from '../types.ts'

/** What became of one stage. */
export interface Driven {
  readonly lives: readonly Life[]
  readonly end: End
  readonly entries: readonly Entry[]
  readonly doubts: readonly ChaosDoubt[]
  /** What a person was being asked when the agent said that it had come to its end. */
  readonly passedOver: readonly string[]
  /** Tools of which a function was cut, and was taken to have done its work. */
  readonly presumed: readonly string[]
  /** The sandbox's own count of what was done here; null if nobody counts there. */
  readonly totals: Readonly<Record<string, number>> | null
}

/** A run as it is looked at: with its id, which is no part of what it does. */
export interface Seen {
  readonly runId: string
  readonly driven: Driven
}

/** A crash point that was tried. */
export interface Tried extends ChaosPoint {
  /** Null if it did not come to its end. */
  readonly seen: Seen | null
}
