// What can be measured from the store, cheaply, and from this process.
import { runStates } from '../model/run-state.ts'
import type { ServerParts } from './context.ts'

export interface Figures {
  readonly runs: Readonly<Record<string, number>>
  readonly backlog: {
    readonly pending: number
    readonly oldest_pending_ms: number
    readonly orphans: number
    readonly due: number
    readonly due_lag_ms: number
    readonly open_items: number
    readonly overdue_items: number
  }
  readonly oldest_doubt_ms: number
}

export async function readFigures(parts: ServerParts, namespace: string): Promise<Figures> {
  const { store, clock } = parts
  const [versions, backlog, doubts] = await Promise.all([
    store.listVersions(namespace),
    store.backlog(),
    store.listItems({ namespace, kind: 'doubt', state: 'open', countMax: 1 }),
  ])
  const runs: Record<string, number> = Object.fromEntries(runStates.map((state) => [state, 0]))
  for (const { states } of versions) {
    for (const state of runStates) runs[state] = (runs[state] ?? 0) + (states[state] ?? 0)
  }
  const now = clock.now()
  const age = (at: number | null | undefined) => (at ? Math.max(0, now - at) : 0)
  return {
    runs,
    backlog: {
      pending: backlog.pending,
      oldest_pending_ms: age(backlog.oldestPendingAt),
      orphans: backlog.orphans,
      due: backlog.due,
      due_lag_ms: backlog.dueLagMs,
      open_items: backlog.openItems,
      overdue_items: backlog.overdueItems,
    },
    oldest_doubt_ms: age(doubts.items[0]?.createdAt),
  }
}
