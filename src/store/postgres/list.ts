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
import * as schema from '../schema/index.ts'
import { withFirst } from '../sql/first-attempt.ts'
import { besides } from '../sql/statements.ts'
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
import type { Connection } from './opening/connection.ts'
import { decodeSealed, firstIn, sendersIn } from './read.ts'
import type { Columns } from './tables.ts'
import * as tables from './tables.ts'

type PageRequest = Omit<ListRequest, 'namespace'>

export async function listRuns(c: Connection, filter: RunFilter): Promise<Page<Run>> {
  const { namespace, state, graph, parentRunId } = filter
  const where = conditions({ namespace, state, graph, parent_run_id: parentRunId })
  const { order, from } = direction(filter)
  const { idContains } = filter
  const search = idContains === undefined ? '' : `and strpos(run_id, ${where.mark(idContains)}) > 0`
  const page = await selectPage(c, filter, ['id'], (after) => {
    const next = after === null ? '' : `and id ${from} ${where.mark(after)}`
    return [
      `select ${tables.runs.columns}, id from ${c.schema}.runs
       where ${where.text} ${search} ${next} order by id ${order}`,
      where.values,
    ]
  })
  return { items: page.rows.map(tables.runs.decode), next: page.next }
}

function direction({ newestFirst = false }: { newestFirst?: boolean }) {
  return newestFirst ? { order: 'desc', from: '<' } : { order: 'asc', from: '>' }
}

export async function listItems(c: Connection, filter: ItemFilter): Promise<Page<Item>> {
  const { namespace, kind, runId, queue, state, overdue = false } = filter
  const open = state === 'open' || overdue
  const said = { namespace, kind, queue, run_id: runId, state: open ? undefined : state }
  const where = conditions(said)
  const { order, from } = direction(filter)
  // A literal, so that the partial index is recognised.
  const opened = open ? "and state = 'open'" : ''
  const late = overdue ? `and due_at <= ${c.schema}.now_ms()` : ''
  const page = await selectPage(c, filter, ['id'], (after) => {
    const next = after === null ? '' : `and id ${from} ${where.mark(after)}`
    return [
      `select ${tables.items.columns}, id from ${c.schema}.inbox_items
       where ${where.text} ${opened} ${late} ${next} order by id ${order}`,
      where.values,
    ]
  })
  return { items: page.rows.map(tables.items.decode), next: page.next }
}

export async function listRecords(
  c: Connection,
  ref: RunRef,
  request: PageRequest,
): Promise<Page<Sealed<CallRecord>>> {
  const where = conditions({ workflow_id: ref.runId, namespace: ref.namespace })
  // By time first, because the index by time then gives a page without sorting the run.
  const page = await selectPage(c, request, ['created_at', 'id'], (at, id) => {
    const next = at === null ? '' : `and (created_at, id) > (${where.mark(at)}, ${where.mark(id)})`
    return [
      `select ${tables.records.columns}, mac, id from ${c.schema}.tool_call_results
       where ${where.text} ${next} order by created_at, id`,
      where.values,
    ]
  })
  const items = await decodeSealed(c, tables.records, page.rows)
  return { items, next: page.next }
}

export async function listEvents(
  c: Connection,
  ref: RunRef,
  request: EventsRequest,
): Promise<Page<PlacedEvent>> {
  const where = conditions({ namespace: ref.namespace, run_id: ref.runId })
  const page = await selectPage(c, request, ['id'], (cursor) => {
    const after = Math.max(cursor ?? 0, request.after ?? 0)
    const next = `and id > ${where.mark(after)}`
    return [
      `select ${tables.events.columns}, id from ${c.schema}.events
       where ${where.text} ${next} order by id`,
      where.values,
    ]
  })
  const items = page.rows.map((row) => ({ ...tables.events.decode(row), id: row['id'] as number }))
  return { items, next: page.next }
}

function ofRun(
  c: Connection,
  table: { name: string; columns: string },
  { namespace, runId }: RunRef,
  column: 'workflow_id' | 'run_id',
  order: string,
): Promise<Columns[]> {
  return c.query(
    `select ${table.columns}, mac from ${c.schema}.${table.name}
     where namespace = $1 and ${column} = $2 order by ${order}`,
    [namespace, runId],
  )
}

