// Answers questions about rows. Memory has no MACs: nothing but this process can write here.

import { visitOfAttempt } from '../../model/attempt-id.ts'
import { CounterfoilError } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import type { Attempt, CallRecord, Checkpoint, Item } from '../../model/records.ts'
import type { RunState } from '../../model/run-state.ts'
import type {
  ItemFilter,
  LoadAt,
  Loaded,
  OpenCall,
  Page,
  RunFilter,
  Sealed,
  VersionRow,
} from '../store.ts'
import { checkpointKey, type Data, type RunData } from './data.ts'

export function sealed<T extends object>(row: T): Sealed<T> {
  return { ...row, verifies: true }
}

export function checkpointsOf(of: RunData | undefined): Checkpoint[] {
  const rows = [...(of?.checkpoints.values() ?? [])]
  return rows.sort((a, b) => a.generation - b.generation || a.visit - b.visit)
}

/** The rows that the state at this visit is made of; none if the visit has no checkpoint. */
export function chainOf(of: RunData | undefined, generation: number, visit: number): Checkpoint[] {
  const last = of?.checkpoints.get(checkpointKey({ generation, visit }))
  if (last === undefined) return []
  return checkpointsOf(of).filter(
    (row) => row.generation === generation && row.visit <= visit && row.visit >= last.baseVisit,
  )
}

/** In the order of their dispatch. */
export function attemptsOf(of: RunData | undefined): Sealed<Attempt>[] {
  const inOrder = (a: Attempt, b: Attempt) =>
    a.dispatchedAt - b.dispatchedAt || (a.attemptId < b.attemptId ? -1 : 1)
  return [...(of?.attempts.values() ?? [])].sort(inOrder).map(sealed)
}

export function isOpenCall({ status, replayClass }: CallRecord): boolean {
  return replayClass !== 'pure' && (status === 'pending' || status === 'in_doubt')
}

export function openCall(row: CallRecord): OpenCall {
  const { nodeId, checkpointId, tool, inputHash, occurrence, nth } = row
  const { attempt, status, replayClass } = row
  return { nodeId, checkpointId, tool, inputHash, occurrence, nth, attempt, status, replayClass }
}

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

export function loadRun(data: Data, of: RunData, at?: LoadAt): Loaded {
  const { run } = of
  const visit = at?.visit ?? run.visit
  const suffix = `#${run.generation}#${visit}`
  const here = (row: { generation: number; visit: number }) =>
    row.generation === run.generation && row.visit === visit
  const isHere = ({ nodeId, checkpointId }: CallRecord) =>
    at?.scope
      ? nodeId === at.scope.nodeId && checkpointId === at.scope.checkpointId
      : checkpointId.endsWith(suffix)
  const all = [...of.records.values()]
  const attempts = attemptsOf(of).filter((row) => here(visitOfAttempt(row.attemptId)))
  const deaths = new Map<string, number>()
  for (const { workerId } of attempts) {
    const died = data.workers.get(workerId)?.diedAt
    if (died) deaths.set(workerId, died)
  }
  return {
    run,
    checkpoints: at === undefined ? chainOf(of, run.generation, visit) : [],
    records: all.filter(isHere).map(sealed),
    attempts,
    evidence: [...of.evidence.values()]
      .filter((row) => here(visitOfAttempt(row.attemptId)))
      .map(sealed),
    items: [...of.items.values()].filter(here),
    decisions: [...of.decisions.values()].filter(here).map(sealed),
    signals: [...of.signals.values()].filter((row) => row.usedBy === null).map(sealed),
    unresolved: all
      .filter((row) => row.unresolved)
      .map(({ tool, inputHash }) => ({ tool, inputHash })),
    deaths,
  }
}

export function listRuns(data: Data, filter: RunFilter) {
  const rows = [...data.runs.values()].map((of) => of.run)
  if (filter.newestFirst) rows.reverse()
  return paged(
    rows.filter(
      (run) =>
        run.namespace === filter.namespace &&
        (filter.state === undefined || run.state === filter.state) &&
        (filter.graph === undefined || run.graph === filter.graph) &&
        (filter.parentRunId === undefined || run.parentRunId === filter.parentRunId) &&
        (filter.idContains === undefined || run.runId.includes(filter.idContains)),
    ),
    filter,
  )
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

export function listItems(data: Data, filter: ItemFilter) {
  const rows = itemsOf(data)
  if (filter.newestFirst) rows.reverse()
  const now = data.clock.now()
  const overdue = ({ state, dueAt }: Item) => state === 'open' && dueAt !== null && dueAt <= now
  return paged(
    rows.filter(
      (item) =>
        item.namespace === filter.namespace &&
        (filter.kind === undefined || item.kind === filter.kind) &&
        (filter.state === undefined || item.state === filter.state) &&
        (filter.runId === undefined || item.runId === filter.runId) &&
        (filter.queue === undefined || item.queue === filter.queue) &&
        (filter.overdue !== true || overdue(item)),
    ),
    filter,
  )
}

export function paged<T>(
  rows: readonly T[],
  { cursor, countMax = limits.pageSize }: { cursor?: string; countMax?: number },
): Page<T> {
  const from = cursor === undefined ? 0 : Number(cursor)
  if (cursor === '' || !Number.isInteger(from) || from < 0) {
    throw new CounterfoilError(
      'CURSOR_INVALID',
      `cursor ${JSON.stringify(cursor)} was not given by this list; begin again without one`,
    )
  }
  const to = from + Math.min(countMax, limits.pageSizeMax)
  return { items: rows.slice(from, to), next: to < rows.length ? String(to) : null }
}
