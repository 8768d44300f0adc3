// What becomes of an item whose time has come: its SLA is noted, it goes to another queue, or it
// expires. Pure functions over the run as it stands; the sweeper asks them under the row's lock, so
// that one decision or one expiry wins, and any of several sweepers may do it.

import type {
  ApprovalBody,
  Deadlines,
  Decision,
  Event,
  Item,
  Notice,
  Run,
  WaitingFor,
} from '../run/records.ts'
import { eventOf } from '../run/records.ts'
import { decided } from './decide.ts'
import { noticeAbout } from './notice.ts'

export interface DeadlineChanges {
  items: Item[]
  events: Event[]
  decisions?: Decision[]
  notices: Notice[]
  run?: { arrive?: true; state?: 'pending' | 'failed'; waitingFor?: WaitingFor | null }
}

/** An approval has its own; of other items the queue says. */
export function deadlinesOf({ body }: Pick<Item, 'body'>): Deadlines | null {
  return body.approval ?? body.deadlines ?? null
}

function withDeadlines(item: Item, change: Deadlines & Partial<ApprovalBody>): Item {
  const { approval } = item.body
  if (approval) return { ...item, body: { ...item.body, approval: { ...approval, ...change } } }
  const { deciders: _, ...deadlines } = change
  return { ...item, body: { ...item.body, deadlines } }
}

/** When it should have been decided, whatever else has a time. */
export function slaOf(item: Pick<Item, 'dueAt' | 'body'>): number | null {
  const slaAt = deadlinesOf(item)?.slaAt
  return slaAt === undefined ? item.dueAt : slaAt
}

/** When it was noticed that nobody had. */
export function slaPassedAt(item: Item): number | null {
  return deadlinesOf(item)?.slaPassedAt ?? item.overdueAt
}

/** The first deadline that is still to be obeyed. */
export function firstDeadline(of: Deadlines & Pick<ApprovalBody, 'expire'>): number | null {
  const { slaAt = null, slaPassedAt: passed, escalate, expire } = of
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
  const deadlines = deadlinesOf(passed.item)
  const moved = deadlines?.escalate && deadlines.escalate.at <= at
  const {
    item: next,
    events,
    notices,
    ...rest
  } = moved ? escalated(run, passed, deadlines, at) : passed
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
  const deadlines = deadlinesOf(item)
  const isDue = slaAt !== null && slaAt <= at && deadlines?.slaPassedAt === undefined
  if (!isDue) return { item, events: [], notices: [] }
  const { itemId, queue } = item
  const event = eventOf(run, at, 'sla_passed', { item: itemId, queue, due_at: slaAt })
  const noted =
    deadlines?.slaAt === undefined
      ? { ...item, overdueAt: at }
      : withDeadlines(item, { ...deadlines, slaPassedAt: at })
  const notice = noticeAbout(item, 'sla_passed', at, `${slaAt}`, { due_at: slaAt })
  return { item: noted, events: [event], notices: [notice] }
}

function escalated(run: Run, step: Step, deadlines: Deadlines, at: number): Step {
  const { escalate } = deadlines
  const { item } = step
  if (!escalate) return step
  const { queue, slaMs } = escalate
  const { slaPassedAt: passed, ...before } = deadlines
  const renewed =
    slaMs === null
      ? { ...(passed === undefined ? {} : { slaPassedAt: passed }) }
      : { slaAt: at + slaMs }
  const deciders = escalate.deciders ?? item.body.approval?.deciders ?? null
  const base = slaMs === null ? item : withoutPassed(item)
  const next: Item = {
    ...withDeadlines(base, {
      ...before,
      ...renewed,
      deciders,
      escalate: null,
      escalated: { from: item.queue, at },
    }),
    queue,
    version: item.version + 1,
  }
  const data = { item: item.itemId, from: item.queue, to: queue, deciders }
  const notice = noticeAbout(next, 'waiting_human', at, 'escalated', { escalated_from: item.queue })
  const events = [...step.events, eventOf(run, at, 'escalated', data)]
  const { waitingFor } = run
  const first =
    waitingFor?.items[0] === item.itemId ? { run: { waitingFor: { ...waitingFor, queue } } } : {}
  return { item: next, events, notices: [...step.notices, notice], ...first }
}

/** A new time begins: that the one before has passed is in the run's history. */
function withoutPassed(item: Item): Item {
  const { approval } = item.body
  if (approval === null) return item
  const { slaPassedAt: _, ...rest } = approval
  return { ...item, body: { ...item.body, approval: rest } }
}

/** Looked at again at the next deadline; without one, it is over with being noticed. */
function rescheduled(item: Item, at: number): Item {
  const deadlines = deadlinesOf(item)
  if (deadlines?.slaAt === undefined) return item
  const dueAt = firstDeadline(deadlines)
  if (dueAt !== null) return { ...item, dueAt, overdueAt: null }
  const overdueAt = deadlines.slaPassedAt === undefined ? null : at
  return { ...item, dueAt: deadlines.slaAt, overdueAt }
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
