// What becomes of an item whose time has come: its SLA is noted, it goes to another queue, or it
// expires. Pure functions over the run as it stands; the sweeper asks them under the row's lock, so
// that one decision or one expiry wins, and any of several sweepers may do it.
import { decided } from './decide.ts'
import { noticeAbout } from './notice.ts'
import type { ApprovalBody, Decision, Event, Item, Notice, Run, WaitingFor } from './records.ts'
import { eventOf } from './records.ts'

export interface DeadlineChanges {
  items: Item[]
  events: Event[]
  decisions?: Decision[]
  notices: Notice[]
  run?: { arrive?: true; state?: 'pending' | 'failed'; waitingFor?: WaitingFor | null }
}

/** When it should have been decided, whatever else has a time. */
export function slaOf({ dueAt, body: { approval } }: Pick<Item, 'dueAt' | 'body'>): number | null {
  return approval?.slaAt === undefined ? dueAt : approval.slaAt
}

/** When it was noticed that nobody had. */
export function slaPassedAt({ overdueAt, body: { approval } }: Item): number | null {
  return approval?.slaPassedAt ?? overdueAt
}

/** The first deadline that is still to be obeyed. */
export function firstDeadline(approval: ApprovalBody): number | null {
  const { slaAt = null, slaPassedAt: passed, escalate, expire } = approval
  const times = [passed === undefined ? slaAt : null, escalate?.at ?? null, expire?.at ?? null]
  return times.reduce((least, at) => (at !== null && at < (least ?? at + 1) ? at : least), null)
}

/** All that is due of it by now; null if somebody has done it. */
export function passDeadlines(
  run: Run,
  item: Item,
  made: { at: number; decisionId: string },
): DeadlineChanges | null {
  const { at } = made
  if (item.state !== 'open' || item.overdueAt !== null) return null
  if (item.dueAt === null || item.dueAt > at) return null
  const passed = noteSla(run, item, at)
  const { approval } = passed.item.body
  if (approval?.expire && approval.expire.at <= at) return expired(run, passed, approval, made)
  const moved = approval?.escalate && approval.escalate.at <= at
  const {
    item: next,
    events,
    notices,
    ...rest
  } = moved ? escalated(run, passed, approval, at) : passed
  return { items: [rescheduled(next, at)], events, notices, ...rest }
}

interface Step {
  readonly item: Item
  readonly events: Event[]
  readonly notices: Notice[]
  readonly run?: { waitingFor: WaitingFor }
}

function noteSla(run: Run, item: Item, at: number): Step {
  const slaAt = slaOf(item)
  const { approval } = item.body
  const isDue = slaAt !== null && slaAt <= at && approval?.slaPassedAt === undefined
  if (!isDue) return { item, events: [], notices: [] }
  const { itemId, queue } = item
  const event = eventOf(run, at, 'sla_passed', { item: itemId, queue, due_at: slaAt })
  const noted =
    approval?.slaAt === undefined
      ? { ...item, overdueAt: at }
      : { ...item, body: { ...item.body, approval: { ...approval, slaPassedAt: at } } }
  const notice = noticeAbout(item, 'sla_passed', at, `${slaAt}`, { due_at: slaAt })
  return { item: noted, events: [event], notices: [notice] }
}

function escalated(run: Run, step: Step, approval: ApprovalBody, at: number): Step {
  const { escalate } = approval
  const { item } = step
  if (!escalate) return step
  const { queue, slaMs } = escalate
  const { slaPassedAt: passed, ...before } = approval
  const renewed =
    slaMs === null
      ? { ...(passed === undefined ? {} : { slaPassedAt: passed }) }
      : { slaAt: at + slaMs }
  const now: ApprovalBody = {
    ...before,
    ...renewed,
    deciders: escalate.deciders ?? approval.deciders,
    escalate: null,
    escalated: { from: item.queue, at },
  }
  const next: Item = {
    ...item,
    queue,
    version: item.version + 1,
    body: { ...item.body, approval: now },
  }
  const data = { item: item.itemId, from: item.queue, to: queue, deciders: now.deciders }
  const notice = noticeAbout(next, 'waiting_human', at, 'escalated', { escalated_from: item.queue })
  const events = [...step.events, eventOf(run, at, 'escalated', data)]
  const { waitingFor } = run
  const first =
    waitingFor?.items[0] === item.itemId ? { run: { waitingFor: { ...waitingFor, queue } } } : {}
  return { item: next, events, notices: [...step.notices, notice], ...first }
}

/** Looked at again at the next deadline; without one, it is over with being noticed. */
function rescheduled(item: Item, at: number): Item {
  const { approval } = item.body
  if (approval?.slaAt === undefined) return item
  const dueAt = firstDeadline(approval)
  if (dueAt !== null) return { ...item, dueAt, overdueAt: null }
  const overdueAt = approval.slaPassedAt === undefined ? null : at
  return { ...item, dueAt: approval.slaAt, overdueAt }
}

/** The machine's own decision, signed like any other. */
function expired(
  run: Run,
  { item, events, notices }: Step,
  { expire }: ApprovalBody,
  made: { at: number; decisionId: string },
): DeadlineChanges {
  const as = expire?.as ?? 'reject'
  const why = `nobody decided before ${new Date(expire?.at ?? made.at).toISOString()}`
  const said = {
    outcome: 'expire' as const,
    result: as,
    by: 'counterfoil',
    reason: why,
    version: item.version,
  }
  const changes = decided(run, item, said, made)
  return { ...changes, events: [...events, ...changes.events], notices }
}
