// What was lately done, for metrics.
import type { CallRecord, Run } from '../../model/records.ts'
import { isEnded } from '../../model/run-state.ts'
import type { Recent } from '../store.ts'
import type { Data } from './data.ts'

export function recent(data: Data, namespace: string, since: number): Recent {
  const all = [...data.runs.values()].filter((of) => of.run.namespace === namespace)
  const records = all
    .flatMap((of) => [...of.records.values()])
    .filter((row) => row.createdAt >= since)
  const items = all.flatMap((of) => [...of.items.values()])
  const ends = all
    .map((of) => of.run)
    .filter(({ state, endedAt }) => isEnded(state) && (endedAt ?? 0) >= since)
  return {
    calls: counted(records.filter(isOfTool), ({ replayClass, status }: CallRecord) => ({
      replayClass,
      status,
    })),
    dispatched: records.reduce((sum, { attempt }) => sum + attempt, 0),
    repeated: records.reduce((sum, { attempt }) => sum + Math.max(0, attempt - 1), 0),
    unsafeMs: records.flatMap(({ replayClass, status, settledAt, createdAt, attempt }) =>
      replayClass === 'unsafe_on_replay' &&
      status === 'committed' &&
      settledAt !== null &&
      attempt > 0
        ? [settledAt - createdAt]
        : [],
    ),
    waits: items.flatMap(({ kind, closedAt, createdAt }) =>
      closedAt !== null && closedAt >= since ? [{ kind, ms: closedAt - createdAt }] : [],
    ),
    ended: counted(ends, ({ state, fence }: Run) => ({ state, resumed: fence > 1 })),
    usage: usageOf(records),
  }
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
