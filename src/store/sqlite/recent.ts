// What was lately done, for metrics. No index by time: the last rows by their place, so that a look
// costs the same however long the ledger is.
import * as limits from '../../model/limits.ts'
import type { Recent } from '../store.ts'
import type { Connection } from './opening/connection.ts'

const last = (table: string) =>
  `from ${table} where namespace = ?
    and rowid > (select ifnull(max(rowid), 0) - ${limits.recentRowsMax} from ${table})`

// What people, signals and clocks are asked for lies in the ledger too, and is no call of a tool.
const calls = `select replay_class, status, count(*) ${last('tool_call_results')}
  and created_at >= ? and tool_name not like 'counterfoil.%' group by replay_class, status`
const attempts = `select replay_class, sum(attempt), sum(max(attempt - 1, 0))
  ${last('tool_call_results')} and created_at >= ? and tool_name not like 'counterfoil.%'
  group by replay_class`
const windowMs = `iif(json_valid(usage_json), json_extract(usage_json, '$.windowMs'), null)`
const unsafe = `select ${windowMs} ${last('tool_call_results')} and created_at >= ?
  and replay_class = 'unsafe_on_replay' and status = 'committed' and ${windowMs} is not null`
const waits = `select kind, closed_at - created_at ${last('inbox_items')} and closed_at >= ?`
const part = (key: string) => `ifnull(sum(json_extract(usage_json, '$.${key}')), 0)`
const usage = `select ${part('tokensIn')}, ${part('tokensOut')}, ${part('usd')}
  ${last('tool_call_results')} and created_at >= ? and json_valid(usage_json)`

// In the words of the indexes, or they are not used.
const lately = "kind in ('taken_over', 'lease_lost', 'evidence_conflict')"
const isResume = "kind in ('taken_over', 'lease_lost')"
const cause = "iif(kind = 'lease_lost', kind, json_extract(data_json, '$.cause'))"
const resumes = `select ${cause}, count(*) from events
  where namespace = ? and at >= ? and ${lately} and ${isResume} group by ${cause}`
const resumed = `exists (select 1 from events e
  where e.namespace = r.namespace and e.run_id = r.run_id and e.${isResume})`
const ends = `select state, ${resumed}, count(*) from runs r
  where state in ('completed', 'failed', 'cancelled') and ended_at is not null
    and swept is not 'all' and namespace = ? and ended_at >= ? group by 1, 2`
const told = (key: string) => `json_extract(e.data_json, '$.call.${key}')`
// An attempt landed against what was on record, and another attempt of its call landed too.
const duplicates = `select count(*) from events e join tool_call_results t
  on t.namespace = e.namespace and t.workflow_id = e.run_id and t.node_id = ${told('nodeId')}
    and t.checkpoint_id = ${told('checkpointId')} and t.tool_name = ${told('tool')}
    and t.input_hash = ${told('inputHash')} and t.occurrence = ${told('occurrence')}
  where e.namespace = ? and e.at >= ? and e.${lately} and e.kind = 'evidence_conflict'
    and json_extract(e.data_json, '$.outcome') = 'landed' and t.attempt <> ${told('attempt')}
    and t.replay_class = 'unsafe_on_replay' and t.status = 'committed' and ${windowMs} is not null`

/** Within one transaction. */
export function recent(c: Connection, namespace: string, since: number): Recent {
  const rows = (sql: string) => c.sql(sql).all(namespace, since) as never[][]
  const [twice = 0] = rows(duplicates)[0] ?? []
  const [tokensIn = 0, tokensOut = 0, usd = 0] = rows(usage)[0] ?? []
  return {
    calls: rows(calls).map(([replayClass, status, count]) => {
      return { replayClass, status, count } as unknown as Recent['calls'][number]
    }),
    attempts: rows(attempts).map(([replayClass, count, again]) => {
      return { replayClass, count, again } as unknown as Recent['attempts'][number]
    }),
    duplicates: twice,
    unsafeMs: rows(unsafe).map(([ms = 0]) => ms),
    waits: rows(waits).map(([kind, ms]) => {
      return { kind, ms } as unknown as Recent['waits'][number]
    }),
    resumes: rows(resumes).map(([cause, count]) => {
      return { cause, count } as unknown as Recent['resumes'][number]
    }),
    ended: rows(ends).map(([state, resumed, count]) => {
      const known = { state, resumed: resumed === 1, count }
      return known as unknown as Recent['ended'][number]
    }),
    usage: { tokensIn, tokensOut, usd },
  }
}