export async function listAttempts(c: Connection, ref: RunRef): Promise<Sealed<Attempt>[]> {
  const { schema: s } = c
  const ofRun = 'where namespace = $1 and workflow_id = $2'
  // One statement, and so one moment: an attempt may change its place.
  const [found] = await c.query(
    `select (select json_agg(t order by t.dispatched_at, t.attempt_id) from (
         select * from ${s}.tool_call_attempts ${ofRun}) t) as own,
       (select json_agg(t) from (
         select ${[...sendersIn, ...besides(schema.records)].join(', ')}
         from ${s}.tool_call_results ${ofRun} and attempt = 1 and dispatched_at is not null
       ) t) as first`,
    [ref.namespace, ref.runId],
  )
  const rows = (name: string) => (found?.[name] ?? []) as Columns[]
  const own = await decodeSealed(c, tables.attempts, rows('own'))
  return withFirst(own, rows('first').flatMap(firstIn))
}

export async function listEvidence(c: Connection, ref: RunRef): Promise<Sealed<Evidence>[]> {
  const rows = await ofRun(c, tables.evidence, ref, 'workflow_id', 'id')
  return decodeSealed(c, tables.evidence, rows)
}

export async function listDecisions(c: Connection, ref: RunRef): Promise<Sealed<Decision>[]> {
  const rows = await ofRun(c, tables.decisions, ref, 'run_id', 'id')
  return decodeSealed(c, tables.decisions, rows)
}

export async function listCheckpoints(c: Connection, ref: RunRef): Promise<CheckpointRow[]> {
  const columns = tables.checkpoints.columns.replace('body_json', "'' as body_json")
  const rows = await c.query(
    `select ${columns}, octet_length(body_json) as bytes from ${c.schema}.checkpoints
     where namespace = $1 and run_id = $2 order by generation, visit`,
    [ref.namespace, ref.runId],
  )
  return rows.map((columns) => {
    const { bodyJson: _, ...row } = tables.checkpoints.decode(columns)
    return { ...row, bytes: columns['bytes'] as number }
  })
}

export async function getItem(
  c: Connection,
  namespace: string,
  itemId: string,
): Promise<Item | null> {
  const [row] = await c.query(
    `select ${tables.items.columns} from ${c.schema}.inbox_items
     where namespace = $1 and item_id = $2`,
    [namespace, itemId],
  )
  return row === undefined ? null : tables.items.decode(row)
}

/** Columns that must have a value, where one was asked for. */
export function conditions(asked: Record<string, string | undefined>) {
  const values: unknown[] = []
  const mark = (value: unknown) => `$${values.push(value)}`
  const given = Object.entries(asked).filter(([, value]) => value !== undefined)
  const text = given.map(([column, value]) => `${column} = ${mark(value)}`).join(' and ')
  return { text, values, mark }
}

/** One row more than asked for tells whether there is a next page. */
export async function selectPage(
  c: Connection,
  request: PageRequest,
  place: readonly string[],
  select: (...after: (number | null)[]) => [text: string, values: unknown[]],
): Promise<{ rows: Columns[]; next: string | null }> {
  const after = readCursor(request.cursor, place.length)
  const count = Math.max(1, Math.min(request.countMax ?? limits.pageSize, limits.pageSizeMax))
  const [text, values] = select(...after)
  const rows = await c.query(`${text} limit ${count + 1}`, values)
  const shown = rows.slice(0, count)
  const last = shown.at(-1)
  const next = rows.length > count && last ? writeCursor(place.map((name) => last[name])) : null
  return { rows: shown, next }
}

function writeCursor(place: readonly unknown[]): string {
  return Buffer.from(place.join(':')).toString('base64url')
}

function readCursor(cursor: string | undefined, placeLength: number): (number | null)[] {
  if (cursor === undefined) return Array.from({ length: placeLength }, () => null)
  const place = Buffer.from(cursor, 'base64url').toString().split(':').map(Number)
  const whole = place.length === placeLength && place.every((n) => Number.isFinite(n) && n >= 0)
  if (whole && writeCursor(place) === cursor) return place
  throw errorFor('CURSOR_INVALID', cursor)
}
