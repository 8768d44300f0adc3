// What was lately done, for metrics: one statement, made of a select for each figure.
import * as limits from '../../model/limits.ts'
import type { Recent } from '../store.ts'
import type { Connection } from './opening/connection.ts'

export async function recent(c: Connection, namespace: string, since: number): Promise<Recent> {
  const { schema } = c
  const parts = { ...ofCalls(schema), ...ofEvents(schema), waits: waits(schema) }
  const columns = Object.entries(parts).map(([name, select]) => `(${select}) as "${name}"`)
  // The types of parameters that only some parts use.
  const given = 'where $1::text is not null and $2::float8 is not null and $3::bigint is not null'
  const [row] = await c.query(`select ${columns.join(',\n')} ${given}`, [
    ...[namespace, since, limits.recentRowsMax],
  ])
  return row as unknown as Recent
}

const rows = (fields: string, from: string) =>
  `select coalesce(json_agg(json_build_object(${fields})), '[]') from (${from}) k`

/** Only the attempt that landed tells it. */
const windowMs = (s: string, of = '') => `(${s}.as_jsonb(${of}usage_json) ->> 'windowMs')::float8`
const isReceipt = "replay_class = 'unsafe_on_replay' and status = 'committed'"

function ofCalls(s: string) {
  const calls = `${s}.tool_call_results where created_at >= $2 and namespace = $1`
  const ofTools = `${calls} and tool_name not like 'counterfoil.%'`
  const sum = (key: string) => `coalesce(sum((u.usage ->> '${key}')::float8), 0)`
  return {
    calls: rows(
      "'replayClass', replay_class, 'status', status, 'count', n",
      `select replay_class, status, count(*) as n from ${ofTools} group by replay_class, status`,
    ),
    attempts: rows(
      "'replayClass', replay_class, 'count', n, 'again', again",
      `select replay_class, sum(attempt) as n, sum(greatest(attempt - 1, 0)) as again
       from ${ofTools} group by replay_class`,
    ),
    unsafeMs: `select coalesce(json_agg(ms), '[]') from (
        select ${windowMs(s)} as ms from ${calls} and ${isReceipt} and usage_json is not null
        limit $3) k where ms is not null`,
    usage: `select json_build_object('tokensIn', ${sum('tokensIn')},
        'tokensOut', ${sum('tokensOut')}, 'usd', ${sum('usd')})
      from (select ${s}.as_jsonb(usage_json) as usage from ${calls}
        and usage_json is not null) u`,
  }
}

// In the words of the indexes, or they are not used.
const lately = "kind in ('taken_over', 'lease_lost', 'evidence_conflict')"
const isResume = "kind in ('taken_over', 'lease_lost')"

function ofEvents(s: string) {
  const told = (key: string) => `(d.said -> 'call' ->> '${key}')`
  return {
    resumes: rows(
      "'cause', cause, 'count', n",
      `select case kind when 'lease_lost' then kind
          else ${s}.as_jsonb(data_json) ->> 'cause' end as cause, count(*) as n
       from ${s}.events where namespace = $1 and at >= $2 and ${lately} and ${isResume}
       group by 1`,
    ),
    ended: rows(
      "'state', state, 'resumed', resumed, 'count', n",
      `select state, exists (select 1 from ${s}.events e where e.namespace = r.namespace
          and e.run_id = r.run_id and e.${isResume}) as resumed, count(*) as n
       from ${s}.runs r
       where state in ('completed', 'failed', 'cancelled') and ended_at is not null
         and swept is distinct from 'all' and ended_at >= $2 and namespace = $1
       group by 1, 2`,
    ),
    // An attempt landed against what was on record, and another attempt of its call landed too.
    duplicates: `select count(*)::float8 from ${s}.events e
        cross join lateral (select ${s}.as_jsonb(e.data_json) as said) d
        join ${s}.tool_call_results t on t.namespace = e.namespace and t.workflow_id = e.run_id
          and t.node_id = ${told('nodeId')} and t.checkpoint_id = ${told('checkpointId')}
          and t.tool_name = ${told('tool')} and t.input_hash = ${told('inputHash')}
          and t.occurrence = ${told('occurrence')}::bigint
      where e.namespace = $1 and e.at >= $2 and e.${lately} and e.kind = 'evidence_conflict'
        and d.said ->> 'outcome' = 'landed' and t.attempt <> ${told('attempt')}::bigint
        and t.${isReceipt} and ${windowMs(s, 't.')} is not null`,
  }
}

function waits(s: string): string {
  return rows(
    "'kind', kind, 'ms', closed_at - created_at",
    `select kind, closed_at, created_at from (
       select kind, closed_at, created_at from ${s}.inbox_items where namespace = $1
       order by id desc limit $3) i where closed_at >= $2`,
  )
}
