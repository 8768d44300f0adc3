// Questions that the engine and the open store ask besides a run's own rows.
import { sha256 } from '../../model/json/canonical.ts'
import type { RunRef, Signal } from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { GraphRow, OpenCall, VersionRow } from '../store.ts'
import type { Connection } from './opening/connection.ts'
import * as tables from './tables.ts'

const graphById = `select fingerprint, content_json, registered_at from graphs
  where namespace = ? and name = ? and version = ?`
const addGraph = `insert into graphs
  (namespace, name, version, fingerprint, content_json, registered_at) values (?, ?, ?, ?, ?, ?)`

/** Looks first without the lock: a version is registered once and asked for at every opening. */
export function registerGraph(c: Connection, row: GraphRow): GraphRow {
  const known = c.plain(() => findGraph(c, row))
  if (known) return known
  return c.write(() => {
    const meanwhile = findGraph(c, row)
    if (meanwhile) return meanwhile
    const { namespace, name, version, fingerprint, contentJson, registeredAt } = row
    c.sql(addGraph).run(namespace, name, version, fingerprint, contentJson, registeredAt)
    return row
  })
}

function findGraph(c: Connection, row: GraphRow): GraphRow | null {
  const found = c.sql(graphById).get(row.namespace, row.name, row.version)
  if (found === undefined) return null
  const [fingerprint, contentJson, registeredAt] = found as [string, string, number]
  return { ...row, fingerprint, contentJson, registeredAt }
}

const inputOfKey = `select input_hash, input_json from tool_call_results
  where workflow_id = ? and idempotency_key = ? and namespace = ? and tool_name = ?
  order by rowid limit 1`

export function keyInput(c: Connection, ref: RunRef, tool: string, key: string): string | null {
  const row = c.sql(inputOfKey).get(ref.runId, key, ref.namespace, tool)
  if (row === undefined) return null
  return row[1] === null ? (row[0] as string) : sha256(row[1] as string)
}

// By the index of a run's calls over time: a scan of the run within SQLite, and no index more for
// every intent to pay for.
const openOfRun = `select node_id, checkpoint_id, tool_name, input_hash, occurrence, nth, attempt,
  status, replay_class from tool_call_results
  where workflow_id = ? and namespace = ? and status in ('pending', 'in_doubt')
    and replay_class <> 'pure'`

export function openCalls(c: Connection, { namespace, runId }: RunRef): OpenCall[] {
  return c
    .sql(openOfRun)
    .all(runId, namespace)
    .map((row) => {
      const [nodeId, checkpointId, tool, inputHash, occurrence, nth, attempt] = row
      const [status, replayClass] = row.slice(7)
      const call = { nodeId, checkpointId, tool, inputHash, occurrence, nth, attempt }
      return { ...call, status, replayClass } as OpenCall
    })
}

const blobColumns = [
  ['tool_call_results', 'result_digest'],
  ['call_evidence', 'result_digest'],
  ['checkpoints', 'body_digest'],
  ['runs', 'output_digest'],
] as const

export function blobsInUse(c: Connection, digests: readonly string[]): Set<string> {
  const used = new Set<string>()
  for (const digest of digests) {
    const refers = blobColumns.some(
      ([table, column]) =>
        c.sql(`select 1 from ${table} where ${column} = ? limit 1`).get(digest) !== undefined,
    )
    if (refers) used.add(digest)
  }
  return used
}

// By the primary key of the run, so that a token of a run that was taken leads nowhere.
const attemptOfToken = `select a.namespace, a.workflow_id, a.attempt_id from tool_call_attempts a
  join runs r on r.namespace = a.namespace and r.run_id = a.workflow_id
  where a.token_hash = ? and r.swept is not 'all' limit 1`

export function findAttempt(
  c: Connection,
  tokenHash: string,
): (RunRef & { attemptId: string }) | null {
  const row = c.sql(attemptOfToken).get(tokenHash)
  if (row === undefined) return null
  const [namespace, runId, attemptId] = row as [string, string, string]
  return { namespace, runId, attemptId }
}

const signalById = `select ${tables.signals.columns} from signals
  where namespace = ? and run_id = ? and signal_id = ?`

export function getSignal(c: Connection, ref: RunRef, signalId: string): Signal | null {
  const row = c.sql(signalById).get(ref.namespace, ref.runId, signalId)
  return row === undefined ? null : tables.signals.decode(row)
}

const versionsKnown = 'select name, version, registered_at from graphs where namespace = ?'
const runsByVersion = `select graph, version, state, count(*) from runs where namespace = ?
  group by graph, version, state`

/** Within one transaction. It counts all runs of the namespace: for people, not for every turn. */
export function listVersions(c: Connection, namespace: string): VersionRow[] {
  const rows = new Map<string, VersionRow & { states: Partial<Record<RunState, number>> }>()
  for (const row of c.sql(versionsKnown).all(namespace)) {
    const [graph, version, registeredAt] = row as [string, string, number]
    rows.set(`${graph}@${version}`, { graph, version, registeredAt, states: {} })
  }
  for (const row of c.sql(runsByVersion).all(namespace)) {
    const [graph, version, state, count] = row as [string, string, RunState, number]
    const id = `${graph}@${version}`
    const known = rows.get(id) ?? { graph, version, registeredAt: null, states: {} }
    known.states[state] = count
    rows.set(id, known)
  }
  return [...rows.values()]
}
