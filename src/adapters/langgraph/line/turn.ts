// Whose turn it is at a checkpoint. Two invocations that begin from the same one run the same tasks
// at once: the first that wants to send does so, and another waits until it is over. By then the
// thread has gone on, and the other sends nothing; or the first was stopped, and the other goes on
// as a new process would.
import type { RunnableConfig } from '@langchain/core/runnables'
import { WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint'
import type { Counterfoil } from '../../../index.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import type { Task } from '../guard/task.ts'
import { spacesOf } from '../saver/spaces.ts'
import { isCurrent, isDone, type Level, type Mark, markOf } from './line.ts'
import { waitMsMax } from './rest.ts'

const lookMs = 250
const ownersMax = 10_000

const owners = new WeakMap<Counterfoil, Map<string, Mark>>()

/** From where a call is made. */
export interface Made {
  /** The task that has to be over before calls can be counted anew; null for a call with an id. */
  readonly taskId: string | null
  /** The checkpoints that it is made from, the outermost first. */
  readonly levels: readonly TaskLevel[]
}

/** With the task there that makes it, or that it is made in. */
export type TaskLevel = Level & { readonly task: string }

/** Waits for the turn of this invocation at these checkpoints; throws if the thread has moved. */
export async function takeTurn(
  cf: Counterfoil,
  config: RunnableConfig,
  levels: readonly Level[],
  tool: string,
): Promise<void> {
  const owned = owners.get(cf) ?? new Map<string, Mark>()
  owners.set(cf, owned)
  for (const level of levels) {
    const mark = markOf(config, level)
    if (mark) await takeAt(cf, owned, mark, level, config, tool)
  }
}

/** Who sends from this checkpoint in this process. */
export function ownerOf(cf: Counterfoil, level: Level): Mark | null {
  const owner = owners.get(cf)?.get(keyAt(level))
  return owner === undefined || isDone(owner, level.stepId) ? null : owner
}

/** Waits until nobody else here sends from this checkpoint; false if that takes too long. */
export async function ownerDone(
  cf: Counterfoil,
  mark: Mark,
  level: Level,
  until: number,
): Promise<boolean> {
  for (;;) {
    const owner = ownerOf(cf, level)
    if (owner === null || owner === mark) return true
    if (cf.store.clock.mono() > until) return false
    await spacesOf(cf).change(lookMs)
  }
}

/** Throws if the thread has moved. */
export async function checkTurn(
  cf: Counterfoil,
  config: RunnableConfig,
  levels: readonly Level[],
  tool: string,
): Promise<void> {
  for (const level of levels) {
    const mark = markOf(config, level)
    if (mark) await checkAt(cf, mark, level, tool)
  }
}

/**
 * Throws if somebody else has done this task meanwhile: another process that works on the thread
 * holds the scope of its calls until what the task has written is in the store. Its next checkpoint
 * may come later; without this, a call in other words would be taken for drift.
 */
export async function checkNotDone(
  cf: Counterfoil,
  { config, threadId }: Task,
  { taskId, levels }: Made,
  tool: string,
): Promise<void> {
  const level = levels.at(-1)
  const mark = level && markOf(config, level)
  if (taskId === null || level === undefined || mark === undefined) return
  await checkAt(cf, mark, level, tool)
  const writes = await cf.threads.listWrites(level, [level.stepId])
  const isDone = writes.some((row) => row.taskId === taskId && !(row.channel in WRITES_IDX_MAP))
  const before = level.stepId === mark.fromId && mark.doneIds.has(taskId)
  if (isDone && !before) throw moved(tool, threadId)
}

async function checkAt(cf: Counterfoil, mark: Mark, level: Level, tool: string): Promise<void> {
  const { threadId, space, stepId } = level
  const aside = spacesOf(cf).step(threadId, space, stepId)?.aside === true
  const head = aside ? null : await cf.threads.headOf({ threadId, space })
  if (aside || !isCurrent(mark, stepId, head)) throw moved(tool, threadId)
}

async function takeAt(
  cf: Counterfoil,
  owned: Map<string, Mark>,
  mark: Mark,
  level: Level,
  config: RunnableConfig,
  tool: string,
): Promise<void> {
  const { stepId } = level
  const key = keyAt(level)
  const spaces = spacesOf(cf)
  const { clock } = cf.store
  const until = clock.mono() + waitMsMax
  for (;;) {
    await checkAt(cf, mark, level, tool)
    const owner = owned.get(key)
    if (owner === mark) return
    if (owner === undefined || isDone(owner, stepId) || clock.mono() > until) break
    await spaces.change(lookMs)
  }
  owned.set(key, mark)
  config.signal?.addEventListener('abort', () => spaces.abort(mark), { once: true })
  const [oldest] = owned.keys()
  if (owned.size > ownersMax && oldest !== undefined) owned.delete(oldest)
}

function keyAt({ threadId, space, stepId }: Level): string {
  return JSON.stringify([threadId, space, stepId])
}

export function moved(tool: string, threadId: string): CounterfoilError {
  return errorFor('THREAD_MOVED', tool, threadId)
}
