// What the end of a visit changes in the run's row and items, as pure functions.
import * as limits from '../model/limits.ts'
import { type Item, isAsked, type StopRequest, type WaitingFor } from '../model/records.ts'
import type { RunChange } from '../store/store.ts'

/** A wish to stop, with the arrivals that include it. */
export interface Stopping {
  readonly request: StopRequest
  readonly arrivals: number
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

/** The wait began with its first item, whatever has parked the run again since (E9). */
export function waitingForItems(items: readonly Item[], now: number): WaitingFor | null {
  const [first] = items
  if (first === undefined) return null
  const since = Math.min(now, ...items.map((item) => item.createdAt))
  const ids = items.slice(0, limits.waitingItemsMax).map((item) => item.itemId)
  return { kind: first.kind, items: ids, since, queue: first.queue }
}

/**
 * A held call that none of the branches asks for, when all of them wait: its input has moved. What a
 * node itself asked is not judged here: a branch may not have come to it again yet.
 */
export function isMoot(waits: readonly Item[], { kind, itemId, body }: Item): boolean {
  const held = kind === 'approval' && !isAsked(body.subject?.tool ?? '')
  return held && !waits.some((wait) => wait.itemId === itemId)
}

export function newlyUnresolved(
  before: readonly { tool: string; inputHash: string }[],
  now: ReadonlySet<string>,
): { tool: string; inputHash: string }[] {
  const known = new Set(before.map((row) => `${row.tool}/${row.inputHash}`))
  return [...now]
    .filter((key) => !known.has(key))
    .map((key) => {
      const slash = key.indexOf('/')
      return { tool: key.slice(0, slash), inputHash: key.slice(slash + 1) }
    })
}
