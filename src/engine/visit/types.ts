// What a visit is given, and how it can end.
import type { Clock } from '../../clock.ts'
import type { Queues } from '../../model/decisions/approval.ts'
import type { Graph } from '../../model/graph/graph.ts'
import type { SignalPool } from '../../model/replay/waits.ts'
import type { RiskPolicy } from '../../model/tool/risk.ts'
import type { LoadAt, Loaded, Store } from '../../store/store.ts'
import type { RateLimits } from '../attempt/rate-limit.ts'
import type { RunLog } from '../committer.ts'
import type { Contexts } from './contexts.ts'
import type { Trail } from './trail.ts'

export interface Lease {
  /** Whether the lease is still ours by the monotonic clock, without asking anybody (D2). */
  holds(): boolean
}

export interface VisitOptions {
  readonly store: Store
  readonly clock: Clock
  /** Null in a scope: its host says what is called. */
  readonly graph: Graph | null
  /** All that this process carries, by `name@version`. */
  readonly graphs: ReadonlyMap<string, Graph>
  readonly loaded: Loaded
  readonly log: RunLog
  readonly lease: Lease
  readonly settleMs: number
  readonly limits: RateLimits
  readonly policy: RiskPolicy | null
  /** What queues say about their items. */
  readonly queues?: Queues
  readonly trail: Trail | null
  /** None in a scope. */
  readonly contexts?: Contexts
  /** What earlier visits of this execution have left; null for the first. */
  readonly signals: SignalPool | null
  readonly scope?: NonNullable<LoadAt['scope']>
}

/**
 * `arrived`: something came in while it parked, so the run is to be loaded and executed again.
 * `moved`: the run stands at its next visit.
 */
export type VisitEnd = 'ended' | 'parked' | 'released' | 'arrived' | 'lost' | 'moved'

/** How a node's function ended, as it is to be recorded. */
export type NodeOutcome =
  | { readonly kind: 'done'; readonly outputJson: string | null }
  | { readonly kind: 'go'; readonly node: string; readonly state: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
