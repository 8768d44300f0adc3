// What the line leaves behind: calls that were sent from a checkpoint, and that whoever goes on
// from there has not asked for. A person is told of them; or, if they were under way when this
// invocation began, or were begun later, it is set aside.
import { WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint'
import { type Counterfoil, isCounterfoilError } from '../../../index.ts'
import { isUnmatched } from '../../../model/replay/entry.ts'
import { openEntries } from '../../../model/replay/opening.ts'
import { scopeVisit } from '../../../model/run/scope.ts'
import { isCurrent, type Level, type Mark } from './line.ts'
import type { Finder } from './origin.ts'
import { type Place, placeKey, placesAt, readRow } from './turn-row.ts'

/** Before the writes of a task, which is over. False: they are not written. */
export async function taskGoesOn(
  saver: Finder,
  mark: Mark,
  level: Level,
  taskId: string,
  places: readonly Place[],
): Promise<boolean> {
  if (mark.late) return false
  if (mark.waited) {
    const head = await saver.cf.threads.headOf(level)
    if (!isCurrent(mark, level.stepId, head)) return setAside(mark)
  }
  for (const inner of mark.inner) {
    if (inner.taskId === taskId && !(await innerGoesOn(saver, inner))) return setAside(mark)
  }
  const left = await leftAt(saver.cf, mark, level, own(places, taskId))
  if (left.length === 0) return true
  const writes = await saver.cf.threads.listWrites(level, [level.stepId])
  const isDone = writes.some((row) => row.taskId === taskId && !(row.channel in WRITES_IDX_MAP))
  return isDone ? setAside(mark) : goesOn(saver.cf, mark, level, left)
}

/** Before the checkpoint behind this one. False: it is set aside. */
export async function lineGoesOn(
  saver: Finder,
  mark: Mark,
  level: Level,
  places: readonly Place[],
): Promise<boolean> {
  const open = places.filter(({ task }) => !mark.overIds.has(task) && !mark.doneIds.has(task))
  return goesOn(saver.cf, mark, level, await leftAt(saver.cf, mark, level, open))
}

/** A graph in a task may end by a command to its parent, with no checkpoint behind its last. */
async function innerGoesOn(saver: Finder, inner: Mark): Promise<boolean> {
  if (inner.late) return false
  const { threadId, space } = inner
  const stepId = inner.putId ?? inner.fromId
  if (stepId === null) return true
  const level = { threadId, space, stepId }
  const places = await placesAt(saver, await readRow(saver.cf, level), level)
  return lineGoesOn(saver, inner, level, places)
}

function own(places: readonly Place[], taskId: string): Place[] {
  return places.filter(({ task }) => task === taskId)
}

async function goesOn(
  cf: Counterfoil,
  mark: Mark,
  { threadId }: Level,
  left: readonly Left[],
): Promise<boolean> {
  if (left.length === 0) return true
  const isSame = ({ place, records }: Left) => mark.before.get(placeKey(place)) === records
  if (!left.every(isSame)) return setAside(mark)
  for (const { place } of left) await askAbout(cf, threadId, place)
  return true
}

/** What the graphs around it would go on with is set aside as well. */
function setAside(mark: Mark): false {
  for (let each: Mark | undefined = mark; each; each = each.outer) each.late = true
  return false
}

interface Left {
  readonly place: Place
  readonly records: string
}

/** For an invocation that begins: what is on record of calls at its checkpoint. */
export async function beginsAt(saver: Finder, mark: Mark): Promise<void> {
  const { threadId, space, fromId } = mark
  const row = await readRow(saver.cf, mark)
  if (row === null || fromId === null) return
  const found = new Map<string, string>()
  for (const place of await placesAt(saver, row, { threadId, space, stepId: fromId })) {
    found.set(placeKey(place), await unmatchedAt(saver.cf, threadId, place))
  }
  mark.before = found
}

/** Places with records of what was or may have been sent, and this invocation has not asked for. */
async function leftAt(
  cf: Counterfoil,
  mark: Mark,
  { threadId }: Level,
  places: readonly Place[],
): Promise<Left[]> {
  const left: Left[] = []
  for (const place of places) {
    if (mark.claimed.has(placeKey(place))) continue
    const records = await unmatchedAt(cf, threadId, place)
    if (records !== '') left.push({ place, records })
  }
  return left
}

/** As a text to compare; empty if there is none. */
async function unmatchedAt(cf: Counterfoil, runId: string, place: Place): Promise<string> {
  const { nodeId, checkpointId } = place
  const ref = { namespace: cf.threads.namespace, runId }
  const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
  const loaded = await cf.store.load(ref, at)
  if (loaded === null) return ''
  const entries = [...openEntries(loaded, cf.store.clock.now()).entries.values()]
  const unmatched = entries.filter(isUnmatched)
  return unmatched.map(({ key, settled }) => `${key} ${settled === null ? '' : 'known'}`).join()
}

async function askAbout(cf: Counterfoil, workflowId: string, place: Place): Promise<void> {
  const { nodeId, checkpointId } = place
  try {
    const scope = await cf.scope({ workflowId, nodeId, checkpointId })
    await scope.over().finally(() => scope.close())
  } catch (error) {
    // A person has ended it, and sees what it did.
    if (!isCounterfoilError(error, 'RUN_ENDED')) throw error
  }
}
