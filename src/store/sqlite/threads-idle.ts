// Threads that nobody needs any more.

import { lapse } from './lease.ts'
import type { Connection } from './opening/connection.ts'

// By jumping: a few seeks for a thread, however many steps it has.
const idle = `with recursive thread (id) as (
    select min(thread_id) from thread_steps where namespace = :namespace
    union all
    select (
        select min(thread_id) from thread_steps
          where namespace = :namespace and thread_id > thread.id)
      from thread where thread.id is not null),
  last (id, at) as materialized (
    select id, (
        select max(created_at) from thread_steps where namespace = :namespace and thread_id = id)
      from thread where id is not null)
  select id, (
    select worker_id from runs where namespace = :namespace and run_id = id and state = 'running')
  from last where at < :before
    and not exists (
      select 1 from inbox_items where namespace = :namespace and run_id = id and +state = 'open')
    and not exists (
      select 1 from tool_call_results where workflow_id = id and namespace = :namespace
        and status in ('pending', 'in_doubt') and replay_class <> 'pure')
  order by at, id`

/** Within one transaction. The longest idle first. */
export function listIdle(
  c: Connection,
  namespace: string,
  before: number,
  countMax: number,
): string[] {
  const rows = c.sql(idle).all({ namespace, before }) as [string, string | null][]
  return rows
    .filter(([, holder]) => holder === null || lapse(c, holder) !== null)
    .slice(0, countMax)
    .map(([threadId]) => threadId)
}
