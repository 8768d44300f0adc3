// Writes rows, inside a transaction that someone else began, after policy.ts has agreed.
import type { Evidence, Run, RunRef, Signal } from '../../model/run/records.ts'
import * as finality from '../rules/finality.ts'
import { lastForms } from '../rules/finality.ts'
import { applyRunChange } from '../rules/policy.ts'
import * as schema from '../schema/index.ts'
import { columnsOf, insert, upsert } from '../sql/statements.ts'
import type { Changes, NewRun } from '../store.ts'
import { immutable, writeCalls } from './calls/write.ts'
import type { Connection } from './opening/connection.ts'
import type { SqlValue, Table } from './tables.ts'
import * as tables from './tables.ts'

const addRun = `${insert(schema.runs)} on conflict (namespace, run_id) do nothing`
const addEvent = insert(schema.events)
const addNotice = `${insert(schema.notices)} on conflict (namespace, notice_id) do nothing`
const putCheckpoint = upsert(schema.checkpoints)
const putEvidence = upsert(schema.evidence)
const putItem = upsert(schema.items)
const putDecision = upsert(schema.decisions)

/** False if there is a run with this id: then nothing was made. */
export function insertRun(c: Connection, { run, checkpoint, event }: NewRun): boolean {
  if (c.sql(addRun).run(...tables.runs.encode(run)).changes === 0) return false
  applyRows(c, { checkpoints: checkpoint === null ? [] : [checkpoint], events: [event] })
  return true
}

export function applyRows(c: Connection, changes: Changes): void {
  const attempts = lastForms(changes.attempts, finality.attempts)
  writeCalls(c, lastForms(changes.records, finality.records), attempts)
  putAll(c, putEvidence, tables.evidence, lastForms(changes.evidence, finality.evidence))
  putAll(c, putItem, tables.items, lastForms(changes.items, finality.items))
  putAll(c, putDecision, tables.decisions, lastForms(changes.decisions, finality.decisions))
  for (const row of lastForms(changes.signals, finality.signals)) writeSignal(c, row)
  for (const row of changes.events ?? []) c.sql(addEvent).run(...tables.events.encode(row))
  for (const row of changes.notices ?? []) c.sql(addNotice).run(...tables.notices.encode(row))
  for (const row of changes.checkpoints ?? []) {
    c.sql(putCheckpoint).run(...tables.checkpoints.encode(row))
  }
}

function putAll<T>(c: Connection, sql: string, codec: Table<T>, rows: readonly T[]): void {
  for (const row of rows) put(c, sql, valuesOf(c, codec, row))
}

/** The row's columns, and its MAC if rows of the table have one. */
function valuesOf<T>(c: Connection, codec: Table<T>, row: T): SqlValue[] {
  const values = codec.encode(row)
  if (codec.table.sealed !== null) values.push(c.sealer.row(codec.table, row))
  return values
}

const addSignal = insert(schema.signals)
const takeSignal = `update signals set used_by = ?, mac = ?
  where namespace = ? and run_id = ? and signal_id = ? and name = ? and data_json is ? and at = ?
    and (used_by is null or used_by = ?)`

/** Sent once, by a client; taken once, by the run, as what it was sent. */
function writeSignal(c: Connection, row: Signal): void {
  const { namespace, runId, signalId, name, dataJson, at, usedBy } = row
  const mac = c.sealer.row(schema.signals, row)
  if (usedBy === null) c.sql(addSignal).run(...tables.signals.encode(row), mac)
  else put(c, takeSignal, [usedBy, mac, namespace, runId, signalId, name, dataJson, at, usedBy])
}

const addEvidence = insert(schema.evidence)
const hasEvidence = `select 1 from call_evidence
  where namespace = ? and workflow_id = ? and attempt_id = ?`

/** What was said first about an attempt stays. */
export function writeNews(c: Connection, row: Evidence): void {
  const { namespace, runId, attemptId } = row
  if (c.sql(hasEvidence).get(namespace, runId, attemptId) !== undefined) return
  c.sql(addEvidence).run(...valuesOf(c, tables.evidence, row))
}

function put(c: Connection, sql: string, values: SqlValue[]): void {
  if (c.sql(sql).run(...values).changes === 0) throw immutable(c)
}

const place = ['version', 'state', 'node', 'generation', 'visit', 'fence', 'workerId'] as const
const results = ['outputJson', 'outputDigest', 'errorJson', 'waitingFor'] as const
const rare = [...place, ...results, 'reached', 'stop', 'wakeAt', 'endedAt', 'swept'] as const

const stamp = 'update runs set commit_id = ?, updated_at = ? where namespace = ? and run_id = ?'

export function touchRun(c: Connection, ref: RunRef, commitId: string): void {
  c.sql(stamp).run(commitId, c.clock.now(), ref.namespace, ref.runId)
}

const touch = `update runs set arrivals = ?, claims = ?, commit_id = ?, updated_at = ?
  where namespace = ? and run_id = ?`
// What never changes is left out: an index over it would be written again for nothing.
const fixed = columnsOf(schema.runs, schema.fixedOfRun)
const moving = tables.runs.columnList.flatMap((column, i) => (fixed.includes(column) ? [] : [i]))
const rewrite = `update runs set ${moving.map((i) => `${tables.runs.columnList[i]} = ?`).join(', ')}
  where namespace = ? and run_id = ?`

/** The run row after `changes`; most commits leave what is indexed as it is, and only touch it. */
export function changeRun(
  c: Connection,
  run: Run,
  changes: Changes,
  commitId: string | null,
): void {
  const next = { ...applyRunChange(run, changes, c.clock.now()), commitId }
  if (changes.run?.rewind) {
    c.sql(dropLater).run(run.namespace, run.runId, next.generation, next.visit)
  }
  putRun(c, run, next)
}

const dropLater = `delete from checkpoints
  where namespace = ? and run_id = ? and generation = ? and visit > ?`

export function putRun(c: Connection, run: Run, next: Run): void {
  const { namespace, runId } = run
  if (rare.every((key) => run[key] === next[key])) {
    c.sql(touch).run(next.arrivals, next.claims, next.commitId, next.updatedAt, namespace, runId)
  } else {
    const values = tables.runs.encode(next)
    c.sql(rewrite).run(...moving.map((i) => values[i]), namespace, runId)
  }
}
