// Questions that the engine and the open store ask besides a run's own rows.
import { sha256 } from '../../model/json/canonical.ts'
import type { RunRef, Signal } from '../../model/run/records.ts'
import type { GraphRow, OpenCall, VersionRow } from '../store.ts'
import type { Connection } from './opening/connection.ts'
import { storeError } from './opening/errors.ts'
import * as tables from './tables.ts'

/** Looks first: a version is registered once and asked for at every opening. */
export async function registerGraph(c: Connection, row: GraphRow): Promise<GraphRow> {
  const known = await findGraph(c, row)
  if (known) return known
  const { namespace, name, version, fingerprint, contentJson, registeredAt } = row
  const content = { content_json: contentJson, registered_at: registeredAt }
  const columns = { namespace, name, version, fingerprint, ...content }
  await c.call('add_graph', [JSON.stringify(columns)])
  return (await findGraph(c, row)) ?? row
}

async function findGraph(c: Connection, row: GraphRow): Promise<GraphRow | null> {
  const [found] = await c.query(
    `select fingerprint, content_json, registered_at from ${c.schema}.graphs
     where namespace = $1 and name = $2 and version = $3`,
    [row.namespace, row.name, row.version],
  )
  if (found === undefined) return null
  return {
    ...row,
    fingerprint: found['fingerprint'] as string,
    contentJson: found['content_json'] as string,
    registeredAt: found['registered_at'] as number,
  }
}

export async function keyInput(
  c: Connection,
  ref: RunRef,
  tool: string,
  key: string,
): Promise<string | null> {
  const [row] = await c.query(
    `select input_hash, input_json from ${c.schema}.tool_call_results
     where workflow_id = $1 and idempotency_key = $2 and namespace = $3 and tool_name = $4
     order by id limit 1`,
    [ref.runId, key, ref.namespace, tool],
  )
  if (row === undefined) return null
  const { input_hash: hash, input_json: json } = row
  return json === null ? (hash as string) : sha256(json as string)
}

export async function openCalls(c: Connection, { namespace, runId }: RunRef): Promise<OpenCall[]> {
  const rows = await c.query(
    `select ${tables.records.columns} from ${c.schema}.tool_call_results
     where workflow_id = $1 and namespace = $2 and status in ('pending', 'in_doubt')
       and replay_class <> 'pure' order by id`,
    [runId, namespace],
  )
  return rows.map((row) => {
    const { nodeId, checkpointId, tool, inputHash, occurrence, nth, attempt, status, replayClass } =
      tables.records.decode(row)
    const call = { nodeId, checkpointId, tool, inputHash, occurrence, nth }
    return { ...call, attempt, status, replayClass }
  })
}

const blobColumns = [
  ['tool_call_results', 'result_digest'],
  ['call_evidence', 'result_digest'],
  ['checkpoints', 'body_digest'],
  ['runs', 'output_digest'],
] as const

export async function blobsInUse(c: Connection, digests: readonly string[]): Promise<Set<string>> {
  if (digests.length === 0) return new Set()
  const uses = blobColumns.map(
    ([table, column]) =>
      `exists (select 1 from ${c.schema}.${table} t where t.${column} = d.digest)`,
  )
  const rows = await c.query(
    `select d.digest from unnest($1::text[]) d (digest) where ${uses.join(' or ')}`,
    [digests],
  )
  return new Set(rows.map((row) => row['digest'] as string))
}

export async function findAttempt(
  c: Connection,
  tokenHash: string,
): Promise<(RunRef & { attemptId: string }) | null> {
  const [row] = await c.query(
    `select namespace, workflow_id, attempt_id from ${c.schema}.tool_call_attempts
     where token_hash = $1`,
    [tokenHash],
  )
  if (row === undefined) return null
  const { namespace, workflow_id: runId, attempt_id: attemptId } = row
  return { namespace, runId, attemptId } as RunRef & { attemptId: string }
}

export async function getSignal(
  c: Connection,
  { namespace, runId }: RunRef,
  signalId: string,
): Promise<Signal | null> {
  const [row] = await c.query(
    `select ${tables.signals.columns} from ${c.schema}.signals
     where namespace = $1 and run_id = $2 and signal_id = $3`,
    [namespace, runId, signalId],
  )
  return row === undefined ? null : tables.signals.decode(row)
}

export async function listVersions(c: Connection, namespace: string): Promise<VersionRow[]> {
  const rows = await c.query(
    `select coalesce(g.name, r.graph) as graph, coalesce(g.version, r.version) as version,
       g.registered_at, coalesce(r.states, '{}') as states
     from (select * from ${c.schema}.graphs where namespace = $1) g
     full join (
       select graph, version, json_object_agg(state, count) as states from (
         select graph, version, state, count(*) as count from ${c.schema}.runs
         where namespace = $1 group by graph, version, state) s
       group by graph, version) r on r.graph = g.name and r.version = g.version
     order by 1, 2`,
    [namespace],
  )
  return rows.map(({ graph, version, registered_at: registeredAt, states }) => {
    return { graph, version, registeredAt, states } as VersionRow
  })
}

/** Whoever keeps the keys rotates them: the new one at the end of what every process is given. */
export function rotateKey(c: Connection): never {
  const says =
    'its keys are given from outside, and cannot be rotated from here; put the new key at the ' +
    'end of COUNTERFOIL_KEY (or of `key`) yourself, after a comma'
  throw storeError('STORE_KEY_GIVEN', c.url, { says })
}
