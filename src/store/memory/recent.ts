// What was lately done, for metrics.
import { type CallRecord, type Event, keyOf } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import { resumeKinds } from '../recent.ts'
import type { Recent } from '../store.ts'
import type { RunRows } from '../whole-runs/run-rows.ts'
import type { Data } from './data.ts'

export function recent(data: Data, namespace: string, since: number): Recent {
  const all = [...data.runs.values()].filter((of) => of.run.namespace === namespace)
  const records = all
    .flatMap((of) => [...of.records.values()])
    .filter((row) => row.createdAt >= since)
  const items = all.flatMap((of) => [...of.items.values()])
  const takeovers = all
    .flatMap((of) => of.events)
    .filter((event) => isResume(event) && event.at >= since)
  // Of one that was taken whole nobody can tell whether it was resumed.
  const there = all.filter(({ run }) => run.swept !== 'all')
  const ends = there.filter(({ run }) => isEnded(run.state) && (run.endedAt ?? 0) >= since)
  return {
    calls: counted(records.filter(isOfTool), ({ replayClass, status }: CallRecord) => ({
      replayClass,
      status,
    })),
    attempts: attemptsOf(records.filter(isOfTool)),
    duplicates: all.reduce((sum, of) => sum + duplicatesOf(of, since), 0),
    unsafeMs: records.flatMap((row) => windowOf(row) ?? []),
    waits: items.flatMap(({ kind, closedAt, createdAt }) =>
      closedAt !== null && closedAt >= since ? [{ kind, ms: closedAt - createdAt }] : [],
    ),
    resumes: counted(takeovers, ({ kind, data }: Event) => ({
      cause: kind === 'lease_lost' ? kind : String(data['cause']),
    })),
    ended: counted(ends, ({ run, events }: RunRows) => ({
      state: run.state,
      resumed: events.some(isResume),
    })),
    usage: usageOf(records),
  }
}

function isResume({ kind }: Event): boolean {
  return resumeKinds.includes(kind)
}

/** Only the attempt that landed tells it. */
function windowOf({ replayClass, status, usageJson }: CallRecord): number | null {
  if (replayClass !== 'unsafe_on_replay' || status !== 'committed') return null
  return usageJson === null ? null : (JSON.parse(usageJson).windowMs ?? null)
}

/** An attempt landed against what was on record, and another attempt of its call landed too. */
function duplicatesOf({ events, records }: RunRows, since: number): number {
  const told = events.filter(
    ({ kind, at, data }) =>
      kind === 'evidence_conflict' && at >= since && data['outcome'] === 'landed' && data['call'],
  )
  return told.filter(({ data }) => {
    const call = data['call'] as CallRecord
    return [...records.values()].some(
      (row) =>
        keyOf(row) === keyOf(call) &&
        row.nodeId === call.nodeId &&
        row.checkpointId === call.checkpointId &&
        row.attempt !== call.attempt &&
        windowOf(row) !== null,
    )
  }).length
}

function attemptsOf(records: readonly CallRecord[]): Recent['attempts'] {
  const sums = new Map<string, Recent['attempts'][number]>()
  for (const { replayClass, attempt } of records) {
    const { count, again } = sums.get(replayClass) ?? { count: 0, again: 0 }
    const more = { count: count + attempt, again: again + Math.max(0, attempt - 1) }
    sums.set(replayClass, { replayClass, ...more })
  }
  return [...sums.values()]
}

/** What people and signals are waited for by lies in the ledger too, and is no call of a tool. */
function isOfTool({ tool }: CallRecord): boolean {
  return !tool.startsWith('counterfoil.')
}

function counted<T, K extends object>(rows: readonly T[], keyOf: (row: T) => K) {
  const counts = new Map<string, K & { count: number }>()
  for (const row of rows) {
    const key = keyOf(row)
    const text = JSON.stringify(key)
    counts.set(text, { ...key, count: (counts.get(text)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

function usageOf(records: readonly CallRecord[]): Recent['usage'] {
  const sum = { tokensIn: 0, tokensOut: 0, usd: 0 }
  for (const { usageJson } of records) {
    if (usageJson === null) continue
    const { tokensIn = 0, tokensOut = 0, usd = 0 } = JSON.parse(usageJson)
    sum.tokensIn += tokensIn
    sum.tokensOut += tokensOut
    sum.usd += usd
  }
  return sum
}
