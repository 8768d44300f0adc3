// Reads what a visit needs, in one go; what the server does for it is 005_read.sql.
import type { Attempt, Checkpoint, Run, RunRef } from '../../model/records.ts'
import {
  attemptText,
  decisionText,
  evidenceText,
  isSigned,
  recordText,
  signalText,
} from '../seal.ts'
import type { LoadAt, Loaded, Sealed } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Columns, Table } from './tables.ts'
import * as tables from './tables.ts'

export async function selectRun(c: Connection, ref: RunRef): Promise<Run | null> {
  const text = `select ${tables.runs.columns} from ${c.schema}.runs
    where namespace = $1 and run_id = $2`
  const [row] = await c.query(text, [ref.namespace, ref.runId])
  return row === undefined ? null : tables.runs.decode(row)
}

/** Rows with the answer to "is its MAC right?". */
export async function decodeSealed<T extends object>(
  c: Connection,
  table: Table<T>,
  text: (row: T) => string,
  rows: readonly Columns[],
): Promise<Sealed<T>[]> {
  await c.keys.meet(rows)
  const { sealer } = c.keys
  return rows.map((columns) => {
    const row = table.decode(columns)
    return { ...row, verifies: sealer.verifies(columns['mac'] as string, text(row)) }
  })
}

/** Of an attempt that has no end and no token nothing is claimed: there is nothing to forge. */
export async function decodeAttempts(
  c: Connection,
  rows: readonly Columns[],
): Promise<Sealed<Attempt>[]> {
  await c.keys.meet(rows)
  const { sealer } = c.keys
  return rows.map((columns) => {
    const row = tables.attempts.decode(columns)
    const mac = columns['mac'] as string | null
    return { ...row, verifies: !isSigned(row) || sealer.verifies(mac, attemptText(row)) }
  })
}

/** The rows that the state at this visit is made of; none if the visit has no checkpoint. */
export async function selectChain(
  c: Connection,
  { namespace, runId }: RunRef,
  generation: number,
  visit: number,
): Promise<Checkpoint[]> {
  const rows = await c.call('chain_of_visit', [namespace, runId, generation, visit])
  return rows.map(tables.checkpoints.decode)
}

export async function load(c: Connection, ref: RunRef, at?: LoadAt): Promise<Loaded | null> {
  const { nodeId = null, checkpointId = null } = at?.scope ?? {}
  const place = [at?.visit ?? null, nodeId, checkpointId]
  return decodeLoaded(c, await c.ask('load_run', [ref.namespace, ref.runId, ...place]))
}

/** The server's answer: a list for each kind of row, null for none. */
type Answer = { readonly run: Columns } & Readonly<Record<string, Columns[] | null>>

export async function decodeLoaded(c: Connection, answer: unknown): Promise<Loaded | null> {
  if (answer === null || answer === undefined) return null
  const found = answer as Answer
  const rows = (kind: string) => found[kind] ?? []
  const sealed = <T extends object>(kind: string, table: Table<T>, text: (row: T) => string) =>
    decodeSealed(c, table, text, rows(kind))
  return {
    run: tables.runs.decode(found.run),
    checkpoints: rows('checkpoints').map(tables.checkpoints.decode),
    records: await sealed('records', tables.records, recordText),
    attempts: await decodeAttempts(c, rows('attempts')),
    evidence: await sealed('evidence', tables.evidence, evidenceText),
    items: rows('items').map(tables.items.decode),
    decisions: await sealed('decisions', tables.decisions, decisionText),
    signals: await sealed('signals', tables.signals, signalText),
    unresolved: rows('unresolved') as never,
    deaths: new Map(rows('deaths') as never),
  }
}
