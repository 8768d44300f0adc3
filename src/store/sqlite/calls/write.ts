// Writes calls and their attempts, each put by the statement that costs least. Where an attempt
// lies is first-attempt.ts's to know; what a row may still become is said by triggers.
import type { Attempt, CallRecord } from '../../../model/run/records.ts'
import * as schema from '../../schema/index.ts'
import {
  isBare,
  mayFollow,
  type Placed,
  paired,
  type Sent,
  sentOf,
} from '../../sql/first-attempt.ts'
import { columnsOf, insert, upsert } from '../../sql/statements.ts'
import type { Connection } from '../opening/connection.ts'
import { storeError } from '../opening/errors.ts'
import type { SqlValue } from '../tables.ts'
import * as tables from '../tables.ts'
import { firstInCall } from './first.ts'

export function writeCalls(
  c: Connection,
  records: readonly CallRecord[],
  attempts: readonly Attempt[],
): void {
  const { sent, others } = paired(records, attempts)
  for (const record of records) {
    const attempt = sent.get(record)
    const made = writeRecord(c, record, sentOf(record, attempt))
    if (attempt && !made) writeAttempt(c, { attempt, record })
  }
  for (const one of others) writeAttempt(c, one)
}

const addRecord = insert(schema.records)
const recordKey = columnsOf(schema.records, schema.records.key)
const keyIs = recordKey.map((column) => `${column} = ?`).join(' and ')
const places = tables.records.columnList.map((column, i) => ({ column, i }))

const ends = columnsOf(schema.records, schema.endOfRecord)
const endOf = places.filter(({ column }) => ends.includes(column))
const restOf = places.filter(({ column }) => !ends.includes(column))
// Everything else is as it was, or it is no receipt of that intent: the MAC covers all of it.
const settleRecord = `update tool_call_results
  set ${endOf.map(({ column }) => `${column} = ?`).join(', ')}, mac = ?
  where ${restOf
    .map(({ column }) => `${column} ${recordKey.includes(column) ? '=' : 'is'} ?`)
    .join(' and ')}`

const never = columnsOf(schema.records, schema.records.final?.fixed ?? [])
const openOf = places.filter(({ column }) => ![...recordKey, ...never].includes(column))
const fixedOf = places.filter(({ column }) => [...recordKey, ...never].includes(column))
const changeRecord = `update tool_call_results
  set ${openOf.map(({ column }) => `${column} = ?`).join(', ')}, mac = ?
  where ${fixedOf.map(({ column }) => `${column} = ?`).join(' and ')}`

/**
 * A put of the whole row: a first intent and a pure receipt are new, a receipt changes only what an
 * intent leaves open. Where that does not fit, the general form. False if the row was there, so
 * that what was sent with it does not lie in it.
 */
function writeRecord(c: Connection, row: CallRecord, sent: Sent): boolean {
  const settled = row.status === 'committed' || row.status === 'failed'
  const isNew = row.replayClass === 'pure' || (row.status === 'pending' && row.attempt <= 1)
  const values = [...tables.records.encode(row), c.sealer.row(schema.records, row)]
  try {
    if (settled && !isNew && update(c, settleRecord, values, endOf, restOf)) return false
    if (isNew && added(c, values, sent)) return true
    if (update(c, changeRecord, values, openOf, fixedOf)) return false
    if (!isNew && added(c, values, sent)) return true
    throw immutable(c)
  } catch (error) {
    if (!isFinal(error) || !isThere(c, row, values)) throw error
    return false
  }
}

type Places = readonly { readonly i: number }[]

/** The MAC is the last value. */
function update(
  c: Connection,
  sql: string,
  values: readonly SqlValue[],
  set: Places,
  where: Places,
): boolean {
  const [to, from] = [set.map(({ i }) => values[i]), where.map(({ i }) => values[i])]
  return c.sql(sql).run(...to, values.at(-1), ...from).changes > 0
}

const kept: readonly unknown[] = ['SQLITE_CONSTRAINT_PRIMARYKEY', 'SQLITE_CONSTRAINT_TRIGGER']

/** False if there is a row already: an earlier form of it, or a final one. */
function added(c: Connection, values: readonly SqlValue[], sent: Sent): boolean {
  const { tail, outlives, quietMs, dispatchedAt } = sent
  try {
    const flag = outlives === null ? null : Number(outlives)
    c.sql(addRecord).run(...values, tail, flag, quietMs, dispatchedAt)
    return true
  } catch (error) {
    if (!kept.includes((error as { code?: string }).code)) throw error
    return false
  }
}

const refusals: readonly unknown[] = ['SQLITE_CONSTRAINT_TRIGGER', 'ROW_IMMUTABLE']

/** Of other errors SQLite may have taken the whole transaction back. */
function isFinal(error: unknown): boolean {
  return refusals.includes((error as { code?: unknown }).code)
}

const recordThere = `select ${tables.records.columns} from tool_call_results where ${keyIs}`

/** Whether it is put again as it is, by a commit that is written again (I4): that is no write. */
function isThere(c: Connection, row: CallRecord, values: readonly SqlValue[]): boolean {
  const found = c.sql(recordThere).get(...schema.records.key.map((name) => row[name]))
  return found?.every((value, i) => value === values[i]) ?? false
}

const putAttempt = upsert(schema.attempts)
const ownAttempt = `select 1 from tool_call_attempts
  where namespace = ? and workflow_id = ? and attempt_id = ?`

function writeAttempt(c: Connection, { attempt, record }: Placed): void {
  const { namespace, runId, attemptId } = attempt
  const mayLieInCall =
    attempt.attempt === 1 && c.sql(ownAttempt).get(namespace, runId, attemptId) === undefined
  const first = mayLieInCall ? firstInCall(c, attempt, record) : null
  if (first !== null) {
    if (!mayFollow(first, attempt)) throw immutable(c)
    if (isBare(attempt)) return
  }
  const values = [...tables.attempts.encode(attempt), c.sealer.row(schema.attempts, attempt)]
  if (c.sql(putAttempt).run(...values).changes === 0) throw immutable(c)
}

export function immutable(c: Connection): Error {
  const says = 'row is final: a put would change what is written once (its making, its dispatch)'
  return storeError('ROW_IMMUTABLE', c.path, { says })
}
