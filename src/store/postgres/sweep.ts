// What comes due, and what waits for somebody; the rules are functions/05_sweep.sql.
import * as limits from '../../model/limits.ts'
import type { Item } from '../../model/run/records.ts'
import { checkRetention } from '../rules/retention.ts'
import { sharedText } from '../seal.ts'
import type { Backlog, Retention, ShareAnswer, Shared, ShareKey, WakePass } from '../store.ts'
import type { Connection } from './opening/connection.ts'
import * as tables from './tables.ts'
import { clean } from './text.ts'

/** Deleting the rows of fifty long runs takes its time. */
const retainMs = 120_000
const documentsMax = 1_000

export async function wakeDue(c: Connection, countMax: number): Promise<WakePass> {
  const [row] = await c.call('wake_due', [countMax])
  const { woken, lag_ms: lagMs, next_at: nextAt } = row ?? {}
  return { woken, lagMs, nextAt } as WakePass
}

export async function listOverdue(c: Connection, countMax: number): Promise<Item[]> {
  // The time is asked for once, in a query of its own: else every open item is compared with it.
  const rows = await c.query(
    `select ${tables.items.columns} from ${c.schema}.inbox_items
     where state = 'open' and overdue_at is null and due_at is not null
       and due_at <= (select ${c.schema}.now_ms())
     order by due_at limit $1`,
    [countMax],
  )
  return rows.map(tables.items.decode)
}

export async function retain(c: Connection, keep: Retention, countMax: number): Promise<number> {
  checkRetention(keep)
  const { pureMs, keyedMs, unsafeMs } = keep
  await c.call('retain_documents', [limits.noticeKeepMs, documentsMax])
  return c.ask<number>('retain', [pureMs, keyedMs, unsafeMs, countMax], retainMs)
}

export async function backlog(c: Connection): Promise<Backlog> {
  const s = c.schema
  const [row] = await c.query(
    `with t as materialized (select ${s}.now_ms() as now)
     select
       (select json_build_array(count(*), min(updated_at)) from ${s}.runs
        where state = 'pending') as pending,
       (select count(*) from ${s}.runs r left join ${s}.workers w using (worker_id)
        where r.state = 'running' and r.worker_id is not null
          and (w.worker_id is null or w.died_at is not null or w.stopped_at is not null
            or w.lease_until <= t.now)) as orphans,
       (select json_build_array(count(*), coalesce(t.now - min(wake_at), 0)) from ${s}.runs
        where wake_at <= t.now) as due,
       (select json_build_array(count(*), count(*) filter (where due_at <= t.now))
        from ${s}.inbox_items where state = 'open') as items
     from t`,
  )
  const found = row as {
    pending: [count: number, oldestAt: number | null]
    due: [count: number, lagMs: number]
    items: [open: number, overdue: number]
    orphans: number
  }
  const [pending, oldestPendingAt] = found.pending
  const [due, dueLagMs] = found.due
  const [openItems, overdueItems] = found.items
  const { orphans } = found
  return { pending, oldestPendingAt, orphans, due, dueLagMs, openItems, overdueItems }
}

type Found = ({ do: 'use'; until: number; mac: string } & Shared) | { readonly do: 'make' | 'wait' }

export async function takeShare(
  c: Connection,
  key: ShareKey,
  workerId: string,
  makeMs: number,
): Promise<ShareAnswer> {
  const take = (forged: string | null) =>
    c.ask<Found>('take_share', [...keyOf(key), workerId, makeMs, forged])
  const found = await take(null)
  if (found.do !== 'use') return found
  const { resultJson, externalId, until, mac } = found
  const shared = { resultJson, externalId }
  await c.keys.meet([{ mac }])
  if (c.keys.sealer.verifies(mac, sharedText(key, shared, until))) return { do: 'use', shared }
  const again = await take(mac)
  return again.do === 'use' ? { do: 'wait' } : again
}

export async function putShare(
  c: Connection,
  key: ShareKey,
  workerId: string,
  shared: Shared | null,
  shareMs: number,
): Promise<void> {
  if (shared === null) {
    await c.call('put_share', [...keyOf(key), workerId, null, null, null, null])
    return
  }
  const until = c.clock.now() + shareMs
  const tidy = (text: string | null) => text && clean(text)
  const [resultJson, externalId] = [tidy(shared.resultJson), tidy(shared.externalId)]
  const mac = c.keys.sealer.shared(key, { resultJson, externalId }, until)
  await c.call('put_share', [...keyOf(key), workerId, resultJson, externalId, until, mac])
}

function keyOf({ namespace, tool, inputHash }: ShareKey): string[] {
  return [namespace, tool, inputHash]
}
