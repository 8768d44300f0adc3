// Answers questions about rows. Memory has no MACs: nothing but this process can write here.
import { CounterfoilError } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import { visitOfAttempt } from '../../model/records.ts'
import type { ItemFilter, Loaded, Page, RunFilter, Sealed } from '../store.ts'
import type { Data, RunData } from './data.ts'

export function sealed<T extends object>(row: T): Sealed<T> {
  return { ...row, verifies: true }
}

export function loadRun(data: Data, of: RunData): Loaded {
  const { run } = of
  const suffix = `#${run.generation}#${run.visit}`
  const here = (row: { generation: number; visit: number }) =>
    row.generation === run.generation && row.visit === run.visit
  const checkpoint = of.checkpoints.findLast(here)
  if (checkpoint === undefined) throw new Error(`run ${run.runId} has no checkpoint of its visit`)
  const all = [...of.records.values()]
  const attempts = [...of.attempts.values()]
    .filter((row) => here(visitOfAttempt(row.attemptId)))
    .map(sealed)
  const deaths = new Map<string, number>()
  for (const { workerId } of attempts) {
    const died = data.workers.get(workerId)?.diedAt
    if (died) deaths.set(workerId, died)
  }
  return {
    run,
    checkpoint,
    records: all.filter((row) => row.checkpointId.endsWith(suffix)).map(sealed),
    attempts,
    evidence: [...of.evidence.values()]
      .filter((row) => here(visitOfAttempt(row.attemptId)))
      .map(sealed),
    items: [...of.items.values()].filter(here),
    decisions: [...of.decisions.values()].filter(here).map(sealed),
    unresolved: all.filter((row) => row.unresolved),
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
        (filter.graph === undefined || run.graph === filter.graph),
    ),
    filter,
  )
}

export function listItems(data: Data, filter: ItemFilter) {
  const rows = [...data.runs.values()].flatMap((of) => [...of.items.values()])
  return paged(
    rows.filter(
      (item) =>
        item.namespace === filter.namespace &&
        (filter.kind === undefined || item.kind === filter.kind) &&
        (filter.state === undefined || item.state === filter.state) &&
        (filter.runId === undefined || item.runId === filter.runId),
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
    throw new CounterfoilError('CURSOR_INVALID', `cursor ${JSON.stringify(cursor)} is not ours`)
  }
  const to = from + Math.min(countMax, limits.pageSizeMax)
  return { items: rows.slice(from, to), next: to < rows.length ? String(to) : null }
}
