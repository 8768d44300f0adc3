// Lists for people, paged by cursor, in the order of making. A cursor is the place of the last row.
import { errorFor } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import type {
  Attempt,
  CallRecord,
  Decision,
  Evidence,
  Item,
  Run,
  RunRef,
} from '../../model/run/records.ts'
import { withFirst } from '../sql/first-attempt.ts'
import type {
  CheckpointRow,
  EventsRequest,
  ItemFilter,
  ListRequest,
  Page,
  PlacedEvent,
  RunFilter,
  Sealed,
} from '../store.ts'
import { firstOfRun } from './calls/first.ts'
import type { Connection } from './opening/connection.ts'
import { decodeSealed } from './read.ts'
import type { SqlValue } from './tables.ts'
import * as tables from './tables.ts'

type PageRequest = Omit<ListRequest, 'namespace'>

/** Conditions that were asked for; a literal where a partial index has to be recognised. */
export function where(conditions: Record<string, SqlValue | undefined>): [string, SqlValue[]] {
  const asked = Object.entries(conditions).filter(([, value]) => value !== undefined)
  return [
    asked.map(([text]) => text).join(' and '),
    asked.filter(([text]) => text.includes('?')).map(([, value]) => value as SqlValue),
  ]
}

export function listRuns(c: Connection, filter: RunFilter): Page<Run> {
  const [conditions, values] = where({
    'namespace = ?': filter.namespace,
    'state = ?': filter.state,
    'graph = ?': filter.graph,
    'parent_run_id = ?': filter.parentRunId,
    'instr(run_id, ?) > 0': filter.idContains,
  })
  const { from, order, place } = direction(filter)
  const sql = `select ${tables.runs.columns}, rowid from runs
    where ${conditions} and ${from} order by rowid ${order} limit ?`
  return page(c, filter, 1, (after, count) => c.sql(sql).all(...values, place(after), count)).map(
    tables.runs.decode,
  )
}

export function listItems(c: Connection, filter: ItemFilter): Page<Item> {
  const open = filter.state === 'open' || filter.overdue === true
  const [conditions, values] = where({
    'namespace = ?': filter.namespace,
    "state = 'open'": open ? 'open' : undefined,
    'state = ?': open ? undefined : filter.state,
    'kind = ?': filter.kind,
    'run_id = ?': filter.runId,
    'queue = ?': filter.queue,
    'due_at <= ?': filter.overdue ? c.clock.now() : undefined,
  })
  const { from, order, place } = direction(filter)
  const sql = `select ${tables.items.columns}, rowid from inbox_items
    where ${conditions} and ${from} order by rowid ${order} limit ?`
  return page(c, filter, 1, (after, count) => c.sql(sql).all(...values, place(after), count)).map(
    tables.items.decode,
  )
}

/** The first page goes on from -1, which is behind everything when the newest come first. */
function direction({ newestFirst = false }: { newestFirst?: boolean }) {
  const place = ([after = -1]: number[]) =>
    newestFirst && after < 0 ? Number.MAX_SAFE_INTEGER : after
  const [from, order] = newestFirst ? ['rowid < ?', 'desc'] : ['rowid > ?', 'asc']
  return { from, order, place }
}

// By time first, because the index by time then gives a page without sorting the run.
const recordsOfRun = `select ${tables.records.columns}, mac, created_at, rowid
  from tool_call_results
  where workflow_id = ? and namespace = ? and (created_at, rowid) > (?, ?)
  order by created_at, rowid limit ?`

export function listRecords(
  c: Connection,
  ref: RunRef,
  request: PageRequest,
): Page<Sealed<CallRecord>> {
  const { runId, namespace } = ref
  return page(c, request, 2, (after, count) =>
    c.sql(recordsOfRun).all(runId, namespace, ...after, count),
  ).mapAll((rows) => decodeSealed(c, tables.records, rows))
}

const eventsOfRun = `select ${tables.events.columns}, id from events
  where namespace = ? and run_id = ? and id > ? order by id limit ?`

