// Answers questions about rows. Memory has no MACs: nothing but this process can write here.
import type { Item } from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { VersionRow } from '../store.ts'
import type { Data } from './data.ts'

export function blobsInUse(data: Data, digests: readonly string[]): Set<string> {
  const used = new Set<string | null>()
  for (const of of data.runs.values()) {
    used.add(of.run.outputDigest)
    for (const row of of.checkpoints.values()) used.add(row.bodyDigest)
    for (const row of of.records.values()) used.add(row.resultDigest)
    for (const row of of.evidence.values()) used.add(row.resultDigest)
  }
  return new Set(digests.filter((digest) => used.has(digest)))
}

export function listVersions(data: Data, namespace: string): VersionRow[] {
  const rows = new Map<string, VersionRow & { states: Partial<Record<RunState, number>> }>()
  const rowOf = (graph: string, version: string, registeredAt: number | null) => {
    const id = `${graph}@${version}`
    const row = rows.get(id) ?? { graph, version, registeredAt, states: {} }
    rows.set(id, row)
    return row
  }
  for (const row of data.graphs.values()) {
    if (row.namespace === namespace) rowOf(row.name, row.version, row.registeredAt)
  }
  for (const { run } of data.runs.values()) {
    if (run.namespace !== namespace) continue
    const { states } = rowOf(run.graph, run.version, null)
    states[run.state] = (states[run.state] ?? 0) + 1
  }
  return [...rows.values()]
}

/** In the order they were made, whosever they are. */
export function itemsOf(data: Data): Item[] {
  return [...data.items].flatMap(([key, of]) => of.items.get(JSON.parse(key)[1]) ?? [])
}
