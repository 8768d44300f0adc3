// What can be measured from the store by cheap looks. docs/guides/server.md says what each means.
import { runStates } from '../model/run-state.ts'
import type { Recent } from '../store/store.ts'
import type { ServerParts } from './context.ts'

const hourMs = 3_600_000

export interface Spread {
  readonly count: number
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
  readonly dispatched: number
  readonly duplicate_call_rate: number
  readonly unsafe_window: Spread
  readonly waits: Readonly<Record<string, Spread>>
  readonly ended: Readonly<Record<string, number>>
  /** Of the runs that needed more than one claim and ended, the part that completed. */
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

function ofLastHour(recent: Recent) {
  const { calls, dispatched, repeated, unsafeMs, ended, usage } = recent
  const kinds = ['approval', 'doubt', 'question'] as const
  const ofKind = (kind: string) => recent.waits.filter((one) => one.kind === kind)
  return {
    calls: calls.map(({ replayClass, status, count }) => {
      return { replay_class: replayClass, outcome: outcomes[status] ?? status, count }
    }),
    dispatched,
    duplicate_call_rate: dispatched === 0 ? 0 : repeated / dispatched,
    unsafe_window: spreadOf(unsafeMs),
    waits: Object.fromEntries(
      kinds.map((kind) => [kind, spreadOf(ofKind(kind).map(({ ms }) => ms))]),
    ),
    ended: Object.fromEntries(
      ['completed', 'failed', 'cancelled'].map((state) => [state, sumOf(ended, { state })]),
    ),
    resume_success_rate: resumeRate(ended),
    usage: { tokens_in: usage.tokensIn, tokens_out: usage.tokensOut, usd: usage.usd },
  }
}

function sumOf(ended: Recent['ended'], wanted: { state: string; resumed?: boolean }): number {
  return ended
    .filter(
      ({ state, resumed }) => state === wanted.state && (wanted.resumed ?? resumed) === resumed,
    )
    .reduce((sum, { count }) => sum + count, 0)
}

function resumeRate(ended: Recent['ended']): number | null {
  const completed = sumOf(ended, { state: 'completed', resumed: true })
  const all = completed + sumOf(ended, { state: 'failed', resumed: true })
  return all === 0 ? null : completed / all
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? null
  return { count: sorted.length, p50_ms: at(0.5), p95_ms: at(0.95) }
}
