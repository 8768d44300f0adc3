// What comes due (D6), and what waits for somebody.
import type { Item } from '../../model/run/records.ts'
import { woken } from '../rules/family.ts'
import type { Backlog, WakePass } from '../store.ts'
import { arrive } from './family.ts'
import { lapsedHolders } from './lease.ts'
import type { Connection } from './opening/connection.ts'
import * as tables from './tables.ts'

const firstWake = 'select min(wake_at) from runs where wake_at is not null'
const dueRuns = `select ${tables.runs.columns} from runs where wake_at <= ?
  order by wake_at limit ?`

/** Looks first without the lock: most passes find nothing. */
export function wakeDue(c: Connection, countMax: number): WakePass {
  const now = c.clock.now()
  const first = c.plain(() => firstOf(c))
  if (first === null || first > now || countMax <= 0) return { woken: 0, lagMs: 0, nextAt: first }
  return c.write(() => {
    const due = c.sql(dueRuns).all(now, countMax).map(tables.runs.decode)
    for (const run of due) arrive(c, run, woken(run, now, 'its time has come'))
    const since = due[0]?.wakeAt ?? now
    return { woken: due.length, lagMs: now - since, nextAt: firstOf(c) }
  })
}

function firstOf(c: Connection): number | null {
  return (c.sql(firstWake).get()?.[0] as number | null | undefined) ?? null
}

const overdueItems = `select ${tables.items.columns} from inbox_items
  where state = 'open' and overdue_at is null and due_at <= ? order by due_at limit ?`

export function listOverdue(c: Connection, countMax: number): Item[] {
  return c.sql(overdueItems).all(c.clock.now(), Math.max(0, countMax)).map(tables.items.decode)
}

const pendingRuns = `select count(*), min(updated_at) from runs where state = 'pending'`
const heldRuns = `select count(*) from runs where state = 'running' and worker_id = ?`
const wakingRuns = 'select count(*), min(wake_at) from runs where wake_at <= ?'
const openItems = `select count(*) from inbox_items where state = 'open'`
const lateItems = `select count(*) from inbox_items where state = 'open' and due_at <= ?`

/** Within one transaction. */
export function backlog(c: Connection): Backlog {
  const now = c.clock.now()
  const row = (sql: string, ...values: (string | number)[]) =>
    (c.sql(sql).get(...values) ?? []) as [number, (number | null)?]
  const [pending, oldestPendingAt = null] = row(pendingRuns)
  const orphans = lapsedHolders(c).map(({ holder }) => row(heldRuns, holder)[0])
  const [due, first = null] = row(wakingRuns, now)
  return {
    ...{ pending, oldestPendingAt, orphans: orphans.reduce((sum, count) => sum + count, 0) },
    ...{ due, dueLagMs: first === null ? 0 : now - first },
    ...{ openItems: row(openItems)[0], overdueItems: row(lateItems, now)[0] },
  }
}
