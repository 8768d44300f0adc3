// A thread is one line. Two invocations of it at once begin from the same checkpoint, and a model
// that is asked twice answers twice: one of them goes on with the thread, the other is set aside.
//
// Owns: the mark that tells one invocation from another, and where a checkpoint belongs.
// LangGraph carries the mark by itself: what `getTuple` returns in its config comes back with every
// `put` and `putWrites` of that invocation, and what lies in the config that `getTuple` was given
// comes to the tasks. Both are copied by spreading, which keeps keys that are symbols.
import type { RunnableConfig } from '@langchain/core/runnables'
import { isRecord } from '../../../model/run/state.ts'
import type { Space } from '../saver/chain.ts'

const key = Symbol('counterfoil line')

/** One invocation of a graph, in one space. */
export interface Mark extends Space {
  /** The checkpoint that it began from; null for none. */
  readonly fromId: string | null
  /** It was asked for by its id. */
  readonly asked: boolean
  /** The head of the space then. */
  readonly headId: string | null
  /** An interrupt of it had been answered by then. */
  readonly answered: boolean
  /** Tasks of it that were over by then. */
  readonly doneIds: ReadonlySet<string>
  /** That of the graph around it. */
  readonly outer: Mark | undefined
  /** In the graph around it: the task that it runs in. */
  readonly taskId: string | null
  /** Of graphs inside its tasks. */
  readonly inner: Set<Mark>
  /** It has an interrupt, or an error: it makes no further step. */
  stopped: boolean
  /** Nobody waits for it any more: its tasks write nothing when they are over. */
  aborted: boolean
  /** Tasks of it that have made guarded calls and are not over, with how many of those are open. */
  readonly sending: Map<string, number>
  /** Tasks that it has carried out. */
  readonly overIds: Set<string>
  /** By place: what was on record of calls at the checkpoint that it began from. */
  before: ReadonlyMap<string, string>
  /** It has waited for somebody else's turn. */
  waited: boolean
  /** Places whose records its calls have asked for. */
  readonly claimed: Set<string>
  /** The checkpoint that it has put last. */
  putId: string | null
  /** It answers what somebody else has answered before: a late click. */
  late: boolean
  /** Until its answer is in the store. */
  answering: Promise<unknown>
  /** Its name in all processes, once it has a turn. */
  by: string | null
  /** The turn that it has, or has had last. */
  turn: Turn | null
}

/** What an invocation holds while it sends from a checkpoint. */
export interface Turn {
  readonly stepId: string
  /** Until the thread is in hold. */
  readonly begun: Promise<void>
  /** Gives it back. */
  end(): void
  /** Until it is given back, if it is being so. */
  given(): Promise<void>
  /** Forgets that it was about to end by itself. */
  rests: () => void
}

/**
 * Whether a config is that of an invocation: LangGraph has filled in what an invocation needs. Who
 * only looks at a state, or updates it, passes the config as it was given.
 */
export function isInvocation(config: RunnableConfig): boolean {
  return config.recursionLimit !== undefined && 'tags' in config && 'metadata' in config
}

/** What is found in its space when it begins. */
export type Begun = Pick<Mark, 'fromId' | 'asked' | 'headId' | 'answered' | 'doneIds'> & Space

export function newMark(config: RunnableConfig, begun: Begun): Mark {
  const { configurable } = config
  const outer = around(config, begun)
  const taskId: unknown = outer && configurable?.['__pregel_task_id']
  const made: Mark = {
    ...begun,
    ...{ outer, inner: new Set(), taskId: typeof taskId === 'string' ? taskId : null },
    ...{ stopped: false, aborted: false, putId: null, late: false, waited: false },
    ...{ answering: Promise.resolve(), by: null, turn: null },
    ...{ sending: new Map(), overIds: new Set(), before: new Map(), claimed: new Set() },
  }
  outer?.inner.add(made)
  if (configurable) Object.assign(configurable, { [key]: made })
  return made
}

/**
 * LangGraph shows configs in its events, with the marks in them, and people use them again. Only
 * what runs inside a task has a graph around it; and nothing is around itself.
 */
function around(config: RunnableConfig, { threadId, space }: Space): Mark | undefined {
  if (!isNested(config)) return undefined
  return marksOf(config).find((mark) => mark.threadId !== threadId || mark.space !== space)
}

