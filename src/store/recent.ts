// What metrics are made of.
import type { CallRecord, Item } from '../model/run/records.ts'
import type { RunState } from '../model/run/states.ts'

/**
 * What was lately done in a namespace, for metrics: counts and single values, which can be summed,
 * from rows alone. Where there are very many calls, of the newest part of them.
 */
export interface Recent {
  readonly calls: readonly {
    readonly replayClass: CallRecord['replayClass']
    readonly status: CallRecord['status']
    readonly count: number
  }[]
  /** Attempts of these calls. `again`: those of them that were not the first of their call. */
  readonly attempts: readonly {
    readonly replayClass: CallRecord['replayClass']
    readonly count: number
    readonly again: number
  }[]
  /** Effects that are known to have happened twice: two attempts of one unsafe call landed. */
  readonly duplicates: number
  /** From the dispatch of an unsafe call to its receipt, of each that its own attempt settled. */
  readonly unsafeMs: readonly number[]
  /** How long items waited for people, of each. */
  readonly waits: readonly { readonly kind: Item['kind']; readonly ms: number }[]
  /** Takeovers after a death or a loss, by cause; a wait that ended is none. */
  readonly resumes: readonly { readonly cause: string; readonly count: number }[]
  /** Runs that ended; `resumed`: one of these takeovers lies in their history. */
  readonly ended: readonly {
    readonly state: RunState
    readonly resumed: boolean
    readonly count: number
  }[]
  readonly usage: { readonly tokensIn: number; readonly tokensOut: number; readonly usd: number }
}

/** Events that tell of a takeover after a death or a loss. */
export const resumeKinds: readonly string[] = ['taken_over', 'lease_lost']

/** What waits for somebody to do something, for alarms. */
export interface Backlog {
  readonly pending: number
  readonly oldestPendingAt: number | null
  /** Runs held by workers whose lease has ended. */
  readonly orphans: number
  /** Runs whose time to wake has come, and how long ago it came for the first of them. */
  readonly due: number
  readonly dueLagMs: number
  readonly openItems: number
  readonly overdueItems: number
}
