// What the end of a visit changes in the run's row and items, as pure functions.

import { failureOf } from '../../model/errors.ts'
import { wellFormed } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { askKey } from '../../model/replay/entry.ts'
import type { Opening } from '../../model/replay/opening.ts'
import {
  type Item,
  isAsked,
  keyOf,
  type StopRequest,
  type Subject,
  type WaitingFor,
} from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { RunChange } from '../../store/store.ts'
import type { Waiting } from '../wait/spec.ts'
import type { NodeOutcome } from './types.ts'

/** A wish to stop, with the arrivals that include it. */
export interface Stopping {
  readonly request: StopRequest
  readonly arrivals: number
}

// An error may quote a whole page; the run's row is read and written at every step (B7).
const errorLengthMax = 16_384

function short(text: string): string {
  if (text.length <= errorLengthMax) return text
  return wellFormed(`${text.slice(0, errorLengthMax)}… (${text.length} characters)`)
}

/** The last change of a run. A branch that nobody awaited may have failed it as well. */
export function endChange(
  returned: NodeOutcome,
  unhandled: ReadonlyMap<unknown, unknown>,
): { change: RunChange; state: 'completed' | 'failed'; why: string } {
  const [lost] = unhandled.values()
  if (returned.kind !== 'failed' && unhandled.size === 0) {
    const outputJson = returned.kind === 'done' ? returned.outputJson : null
    return {
      change: { state: 'completed', outputJson },
      state: 'completed',
      why: 'its node returned',
    }
  }
  const said = failureOf(returned.kind === 'failed' ? returned.error : lost, 'failed')
  const failure = { ...said, name: short(said.name), message: short(said.message) }
  const change = { state: 'failed', errorJson: JSON.stringify(failure) } as const
  return { change, state: 'failed', why: failure.message }
}

/** An approval of this very call that was asked for in an earlier execution. */
export function openApproval(items: readonly Item[], subject: Subject): Item | null {
  const key = keyOf(subject)
  const isIt = ({ kind, state, body }: Item) =>
    kind === 'approval' && state === 'open' && body.subject !== null && keyOf(body.subject) === key
  return items.find(isIt) ?? null
}

/** Late evidence can settle a call while its item is being made. */
export function isSettled({ entries }: Opening, { reason, body: { subject } }: Item): boolean {
  if (reason !== 'unknown' || subject === null) return false
  return entries.get(keyOf(subject))?.settled != null
}

export function closedItem(item: Item, at: number, closedBy: string): Item {
  return { ...item, state: 'closed', version: item.version + 1, closedAt: at, closedBy }
}

/** A cancelled run leaves nothing open; a paused one finds its items again. */
export function stopChange(
  { to, by }: StopRequest,
  items: readonly Item[],
  now: number,
): { run: RunChange; items: Item[] } {
  const run = { state: to, release: true, progress: true } as const
  if (to === 'paused') {
    const waitingFor = { kind: 'operator', items: [], since: now, queue: '' } as const
    return { run: { ...run, waitingFor }, items: [] }
  }
  const open = items.filter((item) => item.state === 'open')
  const once = new Map(open.map((item) => [item.itemId, item]))
  const close = (item: Item) => closedItem(item, now, `the run was cancelled by ${by}`)
  return { run: { ...run, waitingFor: null }, items: [...once.values()].map(close) }
}

/**
 * Where a visit parks that has nothing left to do: before a person, if one is asked, else at what
 * it waits for; null if for nothing. A doubt stops the visit: only its decision wakes it.
 */
export function parkChange(
  items: readonly Item[],
  pauses: readonly Waiting[],
  inDoubt: boolean,
  now: number,
): { change: RunChange & { state: RunState }; why: string } | null {
  const wakeAt = inDoubt ? null : firstDue(pauses)
  const [item] = items
  if (item) {
    const waitingFor = waitingForItems(items, now)
    return { change: { state: 'waiting_human', waitingFor, wakeAt }, why: item.title }
  }
  const [first] = pauses
  if (first === undefined) return null
  const waitingFor = waitingForPauses(pauses, first)
  const why = `waits for ${first.kind === 'timer' ? 'its time' : `${first.kind} ${first.name}`}`
  return { change: { state: 'waiting_tool', waitingFor, wakeAt }, why }
}

function waitingForPauses(pauses: readonly Waiting[], first: Waiting): WaitingFor {
  const since = Math.min(...pauses.map((pause) => pause.since))
  const names = pauses.filter(({ kind }) => kind !== 'timer').map(({ name }) => name)
  const shown = names.slice(0, limits.waitingItemsMax)
  return { kind: first.kind, items: [], since, queue: '', names: shown }
}

function firstDue(pauses: readonly Waiting[]): number | null {
  const dues = pauses.flatMap(({ dueAt }) => dueAt ?? [])
  return dues.reduce<number | null>((least, due) => Math.min(least ?? due, due), null)
}

/**
 * Waits that a node's end need not wait for, because nobody is there to be told. Only a deferred
 * call has to end: it has an effect of this run. A child is a run of its own.
 */
export function idleCount(pauses: readonly Waiting[]): number {
  return pauses.filter(({ kind }) => kind !== 'callback').length
}

/** Whether a wait is over so soon that parking would cost more than staying. */
export function isNear(pauses: readonly Waiting[], now: number): boolean {
  const due = firstDue(pauses)
  return due !== null && due - now < limits.parkMsMin
}

/** The wait began with its first item, whatever has parked the run again since (E9). */
export function waitingForItems(items: readonly Item[], now: number): WaitingFor | null {
  const [first] = items
  if (first === undefined) return null
  const since = items.reduce((least, item) => Math.min(least, item.createdAt), now)
  const ids = items.slice(0, limits.waitingItemsMax).map((item) => item.itemId)
  return { kind: first.kind, items: ids, since, queue: first.queue }
}

/**
 * A held call that none of the branches asks for, when all of them wait: its input has moved. What
 * a node itself asked is not judged here: a branch may not have come to it again yet.
 */
export function isMoot(waits: readonly Item[], { kind, itemId, body }: Item): boolean {
  const held = kind === 'approval' && !isAsked(body.subject?.tool ?? '')
  return held && !waits.some((wait) => wait.itemId === itemId)
}

/** Calls that were failed without knowledge since the run was loaded. */
export function newlyUnresolved(
  before: readonly { tool: string; inputHash: string }[],
  now: ReadonlySet<string>,
): { tool: string; inputHash: string }[] {
  const known = new Set(before.map(askKey))
  return [...now]
    .filter((key) => !known.has(key))
    .map((key) => {
      const slash = key.indexOf('/')
      return { tool: key.slice(0, slash), inputHash: key.slice(slash + 1) }
    })
}