/** A graph that runs inside a task of another has that task's means to read its state. */
export function isNested({ configurable }: RunnableConfig): boolean {
  return '__pregel_read' in (configurable ?? {})
}

export function withMark<C extends RunnableConfig>(config: C, mark: Mark): C {
  return { ...config, configurable: { ...config.configurable, [key]: mark } }
}

/** The mark of the invocation in this space, if it has one. */
export function markOf(config: RunnableConfig, { threadId, space }: Space): Mark | undefined {
  return marksOf(config).find((mark) => mark.threadId === threadId && mark.space === space)
}

/** Of the graphs around, the innermost first. */
export function marksOf(config: RunnableConfig): Mark[] {
  const marks: Mark[] = []
  for (let mark = innermost(config); mark; mark = mark.outer) marks.push(mark)
  return marks
}

function innermost(config: RunnableConfig): Mark | undefined {
  return (config.configurable as Record<symbol, Mark> | undefined)?.[key]
}

/** A checkpoint, in its space. */
export type Level = Space & { readonly stepId: string }

/** The checkpoints that the graphs around this space run from. */
export function aroundOf(config: RunnableConfig, { threadId, space }: Space): Level[] {
  const map = (config.configurable?.['checkpoint_map'] ?? {}) as Record<string, string>
  return Object.entries(map)
    .filter(([outer]) => outer !== space && (outer === '' || space.startsWith(`${outer}|`)))
    .map(([outer, stepId]) => ({ threadId, space: outer, stepId }))
}

export interface Placed {
  readonly stepId: string
  readonly parentId: string | null
  readonly source: string | undefined
  readonly mark: Mark
}

/** The head that a put of this invocation counts on. */
export function expectedHead({ parentId, mark }: Placed): string | null {
  return isAskedBack(mark, parentId) ? mark.headId : parentId
}

/**
 * Whether a checkpoint is put on the line, with this head: it follows the head; or it begins a
 * branch, on purpose, from a checkpoint that was asked for when it was no longer the head. Of two
 * branches that are begun at once one is. LangGraph finds the latest by its id, so a checkpoint of
 * a machine whose clock is behind is not on the line either.
 */
export function isOnLine({ stepId, parentId, source, mark }: Placed, head: string | null): boolean {
  if (mark.late || (head !== null && stepId <= head)) return false
  if (parentId === head) return true
  const onPurpose = source === 'fork' || isAskedBack(mark, parentId)
  return source === 'update' || (onPurpose && mark.headId === head)
}

/** Whether an invocation has done with a checkpoint that it has sent from. */
export function isDone(mark: Mark, checkpointId: string): boolean {
  const { stopped, putId } = mark
  return (stopped && !isSending(mark)) || (putId !== null && putId !== checkpointId)
}

/**
 * Whether a task that has made guarded calls is still to write what it did: an interrupt of another
 * task does not end it. Of an invocation that was aborted only the calls under way are waited for.
 */
function isSending({ sending, aborted }: Mark): boolean {
  return aborted ? [...sending.values()].some((count) => count > 0) : sending.size > 0
}

/** Gives the turn back if it is over. */
export function settle(mark: Mark): void {
  const { turn } = mark
  if (turn === null || !isDone(mark, turn.stepId)) return
  turn.rests()
  turn.end()
}

/** Whether an invocation may send from a checkpoint, with this head. */
export function isCurrent(mark: Mark, checkpointId: string, head: string | null): boolean {
  if (mark.late) return false
  return head === checkpointId || (isAskedBack(mark, checkpointId) && mark.headId === head)
}

/**
 * Whether a resume from this checkpoint comes too late: somebody has answered its interrupt, and
 * the thread has gone on from there. Whoever wants another way from there says so first, by a fork
 * or an update, or by `live`.
 */
export function isLate(mark: Mark, checkpointId: string, config: RunnableConfig): boolean {
  return mark.answered && isAskedBack(mark, checkpointId) && !isLive(config)
}

/** `configurable.counterfoil.live`: what is done off the line is sent, on purpose. */
export function isLive({ configurable }: RunnableConfig): boolean {
  const given: unknown = configurable?.['counterfoil']
  return isRecord(given) && given['live'] === true
}

/** Whether it began from this one, which was asked for when it was no longer the head. */
export function isAskedBack({ asked, fromId, headId }: Mark, checkpointId: string | null): boolean {
  return asked && fromId === checkpointId && headId !== fromId
}
