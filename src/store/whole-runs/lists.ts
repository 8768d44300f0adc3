// Which rows a list gives and how it is paged, for a store that goes through them one by one.
import { errorFor } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import type { Event, Item, Run } from '../../model/run/records.ts'
import type { EventsRequest, ItemFilter, Page, PlacedEvent, RunFilter } from '../store.ts'

/** A cursor is the place in the list at which it goes on. */
export function paged<T>(
  rows: readonly T[],
  { cursor, countMax = limits.pageSize }: { cursor?: string; countMax?: number },
): Page<T> {
  const from = cursor === undefined ? 0 : Number(cursor)
  if (cursor === '' || !Number.isInteger(from) || from < 0) {
    throw errorFor('CURSOR_INVALID', cursor)
  }
  const to = from + Math.min(countMax, limits.pageSizeMax)
  return { items: rows.slice(from, to), next: to < rows.length ? String(to) : null }
}

/** `runs` in the order they were started. */
export function runPage(runs: readonly Run[], filter: RunFilter): Page<Run> {
  const { namespace, state, graph, parentRunId, idContains } = filter
  const found = runs.filter(
    (run) =>
      run.namespace === namespace &&
      (state === undefined || run.state === state) &&
      (graph === undefined || run.graph === graph) &&
      (parentRunId === undefined || run.parentRunId === parentRunId) &&
      (idContains === undefined || run.runId.includes(idContains)),
  )
  return paged(filter.newestFirst ? found.reverse() : found, filter)
}

/** `items` in the order they were made, whosever they are. */
export function itemPage(items: readonly Item[], filter: ItemFilter, now: number): Page<Item> {
  const { namespace, kind, state, runId, queue, overdue } = filter
  const found = items.filter(
    (item) =>
      item.namespace === namespace &&
      (kind === undefined || item.kind === kind) &&
      (state === undefined || item.state === state) &&
      (runId === undefined || item.runId === runId) &&
      (queue === undefined || item.queue === queue) &&
      (overdue !== true || isOverdue(item, now)),
  )
  return paged(filter.newestFirst ? found.reverse() : found, filter)
}

/** Open, and past its SLA. */
export function isOverdue({ state, dueAt }: Item, now: number): boolean {
  return state === 'open' && dueAt !== null && dueAt <= now
}

/** Those that nobody has noticed, the longest overdue first. */
export function overdueOf(items: readonly Item[], now: number, countMax: number): Item[] {
  return items
    .filter((item) => item.overdueAt === null && isOverdue(item, now))
    .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
    .slice(0, countMax)
}

/** `events` in the order they came; their places count from 1. */
export function eventPage(
  events: readonly Event[],
  { after = 0, ...page }: EventsRequest,
): Page<PlacedEvent> {
  const placed = events.map((event, i) => ({ ...event, id: i + 1 }))
  return paged(
    placed.filter(({ id }) => id > after),
    page,
  )
}
