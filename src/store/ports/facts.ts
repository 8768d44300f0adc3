// The port of what a store can tell of itself and of how much is in it, by counting where the rows
// are: lists are for reading rows, and there may be millions. For status, metrics and alarms.
import type { ItemKind } from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { Backlog, Recent } from '../recent.ts'

export type { Backlog, Recent } from '../recent.ts'

/** How many runs there are of one version, by state (F4). */
export interface VersionRow {
  readonly graph: string
  readonly version: string
  /** Null for a version that runs exist of and that was never registered. */
  readonly registeredAt: number | null
  readonly states: Readonly<Partial<Record<RunState, number>>>
}

export interface Adoption {
  readonly at: number
  readonly by: string
  readonly reason: string
}

/** What a store says of itself, and what is in it. */
export interface StoreFacts {
  readonly bytes: number
  /** Of the write-ahead log beside a file; a server's is not the store's alone. */
  readonly walBytes: number
  readonly storeId: string | null
  readonly migrations: readonly { id: number; name: string; appliedAt: number }[]
  /** In the order of making, where the store knows it: then the last one signs. */
  readonly keyIds: readonly string[]
  /** The file that the keys lie in; null if they are given from outside, or there are none. */
  readonly keyFile: string | null
  /** What it rests on when it says that a write is durable, by name (I8). */
  readonly durability: Readonly<Record<string, string>>
  readonly adoptions: readonly Adoption[]
  /** Of the namespace that was asked for, as are the items. */
  readonly runs: Readonly<Partial<Record<RunState, number>>>
  /** In other namespaces. */
  readonly otherRuns: number
  readonly openItems: Readonly<Partial<Record<ItemKind, number>>>
  readonly overdue: number
  readonly oldestDoubt: OldItem | null
}

export interface OldItem {
  readonly itemId: string
  readonly runId: string
  readonly createdAt: number
}

export interface FactsPort {
  facts(namespace: string): Promise<StoreFacts>
  listVersions(namespace: string): Promise<VersionRow[]>
  backlog(): Promise<Backlog>
  recent(namespace: string, since: number): Promise<Recent>
}
