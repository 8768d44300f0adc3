// Where an invocation stands on the line of its thread: what it began from, and where a checkpoint
// that it puts belongs.
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  type Checkpoint,
  type CheckpointMetadata,
  type PendingWrite,
  RESUME,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { asidePrefix, type Counterfoil, type ThreadWrite } from '../../../index.ts'
import { noteBranch } from '../line/branch-notes.ts'
import { expectedHead, isInvocation, isLate, isOnLine, type Mark, newMark } from '../line/line.ts'
import type { Space } from './chain.ts'
import { stepIdOf, threadOf } from './config.ts'

/** What an invocation has found in its space, at its beginning. */
interface Found extends Space {
  readonly fromId: string | null
  readonly asked: boolean
  readonly headId: string | null
  readonly writes: readonly ThreadWrite[]
}

export function markOfFound(config: RunnableConfig, { writes, ...found }: Found): Mark {
  const isDone = ({ channel }: ThreadWrite) => !(channel in WRITES_IDX_MAP)
  return newMark(config, {
    ...found,
    answered: writes.some(({ channel }) => channel === RESUME),
    doneIds: new Set(writes.filter(isDone).map(({ taskId }) => taskId)),
  })
}

/** LangGraph goes back in a subgraph by a list: to this step, or to before its first one. */
export async function markBack(
  cf: Counterfoil,
  config: RunnableConfig,
  fromId: string | null,
): Promise<Mark | null> {
  const space = threadOf(config)
  if (space === undefined || !isInvocation(config)) return null
  const headId = await cf.threads.headOf(space)
  return newMark(config, {
    ...space,
    fromId,
    asked: true,
    headId,
    answered: false,
    doneIds: new Set<string>(),
  })
}

export interface Put {
  readonly space: Space
  readonly config: RunnableConfig
  readonly checkpoint: Checkpoint
  readonly metadata: CheckpointMetadata
  readonly mark: Mark | undefined
  /** A graph around it was set aside. */
  readonly isOff: boolean
}

/** On the line, behind the head that it counts on; or beside it. */
export async function placeOf(
  cf: Counterfoil,
  { space, config, checkpoint, metadata, mark, isOff }: Put,
  tries: number,
): Promise<{ stepId: string; head?: string | null; branches?: boolean }> {
  const { id: stepId } = checkpoint
  const parentId = stepIdOf(config)
  const placed = mark && { stepId, parentId, source: metadata.source, mark }
  const isFirst = placed !== undefined && tries === 0
  const head = isFirst ? expectedHead(placed) : await cf.threads.headOf(space)
  const isBeside = isOff || (placed !== undefined && !isOnLine(placed, head))
  if (isBeside) return { stepId: `${asidePrefix}${stepId}` }
  const branches = head !== parentId
  if (branches) await noteBranch(cf, space.threadId, stepId)
  return placed ? { stepId, head, branches } : { stepId, branches }
}

/**
 * Around a write of an invocation. One that answers too late leaves what was said before as it is.
 * The next checkpoint waits for an answer: whoever finds the thread gone on finds the answer, too.
 */
export function written(
  config: RunnableConfig,
  writes: readonly PendingWrite[],
  mark: Mark,
  write: () => Promise<void>,
): Promise<void> | null {
  const stepId = stepIdOf(config) ?? ''
  const answers = writes.some(([channel]) => channel === RESUME)
  if (answers && isLate(mark, stepId, config)) mark.late = true
  if (mark.late && stepId === mark.fromId) return null
  const work = write()
  if (answers) mark.answering = Promise.allSettled([mark.answering, work])
  return work
}
