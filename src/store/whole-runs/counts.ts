// What the facts of a store are summed up from, the same for every store.
import type { ItemKind } from '../../model/run/records.ts'
import { type RunState, runStates } from '../../model/run/states.ts'
import type { StoreFacts } from '../store.ts'

export interface RunCount {
  readonly namespace: string
  readonly state: RunState
  readonly n: number
}

export interface ItemCount {
  readonly kind: ItemKind
  readonly n: number
  readonly overdue: number
}

/** Rows may be counted already, or be one of each: those of one kind are summed. */
export function countsOf(
  runs: readonly RunCount[],
  items: readonly ItemCount[],
  namespace: string,
): Pick<StoreFacts, 'runs' | 'otherRuns' | 'openItems' | 'overdue'> {
  const ours = runs.filter((row) => row.namespace === namespace)
  const inOrder = runStates.flatMap((state) => ours.filter((row) => row.state === state))
  const others = runs.filter((row) => row.namespace !== namespace)
  return {
    runs: summed(inOrder, ({ state }) => state),
    otherRuns: others.reduce((sum, row) => sum + row.n, 0),
    openItems: summed(items, ({ kind }) => kind),
    overdue: items.reduce((sum, row) => sum + row.overdue, 0),
  }
}

function summed<K extends string, T extends { readonly n: number }>(
  rows: readonly T[],
  keyOf: (row: T) => K,
): Partial<Record<K, number>> {
  const sums: Partial<Record<K, number>> = {}
  for (const row of rows) sums[keyOf(row)] = (sums[keyOf(row)] ?? 0) + row.n
  return sums
}