export function listEvents(c: Connection, ref: RunRef, request: EventsRequest): Page<PlacedEvent> {
  const behind = request.after ?? -1
  return page(c, request, 1, ([after = -1], count) =>
    c.sql(eventsOfRun).all(ref.namespace, ref.runId, Math.max(after, behind), count),
  ).map((row) => ({ ...tables.events.decode(row), id: row.at(-1) as number }))
}

const attemptsOfRun = `select ${tables.attempts.columns}, mac from tool_call_attempts
  where namespace = ? and workflow_id = ? order by dispatched_at, attempt_id`
const decisionsOfRun = `select ${tables.decisions.columns}, mac from decisions
  where namespace = ? and run_id = ? order by +rowid`
const itemById = `select ${tables.items.columns} from inbox_items
  where namespace = ? and item_id = ?`

/** Within one transaction: an attempt may change its place. */
export function listAttempts(c: Connection, ref: RunRef): Sealed<Attempt>[] {
  const own = decodeSealed(c, tables.attempts, c.sql(attemptsOfRun).all(ref.namespace, ref.runId))
  return withFirst(own, firstOfRun(c, ref))
}

const evidenceOfRun = `select ${tables.evidence.columns}, mac from call_evidence
  where namespace = ? and workflow_id = ? order by +rowid`

export function listEvidence(c: Connection, ref: RunRef): Sealed<Evidence>[] {
  const rows = c.sql(evidenceOfRun).all(ref.namespace, ref.runId)
  return decodeSealed(c, tables.evidence, rows)
}

const checkpointsOfRun = `select ${tables.checkpoints.columnList
  .map((column) => (column === 'body_json' ? "'' as body_json" : column))
  .join(', ')}, length(cast(body_json as blob)) from checkpoints
  where namespace = ? and run_id = ? order by generation, visit`

export function listCheckpoints(c: Connection, ref: RunRef): CheckpointRow[] {
  return c
    .sql(checkpointsOfRun)
    .all(ref.namespace, ref.runId)
    .map((values) => {
      const { bodyJson: _, ...row } = tables.checkpoints.decode(values)
      return { ...row, bytes: values.at(-1) as number }
    })
}

export function listDecisions(c: Connection, ref: RunRef): Sealed<Decision>[] {
  const rows = c.sql(decisionsOfRun).all(ref.namespace, ref.runId)
  return decodeSealed(c, tables.decisions, rows)
}

export function getItem(c: Connection, namespace: string, itemId: string): Item | null {
  const row = c.sql(itemById).get(namespace, itemId)
  return row === undefined ? null : tables.items.decode(row)
}

/** One row more than asked for tells whether there is a next page; a row ends with its place. */
export function page(
  c: Connection,
  request: PageRequest,
  placeLength: number,
  select: (after: number[], count: number) => unknown[][],
) {
  const after = readCursor(request.cursor, placeLength)
  const count = Math.max(1, Math.min(request.countMax ?? limits.pageSize, limits.pageSizeMax))
  const rows = c.plain(() => select(after, count + 1))
  const shown = rows.slice(0, count)
  const place = shown.at(-1)?.slice(-placeLength) as number[] | undefined
  const next = rows.length > count && place ? writeCursor(place) : null
  return {
    map: <T>(decode: (row: unknown[]) => T): Page<T> => ({ items: shown.map(decode), next }),
    mapAll: <T>(decode: (rows: unknown[][]) => T[]): Page<T> => ({ items: decode(shown), next }),
  }
}

function writeCursor(place: readonly number[]): string {
  return Buffer.from(place.join(':')).toString('base64url')
}

function readCursor(cursor: string | undefined, placeLength: number): number[] {
  if (cursor === undefined) return Array.from({ length: placeLength }, () => -1)
  const place = Buffer.from(cursor, 'base64url').toString().split(':').map(Number)
  const whole = place.length === placeLength && place.every((n) => Number.isFinite(n) && n >= 0)
  if (whole && writeCursor(place) === cursor) return place
  throw errorFor('CURSOR_INVALID', cursor)
}
