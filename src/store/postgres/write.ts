// Puts changes into the form they travel in: one list of rows a table, signed, each row once.

import * as finality from '../rules/finality.ts'
import { lastForms } from '../rules/finality.ts'
import * as schema from '../schema/index.ts'
import { paired, sentOf } from '../sql/first-attempt.ts'
import type { Changes, NewRun, RunChange } from '../store.ts'
import type { Connection } from './opening/connection.ts'
import type { Columns, Table } from './tables.ts'
import * as tables from './tables.ts'

/** The rows of one commit or of a batch, as arguments of functions/02_commit.sql. */
export interface Rows {
  records: Columns[]
  attempts: Columns[]
  events: Columns[]
  checkpoints: Columns[]
  rest: { [kind: string]: Columns[] }
}

export function noRows(): Rows {
  return { records: [], attempts: [], events: [], checkpoints: [], rest: {} }
}

export function rowArguments(rows: Rows): (string | null)[] {
  const rest = Object.keys(rows.rest).length === 0 ? null : JSON.stringify(rows.rest)
  const lists = [rows.records, rows.attempts, rows.events, rows.checkpoints]
  // Columns in the order of tables.ts, the MAC last.
  return [...lists.map((list) => listLiteral(list.map((row) => Object.values(row)))), rest]
}

/** Rows as an array of a composite type. */
export function listLiteral(rows: readonly (readonly unknown[])[]): string | null {
  if (rows.length === 0) return null
  return `{${rows.map((row) => `"(${row.map(literal).join(',')})"`).join(',')}}`
}

/** A value inside a row inside a list: quoted twice. An empty one is null. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  return /["\\]/.test(value) ? `\\"${value.replace(special, twice)}\\"` : `\\"${value}\\"`
}

const special = /["\\]/g
const twice = (char: string) => (char === '"' ? '\\\\\\"' : '\\\\\\\\')

/** Adds the rows of a change. Nothing has been sent yet if it throws. */
export function addRows(c: Connection, to: Rows, changes: Changes): void {
  const { sealer } = c.keys
  const put = <T extends object>(
    into: Columns[],
    codec: Table<T>,
    rows: readonly T[] | undefined,
    once?: Pick<finality.Finality<T>, 'key'>,
  ) => {
    // One statement can put a row once.
    for (const given of once ? lastForms(rows, once) : (rows ?? [])) {
      const row = codec.tidy(given)
      const columns = codec.encode(row)
      if (codec.table.sealed) columns['mac'] = sealer.row(codec.table, row)
      into.push(columns)
    }
  }
  const rest = <T extends object>(
    kind: keyof Changes,
    codec: Table<T>,
    rows: readonly T[] | undefined,
    once?: Pick<finality.Finality<T>, 'key'>,
  ) => {
    if (rows === undefined || rows.length === 0) return
    to.rest[kind] ??= []
    put(to.rest[kind], codec, rows, once)
  }
  const tidy = <T extends object>(codec: Table<T>, rows: readonly T[]) => rows.map(codec.tidy)
  const records = tidy(tables.records, lastForms(changes.records, finality.records))
  const attempts = tidy(tables.attempts, lastForms(changes.attempts, finality.attempts))
  const { sent, others } = paired(records, attempts)
  for (const row of records) {
    const mac = sealer.row(schema.records, row)
    const { tail, outlives, quietMs, dispatchedAt } = sentOf(row, sent.get(row))
    const beside = { attempt_id: tail, outlives, quiet_ms: quietMs, dispatched_at: dispatchedAt }
    to.records.push({ ...tables.records.encode(row), mac, ...beside })
  }
  put(
    to.attempts,
    tables.attempts,
    others.map(({ attempt }) => attempt),
  )
  put(to.events, tables.events, changes.events)
  put(to.checkpoints, tables.checkpoints, changes.checkpoints, finality.checkpoints)
  rest('evidence', tables.evidence, changes.evidence, finality.evidence)
  rest('items', tables.items, changes.items, finality.items)
  rest('decisions', tables.decisions, changes.decisions, finality.decisions)
  rest('signals', tables.signals, changes.signals, finality.signals)
  // The first stays: the statement says so itself.
  rest('notices', tables.notices, changes.notices)
  const children = (changes.children ?? []).map(newColumns)
  if (children.length > 0) to.rest['children'] = [...(to.rest['children'] ?? []), ...children]
}

/** A run with its first checkpoint and event, as `add_new` takes it. */
export function newColumns({ run, checkpoint, event }: NewRun): Columns {
  const encoded = <T>(table: Table<T>, row: T) => table.encode(table.tidy(row))
  return {
    run: encoded(tables.runs, run),
    checkpoints: checkpoint === null ? [] : [encoded(tables.checkpoints, checkpoint)],
    events: [encoded(tables.events, event)],
  }
}

/** A change of the run's row, in the form of the type `run_change`. */
export function changeColumns(change: RunChange): Columns {
  const { state, node, visit, reached, arrive, release, progress, rewind } = change
  const columns: Columns = { state, node, visit, reached, arrive, release, progress, rewind }
  const run = tables.runs.encode(tables.runs.tidy(change as never))
  for (const [key, column] of settable) {
    if (change[key] === undefined) continue
    columns[`sets_${column}`] = true
    columns[column] = run[column]
  }
  return columns
}

const settable = [
  ['stop', 'stop'],
  ['waitingFor', 'waiting_for'],
  ['outputJson', 'output_json'],
  ['outputDigest', 'output_digest'],
  ['errorJson', 'error_json'],
  ['wakeAt', 'wake_at'],
] as const
