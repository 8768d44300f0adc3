// What was lately done, for metrics.
import * as limits from '../../model/limits.ts'
import type { Recent } from '../store.ts'
import type { Connection } from './connection.ts'

export async function recent(c: Connection, namespace: string, since: number): Promise<Recent> {
  const s = c.schema
  const calls = `${s}.tool_call_results where created_at >= $2 and namespace = $1`
  const sum = (key: string) => `coalesce(sum((u.usage ->> '${key}')::float8), 0)`
  const [row] = await c.query(
    `select
       (select coalesce(json_agg(json_build_object('replayClass', replay_class, 'status', status,
          'count', n)), '[]')
        from (select replay_class, status, count(*) as n from ${calls}
          and tool_name not like 'counterfoil.%'
          group by replay_class, status) k) as calls,
       (select json_build_object('dispatched', coalesce(sum(attempt), 0),
          'repeated', coalesce(sum(greatest(attempt - 1, 0)), 0)) from ${calls}) as attempts,
       (select coalesce(json_agg(ms), '[]') from (
          select settled_at - created_at as ms from ${calls}
            and replay_class = 'unsafe_on_replay' and status = 'committed'
            and settled_at is not null and attempt > 0 limit $3) k) as unsafe,
       (select coalesce(json_agg(json_build_object('kind', kind, 'ms', closed_at - created_at)),
          '[]')
        from (select kind, closed_at, created_at from ${s}.inbox_items where namespace = $1
          order by id desc limit $3) k where closed_at >= $2) as waits,
       (select coalesce(json_agg(json_build_object('state', state, 'resumed', resumed,
          'count', n)), '[]')
        from (select state, fence > 1 as resumed, count(*) as n from ${s}.runs
          where state in ('completed', 'failed', 'cancelled') and ended_at is not null
            and swept is distinct from 'all' and ended_at >= $2 and namespace = $1
          group by state, fence > 1) k) as ended,
       (select json_build_object('tokensIn', ${sum('tokensIn')},
          'tokensOut', ${sum('tokensOut')}, 'usd', ${sum('usd')})
        from (select ${s}.as_jsonb(usage_json) as usage from ${calls}
          and usage_json is not null) u) as usage`,
    [namespace, since, limits.recentRowsMax],
  )
  const {
    calls: made,
    attempts,
    unsafe,
    waits,
    ended,
    usage,
  } = row as {
    calls: Recent['calls']
    attempts: Pick<Recent, 'dispatched' | 'repeated'>
    unsafe: Recent['unsafeMs']
    waits: Recent['waits']
    ended: Recent['ended']
    usage: Recent['usage']
  }
  return { calls: made, ...attempts, unsafeMs: unsafe, waits, ended, usage }
}
