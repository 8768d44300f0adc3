// Writes rows, inside a transaction that someone else began, after policy.ts has agreed.
import type { CallRecord, Evidence, Run, RunRef, Signal } from '../../model/records.ts'
import * as finality from '../finality.ts'
import { lastForms } from '../finality.ts'
import { applyRunChange } from '../policy.ts'
import { isSigned } from '../seal.ts'
import type { Changes, NewRun } from '../store.ts'
import type { Connection } from './connection.ts'
import { storeError } from './errors.ts'
import type { SqlValue, Table } from './tables.ts'
import * as tables from './tables.ts'

function insert<T>(table: Table<T>, extra: readonly string[] = []): string {
  const columns = [...table.columnList, ...extra]
  const marks = columns.map(() => '?').join(', ')
  return `insert into ${table.name} (${columns.join(', ')}) values (${marks})`
}

interface Fixed {
  readonly key: readonly string[]
  /** Written once: a put that would change one of these is refused, not half obeyed. */
  readonly once?: readonly string[]
  readonly extra?: readonly string[]
}

/** Put whole. What an earlier form may not become is said by the triggers. */
function upsert<T>(table: Table<T>, { key, once = [], extra = [] }: Fixed): string {
  const rest = [...table.columnList, ...extra].filter(
    (column) => !key.includes(column) && !once.includes(column),
  )
  const set = rest.map((column) => `${column} = excluded.${column}`).join(', ')
  const same = once.map((column) => `${column} = excluded.${column}`).join(' and ')
  return `${insert(table, extra)} on conflict (${key.join(', ')}) do update set ${set} ${
    same && `where ${same}`
  }`
}

const recordKey = 'namespace workflow_id node_id checkpoint_id tool_name input_hash occurrence'
const putRecord = upsert(tables.records, {
  key: recordKey.split(' '),
  // To write it again would rewrite the index by time for nothing.
  once: ['created_at'],
  extra: ['mac'],
})
const attemptKey = ['namespace', 'workflow_id', 'attempt_id']
const putAttempt = upsert(tables.attempts, {
  key: attemptKey,
  once: ['attempt', 'fence', 'worker_id', 'outlives', 'quiet_ms', 'dispatched_at'],
  extra: ['mac'],
})
const putEvidence = upsert(tables.evidence, { key: attemptKey, extra: ['mac'] })
const putItem = upsert(tables.items, { key: ['namespace', 'item_id'], once: ['run_id'] })
const putDecision = upsert(tables.decisions, {
  key: ['namespace', 'run_id', 'decision_id'],
  extra: ['mac'],
})
const addEvent = insert(tables.events)
// A replay from an earlier checkpoint comes to the same visits again.
const putCheckpoint = upsert(tables.checkpoints, {
  key: ['namespace', 'run_id', 'generation', 'visit'],
})
const addNotice = `${insert(tables.notices)} on conflict (namespace, notice_id) do nothing`
const addRun = `${insert(tables.runs)} on conflict (namespace, run_id) do nothing`

/** False if there is a run with this id: then nothing was made. */
export function insertRun(c: Connection, { run, checkpoint, event }: NewRun): boolean {
  if (c.sql(addRun).run(...tables.runs.encode(run)).changes === 0) return false
  applyRows(c, { checkpoints: checkpoint === null ? [] : [checkpoint], events: [event] })
  return true
}

export function applyRows(c: Connection, changes: Changes): void {
  const { sealer } = c
  for (const row of lastForms(changes.records, finality.records))
    writeRecord(c, row, sealer.record(row))
  for (const row of lastForms(changes.attempts, finality.attempts)) {
    const mac = isSigned(row) ? sealer.attempt(row) : null
    put(c, putAttempt, [...tables.attempts.encode(row), mac])
  }
  for (const row of lastForms(changes.evidence, finality.evidence)) {
    put(c, putEvidence, [...tables.evidence.encode(row), sealer.evidence(row)])
  }
  for (const row of lastForms(changes.items, finality.items))
    put(c, putItem, tables.items.encode(row))
  for (const row of lastForms(changes.decisions, finality.decisions)) {
    put(c, putDecision, [...tables.decisions.encode(row), sealer.decision(row)])
  }
  for (const row of lastForms(changes.signals, finality.signals)) writeSignal(c, row)
  for (const row of changes.events ?? []) c.sql(addEvent).run(...tables.events.encode(row))
  for (const row of changes.notices ?? []) c.sql(addNotice).run(...tables.notices.encode(row))
  for (const row of changes.checkpoints ?? []) {
    c.sql(putCheckpoint).run(...tables.checkpoints.encode(row))
  }
}

