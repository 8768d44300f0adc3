// What can be measured from the store by cheap looks. docs/guides/server.md says what each means.
import { runStates } from '../../model/run/states.ts'
import type { Recent } from '../../store/store.ts'
import type { ServerParts } from '../parts.ts'

const hourMs = 3_600_000

/** Counts and sums can be added up over namespaces and stores; p50 and p95 are for a page. */
export interface Spread {
  readonly count: number
  readonly sum_ms: number
  /** How many took no longer than this. */
  readonly buckets: readonly { readonly le_ms: number; readonly count: number }[]
  /** Null where there is nothing to measure: that is not 0. */
  readonly p50_ms: number | null
  readonly p95_ms: number | null
}

export interface CallFigure {
  readonly replay_class: string
  readonly outcome: string
  readonly count: number
}

export interface Figures {
  /** How many there are, by state. */
  readonly runs: Readonly<Record<string, number>>
  /** Of the whole store: null for whoever may see one namespace only. */
  readonly backlog: {
    readonly pending: number
    readonly oldest_pending_ms: number
    readonly orphans: number
    readonly due: number
    readonly due_lag_ms: number
    readonly open_items: number
    readonly overdue_items: number
  } | null
  readonly oldest_doubt_ms: number
  /** All below are of the last hour. */
  readonly calls: readonly CallFigure[]
  readonly attempts: readonly { readonly replay_class: string; readonly count: number }[]
  /** Effects known to have happened twice. The target is 0. */
  readonly duplicate_effects: number
  /** Attempts that were not the first of their call. */
  readonly pure_retries: number
  readonly keyed_resends: number
  readonly unsafe_resends: number
  readonly unsafe_window: Spread
  readonly waits: Readonly<Record<string, Spread>>
  /** Takeovers after a death or a loss, by cause. */
  readonly resumes: Readonly<Record<string, number>>
  readonly ended: Readonly<Record<string, number>>
  /** Of these, the runs that were resumed at least once. */
  readonly ended_resumed: Readonly<Record<string, number>>
  /** Of the resumed runs that completed or failed, the part that completed. */
  readonly resume_success_rate: number | null
  readonly usage: { readonly tokens_in: number; readonly tokens_out: number; readonly usd: number }
}

export interface Scope {
  readonly namespace: string
  /** Whether the figures may be those of all namespaces, where they are of the whole store. */
  readonly wide: boolean
}

export async function readFigures(
  parts: ServerParts,
  { namespace, wide }: Scope,
): Promise<Figures> {
  const { store } = parts
  const now = store.clock.now()
  const [versions, backlog, doubts, recent] = await Promise.all([
    store.listVersions(namespace),
    store.backlog(),
    store.listItems({ namespace, kind: 'doubt', state: 'open', countMax: 1 }),
    store.recent(namespace, now - hourMs),
  ])
  const runs: Record<string, number> = Object.fromEntries(runStates.map((state) => [state, 0]))
  for (const { states } of versions) {
    for (const state of runStates) runs[state] = (runs[state] ?? 0) + (states[state] ?? 0)
  }
  const age = (at: number | null | undefined) => (at ? Math.max(0, now - at) : 0)
  return {
    runs,
    backlog: wide
      ? {
          pending: backlog.pending,
          oldest_pending_ms: age(backlog.oldestPendingAt),
          orphans: backlog.orphans,
          due: backlog.due,
          due_lag_ms: backlog.dueLagMs,
          open_items: backlog.openItems,
          overdue_items: backlog.overdueItems,
        }
      : null,
    oldest_doubt_ms: age(doubts.items[0]?.createdAt),
    ...ofLastHour(recent),
  }
}

const outcomes: Readonly<Record<string, string>> = { in_doubt: 'parked', committed: 'executed' }
const kinds = ['approval', 'doubt', 'question'] as const
const causes = ['dead', 'expired', 'boot', 'unknown', 'stopped', 'lease_lost'] as const
const endStates = ['completed', 'failed', 'cancelled'] as const

const windowBucketsMs = [5, 10, 25, 50, 100, 250, 500, 1e3, 2.5e3, 5e3, 1e4, 3e4, 6e4, 3e5]
const minuteMs = 60_000
const waitBucketsMs = [10_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 4 * hourMs].concat(
  [1, 3, 7].map((days) => days * 24 * hourMs),
)

function ofLastHour(recent: Recent) {
  const { calls, attempts, ended, usage } = recent
  const again = (replayClass: string) =>
    sumOf(
      attempts.filter((one) => one.replayClass === replayClass),
      (one) => one.again,
    )
  const waits = (kind: string) => recent.waits.filter((one) => one.kind === kind)
  const resumed = endsOf(ended.filter((one) => one.resumed))
  return {
    calls: calls.map(({ replayClass, status, count }) => {
      return { replay_class: replayClass, outcome: outcomes[status] ?? status, count }
    }),
    attempts: attempts.map(({ replayClass, count }) => ({ replay_class: replayClass, count })),
    duplicate_effects: recent.duplicates,
    pure_retries: again('pure'),
    keyed_resends: again('idempotent_with_key'),
    unsafe_resends: again('unsafe_on_replay'),
    unsafe_window: spreadOf(recent.unsafeMs, windowBucketsMs),
    waits: Object.fromEntries(
      kinds.map((kind) => {
        const values = waits(kind).map(({ ms }) => ms)
        return [kind, spreadOf(values, waitBucketsMs)]
      }),
    ),
    resumes: {
      ...Object.fromEntries(causes.map((cause) => [cause, 0])),
      ...Object.fromEntries(recent.resumes.map(({ cause, count }) => [cause, count])),
    },
    ended: endsOf(ended),
    ended_resumed: resumed,
    resume_success_rate: rateOf(resumed),
    usage: { tokens_in: usage.tokensIn, tokens_out: usage.tokensOut, usd: usage.usd },
  }
}

function sumOf<T>(rows: readonly T[], value: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + value(row), 0)
}

function endsOf(ended: Recent['ended']): Readonly<Record<string, number>> {
  const count = (state: string) =>
    sumOf(
      ended.filter((one) => one.state === state),
      (one) => one.count,
    )
  return Object.fromEntries(endStates.map((state) => [state, count(state)]))
}

/** Cancelling is what somebody wanted: neither a success nor a failure. */
function rateOf({ completed = 0, failed = 0 }: Readonly<Record<string, number>>): number | null {
  return completed + failed === 0 ? null : completed / (completed + failed)
}

export function spreadOf(values: readonly number[], bucketsMs: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? null
  return {
    count: sorted.length,
    sum_ms: sumOf(sorted, (ms) => ms),
    buckets: bucketsMs.map((le) => ({ le_ms: le, count: sorted.filter((ms) => ms <= le).length })),
    p50_ms: at(0.5),
    p95_ms: at(0.95),
  }
}
