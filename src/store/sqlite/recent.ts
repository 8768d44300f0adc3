// What was lately done, for metrics. No index by time: the last rows by their place, so that a look
// costs the same however long the ledger is.
import * as limits from '../../model/limits.ts'
import type { Recent } from '../store.ts'
import type { Connection } from './connection.ts'

const last = (table: string) =>
  `from ${table} where namespace = ?
    and rowid > (select ifnull(max(rowid), 0) - ${limits.recentRowsMax} from ${table})`

// What people, signals and clocks are asked for lies in the ledger too, and is no call of a tool.
const calls = `select replay_class, status, count(*) ${last('tool_call_results')}
  and created_at >= ? and tool_name not like 'counterfoil.%' group by replay_class, status`
const attempts = `select ifnull(sum(attempt), 0), ifnull(sum(max(attempt - 1, 0)), 0)
  ${last('tool_call_results')} and created_at >= ?`
const unsafe = `select settled_at - created_at ${last('tool_call_results')} and created_at >= ?
  and replay_class = 'unsafe_on_replay' and status = 'committed' and settled_at is not null
  and attempt > 0`
const waits = `select kind, closed_at - created_at ${last('inbox_items')} and closed_at >= ?`
const ends = `select state, fence > 1, count(*) from runs
  where state in ('completed', 'failed', 'cancelled') and ended_at is not null
    and namespace = ? and ended_at >= ? group by state, fence > 1`
const part = (key: string) => `ifnull(sum(json_extract(usage_json, '$.${key}')), 0)`
const usage = `select ${part('tokensIn')}, ${part('tokensOut')}, ${part('usd')}
  ${last('tool_call_results')} and created_at >= ? and json_valid(usage_json)`

/** Within one transaction. */
export function recent(c: Connection, namespace: string, since: number): Recent {
  const rows = (sql: string) => c.sql(sql).all(namespace, since) as never[][]
  const [dispatched = 0, repeated = 0] = rows(attempts)[0] ?? []
  const [tokensIn = 0, tokensOut = 0, usd = 0] = rows(usage)[0] ?? []
  return {
    calls: rows(calls).map(([replayClass, status, count]) => {
      return { replayClass, status, count } as unknown as Recent['calls'][number]
    }),
    ...{ dispatched, repeated },
    unsafeMs: rows(unsafe).map(([ms = 0]) => ms),
    waits: rows(waits).map(([kind, ms]) => {
      return { kind, ms } as unknown as Recent['waits'][number]
    }),
    ended: rows(ends).map(([state, resumed, count]) => {
      const known = { state, resumed: resumed === 1, count }
      return known as unknown as Recent['ended'][number]
    }),
    usage: { tokensIn, tokensOut, usd },
  }
}