const addSignal = insert(tables.signals, ['mac'])
const takeSignal = `update signals set used_by = ?, mac = ?
  where namespace = ? and run_id = ? and signal_id = ? and name = ? and data_json is ? and at = ?
    and (used_by is null or used_by = ?)`

/** Sent once, by a client; taken once, by the run, as what it was sent. */
function writeSignal(c: Connection, row: Signal): void {
  const { namespace, runId, signalId, name, dataJson, at, usedBy } = row
  const mac = c.sealer.signal(row)
  if (usedBy === null) c.sql(addSignal).run(...tables.signals.encode(row), mac)
  else put(c, takeSignal, [usedBy, mac, namespace, runId, signalId, name, dataJson, at, usedBy])
}

const addNews = `${insert(tables.evidence, ['mac'])}
  on conflict (namespace, workflow_id, attempt_id) do nothing`

/** What was said first about an attempt stays. */
export function writeNews(c: Connection, row: Evidence): void {
  c.sql(addNews).run(...tables.evidence.encode(row), c.sealer.evidence(row))
}

const addRecord = insert(tables.records, ['mac'])
const ends =
  'status seq result_json result_digest external_id error_json usage_json unresolved settled_at'
const isEnd = (column: string) => ends.split(' ').includes(column)
const endOf = tables.records.columnList.flatMap((column, i) => (isEnd(column) ? [i] : []))
const restOf = tables.records.columnList.flatMap((column, i) => (isEnd(column) ? [] : [i]))
const columnOf = (i: number) => tables.records.columnList[i]
// Everything else is as it was, or it is no receipt of that intent: the MAC covers all of it.
const settleRecord = `update tool_call_results
  set ${endOf.map((i) => `${columnOf(i)} = ?`).join(', ')}, mac = ?
  where ${restOf
    .map((i) => `${columnOf(i)} ${recordKey.split(' ').includes(columnOf(i) ?? '') ? '=' : 'is'} ?`)
    .join(' and ')}`

/**
 * A put of the whole row, by the statement that costs least: a first intent and a pure receipt are
 * new, a receipt changes only what an intent leaves open. Where that does not fit, the general
 * form.
 */
function writeRecord(c: Connection, row: CallRecord, mac: string): void {
  const settled = row.status === 'committed' || row.status === 'failed'
  const isNew = row.replayClass === 'pure' || (row.status === 'pending' && row.attempt <= 1)
  const values = [...tables.records.encode(row), mac]
  if (settled && !isNew && settle(c, values, mac)) return
  if (!isNew || !added(c, values)) put(c, putRecord, values)
}

/** False if the row is there already: then it is an earlier form of it that is put again. */
function added(c: Connection, values: SqlValue[]): boolean {
  try {
    c.sql(addRecord).run(...values)
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== 'SQLITE_CONSTRAINT_PRIMARYKEY') throw error
    return false
  }
}

function settle(c: Connection, values: readonly SqlValue[], mac: string): boolean {
  const [end, rest] = [endOf.map((i) => values[i]), restOf.map((i) => values[i])]
  return c.sql(settleRecord).run(...end, mac, ...rest).changes > 0
}

function put(c: Connection, sql: string, values: SqlValue[]): void {
  if (c.sql(sql).run(...values).changes > 0) return
  const says = 'row is final: a put would change what is written once (its making, its dispatch)'
  throw storeError('ROW_IMMUTABLE', c.path, { says })
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
const fixedOfRun =
  'namespace run_id graph input_hash trace_id parent_run_id parent_attempt_id started_by'
const fixed = [...fixedOfRun.split(' '), 'created_at']
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
