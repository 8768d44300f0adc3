// A turn at a checkpoint, on record. An invocation that sends from the checkpoint it began from
// says so in the store first, and holds the thread until it has put its next checkpoint or has
// stopped. Another one that began there puts nothing behind that checkpoint meanwhile: its put
// looks at the row in the same transaction. Else what the first has sent would be off the line, and
// the thread would never hear of it.

import { asidePrefix, bodySum, type Counterfoil } from '../../../index.ts'
import { errorFor, isCounterfoilError } from '../../../model/errors.ts'
import { canonical, sha256 } from '../../../model/json/canonical.ts'
import { leaseMs } from '../../../model/limits.ts'
import { keyOf } from '../saver/cache.ts'
import type { Space } from '../saver/chain.ts'
import { pause } from './heard.ts'
import { isDone, type Level, type Mark, markOf } from './line.ts'
import { ownerDone } from './turn.ts'

/** One for each space: the last turn. It is no checkpoint, and never the head. */
export const turnId = `${asidePrefix}turn`

/** A hold may be that of a process that has died: its lease ends within this. */
const waitMsMax = leaseMs + 5_000
const retryMs = 20
const retryMaxMs = 500
const triesMax = 20
const spacesMax = 10_000

interface Row {
  /** The checkpoint. */
  readonly at: string
  /** The invocation. */
  readonly by: string
  readonly sum: string
}

const rows = new WeakMap<Counterfoil, Map<string, Row | null>>()

/** As this process has seen them last. */
function seenIn(cf: Counterfoil): Map<string, Row | null> {
  const own = rows.get(cf) ?? new Map<string, Row | null>()
  rows.set(cf, own)
  const [oldest] = own.keys()
  if (own.size > spacesMax && oldest !== undefined) own.delete(oldest)
  return own
}

async function read(cf: Counterfoil, space: Space): Promise<Row | null> {
  const { threadId, space: name } = space
  const row = (await cf.threads.loadSteps({ threadId, space: name }, turnId)).at(-1)
  const { at, by } = row ? (JSON.parse(row.bodyJson) as { at: string; by: string }) : {}
  const found = row && at !== undefined && by !== undefined
  const seen = found ? { at, by, sum: bodySum(row.bodyJson) } : null
  seenIn(cf).set(keyOf(space), seen)
  return seen
}

/** From now on the turn at this checkpoint is that of the invocation. The thread is held. */
async function write(cf: Counterfoil, { threadId, space, stepId }: Level, by: string) {
  const place = { threadId, space }
  const bodyJson = canonical({ at: stepId, by })
  const made = { at: stepId, by, sum: bodySum(bodyJson) }
  const row = { ...place, stepId: turnId, parentId: null, whole: true, noteJson: '{}', bodyJson }
  let seen = seenIn(cf).get(keyOf(place)) ?? null
  for (let tries = 0; tries < triesMax; tries++) {
    if (seen?.sum === made.sum) return made
    const step = { ...row, createdAt: cf.store.clock.now() }
    if (await cf.threads.putStep(step, new Map([[turnId, seen?.sum ?? null]]))) {
      seenIn(cf).set(keyOf(place), made)
      return made
    }
    seen = await read(cf, place)
  }
  const what = `thread ${threadId} is being changed by others all the time. Nothing was sent`
  throw errorFor('THREAD_BUSY', what, { threadId })
}

/** Before anything is sent, with the thread in hold: nobody else puts behind where it began. */
export async function ownTurn(
  cf: Counterfoil,
  config: Parameters<typeof markOf>[0],
  levels: readonly Level[],
): Promise<void> {
  for (const level of levels) {
    const mark = markOf(config, level)
    if (mark === undefined || mark.fromId !== level.stepId || isDone(mark, level.stepId)) continue
    mark.rests()
    mark.turn ??= begin(cf, mark, level)
    await mark.turn.catch((error) => {
      mark.turn = null
      throw error
    })
  }
}

async function begin(cf: Counterfoil, mark: Mark, level: Level): Promise<void> {
  const by = nameOf(cf, mark)
  const scope = await cf.scope(idsOf(level, by))
  const end = () => void scope.close().catch(() => {}) // whoever needs the store is told
  mark.onDone = end
  if (isDone(mark, level.stepId)) end()
  await write(cf, level, by)
}

function nameOf(cf: Counterfoil, mark: Mark): string {
  mark.by ??= cf.store.clock.uuid()
  return mark.by
}

/** An invocation that nobody reads on from may make no further step: its hold ends all the same. */
export function restTurn(
  cf: Counterfoil,
  config: Parameters<typeof markOf>[0],
  levels: readonly Level[],
): void {
  for (const level of levels) {
    const mark = markOf(config, level)
    if (!mark?.turn) continue
    mark.rests()
    mark.rests = cf.store.clock.after(waitMsMax, () => mark.onDone?.())
  }
}

/** What a put counts on: the row of the turn as it is; undefined if that does not matter to it. */
export interface Stand {
  readonly sum: string | null | undefined
  /** Somebody else is at it, and does not end. */
  readonly aside: boolean
  end(): void
}

const free: Stand = { sum: undefined, aside: false, end: () => {} }

/** Waits until nobody else sends from the checkpoint that this invocation began from. */
export async function standAt(
  cf: Counterfoil,
  mark: Mark | undefined,
  parentId: string | null,
): Promise<Stand> {
  if (mark === undefined || parentId === null || mark.fromId !== parentId) return free
  const { threadId, space } = mark
  const level = { threadId, space, stepId: parentId }
  const until = cf.store.clock.mono() + waitMsMax
  for (;;) {
    if (!(await ownerDone(cf, mark, level, until))) return { ...free, aside: true }
    const row = seenIn(cf).get(keyOf(level)) ?? null
    if (row?.at !== parentId || row.by === mark.by) return { ...free, sum: row?.sum ?? null }
    const by = cf.store.clock.uuid()
    const scope = await held(cf, level, by, until)
    if (scope === null) return { ...free, aside: true }
    const end = () => void scope.close().catch(() => {})
    try {
      // Meanwhile somebody may have begun in this process, which has the hold then, too.
      if (await ownerDone(cf, mark, level, 0)) {
        const { sum } = await write(cf, level, nameOf(cf, mark))
        return { sum, aside: false, end }
      }
    } catch (error) {
      end()
      throw error
    }
    end()
  }
}

/** Whether the turn is another than a put has counted on. */
export async function hasTurned(cf: Counterfoil, space: Space, { sum }: Stand): Promise<boolean> {
  return sum !== undefined && ((await read(cf, space))?.sum ?? null) !== sum
}

async function held(cf: Counterfoil, level: Level, by: string, until: number) {
  for (let waitMs = retryMs; ; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
    try {
      return await cf.scope(idsOf(level, by))
    } catch (error) {
      if (!isCounterfoilError(error, 'SCOPE_HELD')) throw error
      if (cf.store.clock.mono() + waitMs > until) return null
      await pause(cf, waitMs)
    }
  }
}

function idsOf({ threadId, space, stepId }: Level, by: string) {
  const checkpointId = sha256(canonical([space, stepId, by]))
  return { workflowId: threadId, nodeId: 'turn', checkpointId }
}
