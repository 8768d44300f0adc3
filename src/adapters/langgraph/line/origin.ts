// Which checkpoint a call counts from, when people have forked or updated the state since.
import type { RunnableConfig } from '@langchain/core/runnables'
import type { CheckpointTuple } from '@langchain/langgraph-checkpoint'
import type { Counterfoil } from '../../../index.ts'
import { type KnownStep, spacesOf } from '../saver/spaces.ts'
import type { Level } from './line.ts'

/** So many forks of forks, or updates of updates, are followed back. */
const forksMax = 100

/** What finds a checkpoint by its id: the saver. */
export interface Finder {
  readonly cf: Counterfoil
  getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined>
}

/**
 * A fork and an update of a state are made by people, and run the same tasks from a new checkpoint:
 * what was done from the first one is done.
 */
export async function originOf(saver: Finder, { threadId, space, stepId }: Level): Promise<string> {
  const spaces = spacesOf(saver.cf)
  const find = async (id: string): Promise<KnownStep | undefined> => {
    const known = spaces.step(threadId, space, id)
    if (known) return known
    const place = { thread_id: threadId, checkpoint_ns: space, checkpoint_id: id }
    const config: RunnableConfig = { configurable: place }
    const tuple = await saver.getTuple(config)
    return tuple && spaces.step(threadId, space, id)
  }
  let id = stepId
  for (let n = 0; n < forksMax; n++) {
    const step = await find(id)
    if (!step?.parentId || step.source === 'loop') return id
    const again = step.source === 'fork' || step.source === 'update'
    // A command may update the state without a new turn of the conversation.
    if (!again && (await find(step.parentId))?.start !== step.start) return id
    id = step.parentId
  }
  return id
}

/** Whether the same calls are made from another checkpoint of the space. */
export async function isSameOrigin(saver: Finder, level: Level, stepId: string): Promise<boolean> {
  if (level.stepId === stepId) return true
  const origin = await originOf(saver, level)
  if (origin === level.stepId) return false
  return origin === (await originOf(saver, { ...level, stepId }))
}
