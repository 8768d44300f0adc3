// What comes due, and what waits for somebody.
import type { Item } from '../../model/records.ts'
import { woken } from '../family.ts'
import type { Backlog, WakePass } from '../store.ts'
import type { Data, RunData } from './data.ts'
import { claimable } from './lease.ts'
import { itemsOf } from './read.ts'
import { put } from './write.ts'

/** Runs that have a time to wake, the earliest first. */
function sleepers(data: Data): { of: RunData; wakeAt: number }[] {
  return [...data.runs.values()]
    .flatMap((of) => (of.run.wakeAt === null ? [] : [{ of, wakeAt: of.run.wakeAt }]))
    .sort((a, b) => a.wakeAt - b.wakeAt)
}

export function wakeDue(data: Data, countMax: number): WakePass {
  const now = data.clock.now()
  const all = sleepers(data)
  const due = all.filter(({ wakeAt }) => wakeAt <= now).slice(0, countMax)
  for (const { of } of due) put(data, of, woken(of.run, now, 'its time has come'))
  const [first] = due
  const next = all[due.length]
  return {
    woken: due.length,
    lagMs: first === undefined ? 0 : now - first.wakeAt,
    nextAt: next?.wakeAt ?? null,
  }
}

export function openItems(data: Data): Item[] {
  return itemsOf(data).filter((item) => item.state === 'open')
}

export function isOverdue(data: Data, { dueAt }: Item): boolean {
  return dueAt !== null && dueAt <= data.clock.now()
}

export function listOverdue(data: Data, countMax: number): Item[] {
  return openItems(data)
    .filter((item) => item.overdueAt === null && isOverdue(data, item))
    .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
    .slice(0, countMax)
}

export function backlog(data: Data): Backlog {
  const now = data.clock.now()
  const all = [...data.runs.values()]
  const pending = all.filter((of) => of.run.state === 'pending').map((of) => of.run.updatedAt)
  const orphans = all.filter((of) => of.run.state === 'running' && claimable(data, of) !== null)
  const due = sleepers(data).filter(({ wakeAt }) => wakeAt <= now)
  const open = openItems(data)
  return {
    pending: pending.length,
    oldestPendingAt: pending.length === 0 ? null : pending.reduce((a, b) => Math.min(a, b)),
    orphans: orphans.length,
    due: due.length,
    dueLagMs: due[0] === undefined ? 0 : now - due[0].wakeAt,
    openItems: open.length,
    overdueItems: open.filter((item) => isOverdue(data, item)).length,
  }
}
