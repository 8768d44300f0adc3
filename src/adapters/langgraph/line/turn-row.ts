// A turn at a checkpoint, on record. An invocation that sends from a checkpoint says so in the
// store first, with the places of its calls, and holds the thread until it has put its next
// checkpoint or has stopped. Another one that is there too puts nothing behind that checkpoint
// meanwhile: its put looks at the row in the same transaction. Else what the first has sent would
// be off the line, and the thread would never hear of it.
import { asidePrefix, bodySum, type Counterfoil, type Scope } from '../../../index.ts'
import { errorFor } from '../../../model/errors.ts'
import { canonical, sha256 } from '../../../model/json/canonical.ts'
import { keyOf } from '../saver/cache.ts'
import type { Space } from '../saver/chain.ts'
import { insisted } from './heard.ts'
import { isDone, type Level, type Mark, type Turn } from './line.ts'
import { type Finder, isSameOrigin } from './origin.ts'
import { moved } from './turn.ts'

/** One for each space: the last turn. It is no checkpoint, and never the head. */
export const turnId = `${asidePrefix}turn`

const triesMax = 20
const spacesMax = 10_000

/** Where calls of a task are on record: a scope of the thread. */
export interface Place {
  /** In the graph whose checkpoint it is. */
  readonly task: string
  readonly nodeId: string
  readonly checkpointId: string
}

export interface Row {
  /** The checkpoint. */
  readonly at: string
  /** The invocation. */
  readonly by: string
  /** Of unsafe and keyed calls that were made from it, or were about to be. */
  readonly places: readonly Place[]
  readonly sum: string
}

const rows = new WeakMap<Counterfoil, Map<string, Row | null>>()

/** As this process has seen them last. */
export function seenIn(cf: Counterfoil): Map<string, Row | null> {
  const own = rows.get(cf) ?? new Map<string, Row | null>()
  rows.set(cf, own)
  const [oldest] = own.keys()
  if (own.size > spacesMax && oldest !== undefined) own.delete(oldest)
  return own
}

export async function readRow(cf: Counterfoil, space: Space): Promise<Row | null> {
  const { threadId, space: name } = space
  const row = (await cf.threads.loadSteps({ threadId, space: name }, turnId)).at(-1)
  const { at, by, places = [] } = (row ? JSON.parse(row.bodyJson) : {}) as Partial<Row>
  const found = row && at !== undefined && by !== undefined
  const seen = found ? { at, by, places, sum: bodySum(row.bodyJson) } : null
  seenIn(cf).set(keyOf(space), seen)
  return seen
}

export function placeKey({ nodeId, checkpointId }: Omit<Place, 'task'>): string {
  return JSON.stringify([nodeId, checkpointId])
}

/** The places of a row that calls made from this checkpoint have to do with. */
export async function placesAt(
  saver: Finder,
  row: Row | null,
  level: Level,
): Promise<readonly Place[]> {
  if (row === null || row.places.length === 0) return []
  return (await isSameOrigin(saver, level, row.at)) ? row.places : []
}

/** What is still to be written of a turn, together: calls that are made side by side. */
interface Due {
  readonly places: Place[]
  readonly written: Promise<Row>
}

const writing = new WeakMap<Mark, Due>()
const before = new WeakMap<Mark, Promise<unknown>>()

/**
 * From now on the turn at this checkpoint is that of the invocation, and its calls are on record at
 * these places as well. The thread is held.
 */
export function writeRow(
  saver: Finder,
  mark: Mark,
  level: Level,
  places: readonly Place[],
): Promise<Row> {
  const due = writing.get(mark)
  if (due) {
    due.places.push(...places)
    return due.written
  }
  const all = [...places]
  const last = before.get(mark) ?? Promise.resolve()
  const written = last.then(() => {
    writing.delete(mark)
    return write(saver, mark, level, all)
  })
  writing.set(mark, { places: all, written })
  before.set(
    mark,
    written.catch(() => {}),
  )
  return written
}

async function write(saver: Finder, mark: Mark, level: Level, more: readonly Place[]) {
  const { cf } = saver
  const { threadId, space, stepId } = level
  const place = { threadId, space }
  const by = nameOf(cf, mark)
  let seen = seenIn(cf).get(keyOf(place)) ?? null
  for (let tries = 0; tries < triesMax; tries++) {
    const known = await placesAt(saver, seen, level)
    const added = more.filter((one) => !known.some((each) => isSame(each, one)))
    if (seen?.at === stepId && seen.by === by && added.length === 0) return seen
    const places = [...known, ...added]
    const bodyJson = canonical({ at: stepId, by, places })
    const row = { ...place, stepId: turnId, parentId: null, whole: true, noteJson: '{}', bodyJson }
    const step = { ...row, createdAt: cf.store.clock.now() }
    const as = new Map([[turnId, seen?.sum ?? null]])
    if (await insisted(cf, () => cf.threads.putStep(step, as))) {
      const made = { at: stepId, by, places, sum: bodySum(bodyJson) }
      seenIn(cf).set(keyOf(place), made)
      return made
    }
    seen = await readRow(cf, place)
  }
  const what = `thread ${threadId} is being changed by others all the time. Nothing was sent`
  throw errorFor('THREAD_BUSY', what, { threadId })
}

function isSame(a: Place, b: Place): boolean {
  return a.task === b.task && placeKey(a) === placeKey(b)
}

function nameOf(cf: Counterfoil, mark: Mark): string {
  mark.by ??= cf.store.clock.uuid()
  return mark.by
}

/** Before anything is sent: nobody else puts behind the checkpoint that it is sent from. */
export async function ownTurn(
  saver: Finder,
  mark: Mark,
  level: Level,
  places: readonly Place[],
  tool: string,
): Promise<void> {
  if (isDone(mark, level.stepId)) return
  if (mark.turn?.stepId !== level.stepId) mark.turn = begin(saver.cf, level)
  const { turn } = mark
  turn.rests()
  try {
    await turn.begun
  } catch (error) {
    if (mark.turn === turn) mark.turn = null
    throw error
  }
  await writeRow(saver, mark, level, places)
  // An invocation that was set aside while it waited for the hold sends nothing.
  if (mark.late) throw moved(tool, level.threadId)
}

function begin(cf: Counterfoil, level: Level): Turn {
  let scope: Scope | null = null
  let isOver = false
  let closing = Promise.resolve()
  const end = () => {
    isOver = true
    if (scope !== null) closing = scope.close().catch(() => {}) // whoever needs the store is told
    scope = null
  }
  const begun = cf.scope(idsOf(level, cf.store.clock.uuid())).then((held) => {
    scope = held
    if (isOver) end()
  })
  begun.catch(() => {}) // whoever waits is told
  return { stepId: level.stepId, begun, end, given: () => closing, rests: () => {} }
}

/** A scope that only holds the thread: one of its own for everyone who needs the hold. */
export function idsOf({ threadId, space, stepId }: Level, id: string) {
  const checkpointId = sha256(canonical([space, stepId, id]))
  return { workflowId: threadId, nodeId: 'turn', checkpointId }
}
