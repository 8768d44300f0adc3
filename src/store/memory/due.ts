// What comes due, and what waits for somebody.
import type { Item } from '../../model/run/records.ts'
import { woken } from '../rules/family.ts'
import type { Backlog, WakePass } from '../store.ts'
import { dueRuns, sleepers } from '../whole-runs/claims.ts'
import { isOverdue, overdueOf } from '../whole-runs/lists.ts'
import { type Data, mustFind } from './data.ts'
import { isFree } from './lease.ts'
import { itemsOf } from './read.ts'
import { put } from './write.ts'

export function wakeDue(data: Data, countMax: number): WakePass {
  const now = data.clock.now()
  const runs = [...data.runs.values()].map(({ run }) => run)
  const { due, pass } = dueRuns(runs, now, countMax)
  for (const run of due) put(data, mustFind(data, run), woken(run, now, 'its time has come'))
  return pass
}

export function listOverdue(data: Data, countMax: number): Item[] {
  return overdueOf(itemsOf(data), data.clock.now(), countMax)
}

export function backlog(data: Data): Backlog {
  const now = data.clock.now()
  const all = [...data.runs.values()]
  const pending = all.filter((of) => of.run.state === 'pending').map((of) => of.run.updatedAt)
  const orphans = all.filter((of) => of.run.state === 'running' && isFree(data, of))
  const due = sleepers(all.map((of) => of.run)).filter(({ wakeAt }) => wakeAt <= now)
  const open = itemsOf(data).filter((item) => item.state === 'open')
  return {
    pending: pending.length,
    oldestPendingAt: pending.length === 0 ? null : pending.reduce((a, b) => Math.min(a, b)),
    orphans: orphans.length,
    due: due.length,
    dueLagMs: due[0] === undefined ? 0 : now - due[0].wakeAt,
    openItems: open.length,
    overdueItems: open.filter((item) => isOverdue(item, now)).length,
  }
}
