// Whose turn it is. Runs of one graph in one namespace are a group; a claim goes round the groups,
// so that a long backlog of one does not hold up the others.
import type { Run } from '../../model/run/records.ts'

export interface Group<T> {
  readonly key: string
  /** The oldest first. */
  readonly rows: readonly T[]
}

export interface Turn<T> {
  readonly taken: readonly T[]
  /** The group that was served last: the next claim begins after it. */
  readonly last: string
}

export function groupKey({ namespace, graph }: Pick<Run, 'namespace' | 'graph'>): string {
  return `${namespace}\n${graph}`
}

/** Rows by their group, in the order they come. */
export function grouped<T>(
  rows: readonly T[],
  runOf: (row: T) => Pick<Run, 'namespace' | 'graph'>,
): Group<T>[] {
  const byKey = new Map<string, T[]>()
  for (const row of rows) {
    const key = groupKey(runOf(row))
    byKey.set(key, [...(byKey.get(key) ?? []), row])
  }
  return [...byKey].map(([key, rows]) => ({ key, rows }))
}

/** In the order of their turn, beginning after the group that was served last. */
export function rotated<G extends { readonly key: string }>(
  groups: readonly G[],
  after: string,
): G[] {
  const sorted = [...groups].sort((a, b) => (a.key < b.key ? -1 : 1))
  const begin = sorted.findIndex(({ key }) => key > after)
  return begin < 0 ? sorted : [...sorted.slice(begin), ...sorted.slice(0, begin)]
}

/** At most so many, one of each group in turn. */
export function inTurn<T>(groups: readonly Group<T>[], after: string, countMax: number): Turn<T> {
  const order = rotated(groups, after)
  const taken: T[] = []
  let last = after
  for (let round = 0, found = true; found; round++) {
    found = false
    for (const { key, rows } of order) {
      if (taken.length >= countMax) return { taken, last }
      if (round >= rows.length) continue
      taken.push(rows[round] as T)
      last = key
      found = true
    }
  }
  return { taken, last }
}
