// What a store says about itself and how much is in it, by counting in the database: the lists of a
// store are for reading rows, and there may be millions. One shape, one reader a kind of store.
import type { ItemKind } from '../model/records.ts'
import { type RunState, runStates } from '../model/run-state.ts'

export interface Adoption {
  readonly at: number
  readonly by: string
  readonly reason: string
}

export interface OldItem {
  readonly itemId: string
  readonly runId: string
  readonly createdAt: number
}

export interface StoreFacts {
  readonly bytes: number
  /** Of the write-ahead log beside a file; a server's is not the store's alone. */
  readonly walBytes: number
  readonly storeId: string | null
  readonly migrations: readonly { id: number; name: string; appliedAt: number }[]
  /** In the order of making, where the store knows it: then the last one signs. */
  readonly keyIds: readonly string[]
  readonly adoptions: readonly Adoption[]
  readonly runs: Readonly<Partial<Record<RunState, number>>>
  /** In other namespaces. */
  readonly otherRuns: number
  readonly openItems: Readonly<Partial<Record<ItemKind, number>>>
  readonly overdue: number
  readonly oldestDoubt: OldItem | null
}

/** What a reader counts of. */
export interface Which {
  readonly namespace: string
  readonly now: number
}

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

export function countsOf(
  runs: readonly RunCount[],
  items: readonly ItemCount[],
  namespace: string,
): Pick<StoreFacts, 'runs' | 'otherRuns' | 'openItems' | 'overdue'> {
  const ours = runs.filter((row) => row.namespace === namespace)
  const inOrder = runStates.flatMap((state) => ours.filter((row) => row.state === state))
  const others = runs.filter((row) => row.namespace !== namespace)
  return {
    runs: Object.fromEntries(inOrder.map((row) => [row.state, row.n])),
    otherRuns: others.reduce((sum, row) => sum + row.n, 0),
    openItems: Object.fromEntries(items.map((row) => [row.kind, row.n])),
    overdue: items.reduce((sum, row) => sum + row.overdue, 0),
  }
}
