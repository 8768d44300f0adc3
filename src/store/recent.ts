// What metrics are made of.
import type { CallRecord, Item } from '../model/records.ts'
import type { RunState } from '../model/run-state.ts'

/** What was lately done in a namespace, for metrics. Where there is much of it, the newest part. */
export interface Recent {
  readonly calls: readonly {
    readonly replayClass: CallRecord['replayClass']
    readonly status: CallRecord['status']
    readonly count: number
  }[]
  /** Attempts of these calls, and those of them that were not the first of their call. */
  readonly dispatched: number
  readonly repeated: number
  /** From the intent of an unsafe call to its receipt, of each. */
  readonly unsafeMs: readonly number[]
  /** How long items waited for people, of each. */
  readonly waits: readonly { readonly kind: Item['kind']; readonly ms: number }[]
  /** Runs that ended; `resumed`: more than one claim was needed. */
  readonly ended: readonly {
    readonly state: RunState
    readonly resumed: boolean
    readonly count: number
  }[]
  readonly usage: { readonly tokensIn: number; readonly tokensOut: number; readonly usd: number }
}

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
