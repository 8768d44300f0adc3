// Where a put or a task's writes stand: behind a checkpoint at which nobody else has the turn. They
// wait for whoever sends from it.
import type { Counterfoil } from '../../../index.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../../../model/errors.ts'
import { keyOf } from '../saver/cache.ts'
import type { Space } from '../saver/chain.ts'
import { pause } from './heard.ts'
import type { Level, Mark } from './line.ts'
import type { Finder } from './origin.ts'
import { waitMsMax } from './rest.ts'
import { ownerDone, ownerOf } from './turn.ts'
import { idsOf, type Place, placesAt, type Row, readRow, seenIn, writeRow } from './turn-row.ts'

const retryMs = 20
const retryMaxMs = 500

/** What a put counts on: the row of the turn as it is; undefined if that does not matter to it. */
export interface Stand {
  readonly sum: string | null | undefined
  /** Somebody else is at it, and does not end. */
  readonly aside: boolean
  /** Where calls are on record that were made from here. */
  readonly places: readonly Place[]
  end(): void
}

export const free: Stand = { sum: undefined, aside: false, places: [], end: () => {} }

/** Waits until nobody else sends from this checkpoint. */
export async function standAt(saver: Finder, mark: Mark, level: Level): Promise<Stand> {
  const { cf } = saver
  const until = cf.store.clock.mono() + waitMsMax
  for (;;) {
    if (isOwned(cf, mark, level)) mark.waited = true
    if (!(await ownerDone(cf, mark, level, until))) return { ...free, aside: true }
    const row = seenIn(cf).get(keyOf(level)) ?? null
    if (row?.at !== level.stepId || row.by === mark.by) return standOn(saver, row, level)
    const scope = await held(cf, mark, level, until)
    if (scope === null) return { ...free, aside: true }
    const end = () => void scope.close().catch(() => {})
    try {
      // Meanwhile somebody may have begun in this process, which has the hold then, too.
      if (!isOwned(cf, mark, level)) {
        return { ...(await standOn(saver, await writeRow(saver, mark, level, []), level)), end }
      }
    } catch (error) {
      end()
      throw error
    }
    end()
  }
}

async function standOn(saver: Finder, row: Row | null, level: Level): Promise<Stand> {
  return { ...free, sum: row?.sum ?? null, places: await placesAt(saver, row, level) }
}

/** Whether the turn is another than a put has counted on. */
export async function hasTurned(cf: Counterfoil, space: Space, { sum }: Stand): Promise<boolean> {
  return sum !== undefined && ((await readRow(cf, space))?.sum ?? null) !== sum
}

/** For a person's update of the latest state: it may be refused, because it is waited for. */
export async function checkFree(cf: Counterfoil, level: Level): Promise<void> {
  const row = await readRow(cf, level)
  if (ownerOf(cf, level) !== null) throw sending(level)
  if (row?.at !== level.stepId) return
  try {
    const scope = await cf.scope(idsOf(level, cf.store.clock.uuid()))
    await scope.close()
  } catch (error) {
    if (isCounterfoilError(error, 'SCOPE_HELD')) throw sending(level)
    // Nobody sends in a thread that is paused, or over.
    if (!isCounterfoilError(error, 'RUN_PAUSED') && !isCounterfoilError(error, 'RUN_ENDED')) {
      throw error
    }
  }
}

function sending({ threadId }: Level): CounterfoilError {
  const what =
    `the state of thread ${threadId} was not updated: a request sends something from its latest ` +
    'checkpoint just now. Wait until that has ended'
  return errorFor('THREAD_BUSY', what, { threadId })
}

function isOwned(cf: Counterfoil, mark: Mark, level: Level): boolean {
  const owner = ownerOf(cf, level)
  return owner !== null && owner !== mark
}

async function held(cf: Counterfoil, mark: Mark, level: Level, until: number) {
  for (let waitMs = retryMs; ; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
    try {
      return await cf.scope(idsOf(level, cf.store.clock.uuid()))
    } catch (error) {
      if (!isCounterfoilError(error, 'SCOPE_HELD')) throw error
      mark.waited = true
      if (cf.store.clock.mono() + waitMs > until) return null
      await pause(cf, waitMs)
    }
  }
}
