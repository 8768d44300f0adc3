// Owns: what this process knows of its threads' spaces (a thread, and each of its subgraphs that
// has checkpoints of its own): which are in use, which checkpoints are in the store, which tasks
// are over. The saver tells; guard() asks, because a call may only be recorded under what a new
// process would resume from.
// Does not own: the checkpoints themselves (saver.ts), nor how a call is named (anchor.ts).
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  ERROR,
  INTERRUPT,
  type PendingWrite,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import type { Counterfoil } from '../../../index.ts'
import { insisted } from '../line/heard.ts'
import { isNested, type Level, type Mark, markOf, marksOf, settle } from '../line/line.ts'
import { restTurn } from '../line/rest.ts'

/** LangGraph begins the next write right after the last: longer is no pause between two. */
const graceMs = 1_000
/** More threads at once than one process works on; those not heard of for longest are forgotten. */
const spacesMax = 10_000
/** A superstep asks for the latest checkpoints only. */
const stepsMax = 64

/** A checkpoint, as far as it says what it was made from. */
export interface KnownStep {
  readonly parentId: string | null
  readonly source: string
  /** The version of the graph's input: another one means that a new turn began. */
  readonly start: unknown
  /** It was set aside: somebody else has gone on with the thread. */
  readonly aside: boolean
}

interface Space {
  /** A graph with a checkpointer works in it. */
  opened: boolean
  /** Which attempt of LangGraph's retry policy opened it. */
  attempt: number
  readonly steps: Map<string, KnownStep>
  /** Why checkpoints are not in the store that LangGraph takes to be there. */
  readonly unwritten: Map<string, Error>
}

export interface Storing {
  /** It names the parent, as LangGraph gives it. */
  readonly config: RunnableConfig
  readonly checkpoint: Checkpoint
  readonly metadata: CheckpointMetadata
  /** What the graphs around it run from. */
  readonly around: readonly Level[]
  readonly mark: Mark | undefined
}

export class Spaces {
  private readonly cf: Counterfoil
  private readonly spaces = new Map<string, Space>()
  /** Writes under way, by thread. */
  private readonly writing = new Map<string, number>()
  /** What threads were resumed with, until a guarded call has looked at it. */
  private readonly resumes = new Map<string, readonly unknown[]>()
  private waiters: (() => void)[] = []
  /** Before the writes of a task that is over. */
  onEnding: (mark: Mark, taskId: string) => Promise<void> = async () => {}
  /** Before those of one that is interrupted, or has failed. */
  onStopping: (mark: Mark, taskId: string) => Promise<void> = async () => {}
  /** Told when they are in the store, or it was interrupted. */
  onOver: (mark: Mark, taskId: string) => void = () => {}

  constructor(cf: Counterfoil) {
    this.cf = cf
  }

  /** For `getTuple` and `list`, before they read. Who only looks at states opens nothing. */
  opened(config: RunnableConfig): void {
    const { threadId, space } = placeOf(config)
    if (threadId === '' || (space !== '' && !isNested(config))) return
    const known = this.space(threadId, space)
    known.opened = true
    known.attempt = attemptOf(config)
  }

  /** For each checkpoint that `getTuple` or `list` has found. */
  found({ config, checkpoint, metadata, parentConfig }: CheckpointTuple, aside: boolean): void {
    const { threadId, space } = placeOf(config)
    const parentId = idOf(parentConfig)
    const source = metadata?.source ?? 'loop'
    this.note(threadId, space, checkpoint, { parentId, source, aside })
  }

  /**
   * Around the write that `put` makes, which says whether the checkpoint was set aside. In an
   * invocation it never rejects, because nobody would take notice: what could not be written is
   * remembered, and every guarded call and read of the invocation is told.
   */
  async storing(
    { config, checkpoint, metadata, around, mark }: Storing,
    write: () => Promise<boolean>,
  ): Promise<void> {
    const { threadId, space } = placeOf(config)
    const parentId = idOf(config)
    this.writing.set(threadId, (this.writing.get(threadId) ?? 0) + 1)
    try {
      if (mark)
        this.checkWritten(threadId, [...around, { threadId, space, stepId: parentId ?? '' }])
      const aside = mark ? await insisted(this.cf, write) : await write()
      if (mark) mark.putId = checkpoint.id
      this.note(threadId, space, checkpoint, { parentId, source: metadata.source, aside })
      if (mark) settle(mark)
    } catch (error) {
      if (!mark) throw error
      this.unwritten({ threadId, space, stepId: checkpoint.id }, error)
    } finally {
      const left = (this.writing.get(threadId) ?? 1) - 1
      if (left > 0) this.writing.set(threadId, left)
      else this.writing.delete(threadId)
      this.wake()
    }
  }

  /** Around the write that `putWrites` makes in an invocation. `around`: its own step the last. */
  async adding(around: readonly Level[], write: () => Promise<void>): Promise<void> {
    const own = around.at(-1) as Level
    await this.settled(own)
    this.checkWritten(own.threadId, around)
    try {
      await insisted(this.cf, write)
    } catch (error) {
      this.unwritten(own, error)
      throw error
    }
  }

  /** Throws why one of these checkpoints could not be written, if so it is. */
  checkWritten(threadId: string, levels: readonly Omit<Level, 'threadId'>[]): void {
    for (const { space, stepId } of levels) {
      const error = this.spaces.get(keyOf(threadId, space))?.unwritten.get(stepId)
      if (error) throw error
    }
  }

  private unwritten({ threadId, space, stepId }: Level, cause: unknown): void {
    const { unwritten } = this.space(threadId, space)
    const why = cause instanceof Error ? cause : new Error(String(cause))
    unwritten.set(stepId, why)
    dropOldest(unwritten, stepsMax)
    const what = `checkpoint ${stepId} of thread ${threadId} was not written: ${why.message}`
    process.emitWarning(what, 'Counterfoil')
    this.wake()
  }

  /** Whether a graph around was set aside; waits for checkpoints that are about to be written. */
  async isOff(threadId: string, around: readonly Level[]): Promise<boolean> {
    for (const level of around) {
      await this.settled(level)
      if (this.step(threadId, level.space, level.stepId)?.aside) return true
    }
    return false
  }

  /** LangGraph does not wait for its puts: this does, for one that is under way or about to be. */
  private async settled({ threadId, space, stepId }: Level): Promise<void> {
    const isKnown = () => {
      const { steps, unwritten } = this.space(threadId, space)
      return steps.has(stepId) || unwritten.has(stepId)
    }
    if (isKnown()) return
    await new Promise<void>((resolve) => this.cf.store.clock.turn(resolve))
    while (!isKnown() && this.writing.has(threadId)) await this.change(null)
  }

  /**
   * For `putWrites`, before it writes. LangGraph does not tell a subgraph without checkpoints what
   * the thread was resumed with.
   */
  resumed(threadId: string, writes: readonly PendingWrite[]): void {
    const given = writes.filter(([channel]) => channel === '__resume__').map(([, value]) => value)
    if (given.length > 0) this.resumes.set(threadId, given.flat())
  }

  /** This invocation makes no further step; tasks that have made calls are waited for. */
  stop(mark: Mark): void {
    mark.stopped = true
    restTurn(this.cf, mark)
    this.wake()
  }

  /** Nor for its tasks, once their calls have ended. */
  abort(mark: Mark): void {
    mark.aborted = true
    this.stop(mark)
  }

  /** A guarded call of a task has ended. `failed`: by an error that ends its task unwritten. */
  called(mark: Mark, taskId: string, failed: boolean): void {
    const left = (mark.sending.get(taskId) ?? 1) - 1
    if (left === 0 && failed) mark.sending.delete(taskId)
    else mark.sending.set(taskId, left)
    restTurn(this.cf, mark)
    this.wake()
  }

  /** An error of ours goes through all graphs around a call. */
  stopAll(config: RunnableConfig): void {
    for (const mark of marksOf(config)) this.stop(mark)
  }

  /** What the thread was resumed with, once. */
  takeResumes(threadId: string): readonly unknown[] {
    const given = this.resumes.get(threadId) ?? []
    this.resumes.delete(threadId)
    return given
  }

  /** For `putWrites`: LangGraph writes what a task has done when the task is over. */
  wrote(config: RunnableConfig, taskId: string, writes: readonly PendingWrite[]): void {
    const mark = markOf(config, placeOf(config))
    if (mark === undefined) return
    const isStopped = writes.some(([channel]) => channel === INTERRUPT || channel === ERROR)
    if (!isStopped && !writes.every(([channel]) => channel in WRITES_IDX_MAP)) {
      mark.overIds.add(taskId)
    }
    this.over(mark, taskId)
    if (isStopped) this.stop(mark)
  }

  /** A task has nothing more to write, and graphs in it make no further step. */
  over(mark: Mark, taskId: string): void {
    this.onOver(mark, taskId)
    for (const inner of mark.inner) {
      if (inner.taskId !== taskId) continue
      inner.sending.clear()
      this.stop(inner)
    }
    mark.sending.delete(taskId)
    restTurn(this.cf, mark)
    this.wake()
  }

  /** For `deleteThread`. */
  forget(threadId: string): void {
    this.resumes.delete(threadId)
    for (const key of this.spaces.keys()) {
      if (key.startsWith(`${JSON.stringify(threadId)} `)) this.spaces.delete(key)
    }
  }

  /** Whether a graph with a checkpointer works in this space. */
  isOpen(threadId: string, space: string): boolean {
    return this.spaces.get(keyOf(threadId, space))?.opened === true
  }

  /** Which attempt of LangGraph's retry policy works in it. */
  attempt(threadId: string, space: string): number {
    return this.spaces.get(keyOf(threadId, space))?.attempt ?? 1
  }

  step(threadId: string, space: string, checkpointId: string): KnownStep | undefined {
    return this.spaces.get(keyOf(threadId, space))?.steps.get(checkpointId)
  }

  /** True once the checkpoint is in the store; false if nobody is about to write it. */
  async whenStored(threadId: string, space: string, checkpointId: string): Promise<boolean> {
    for (;;) {
      this.checkWritten(threadId, [{ space, stepId: checkpointId }])
      if (this.step(threadId, space, checkpointId)) return true
      const changed = await this.change(this.writing.has(threadId) ? null : graceMs)
      if (!changed) return this.step(threadId, space, checkpointId) !== undefined
    }
  }

  /** True after something was written or stopped; false if nothing was within this time. */
  change(withinMs: number | null): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel =
        withinMs === null
          ? () => {}
          : this.cf.store.clock.after(withinMs, () => {
              this.waiters = this.waiters.filter((each) => each !== woken)
              resolve(false)
            })
      const woken = () => {
        cancel()
        resolve(true)
      }
      this.waiters.push(woken)
    })
  }

  private wake(): void {
    const woken = this.waiters
    this.waiters = []
    for (const each of woken) each()
  }

  private note(
    threadId: string,
    space: string,
    checkpoint: Checkpoint,
    made: Omit<KnownStep, 'start'>,
  ): void {
    const { steps } = this.space(threadId, space)
    steps.set(checkpoint.id, { ...made, start: checkpoint.channel_versions['__start__'] })
    dropOldest(steps, stepsMax)
    this.wake()
  }

  private space(threadId: string, space: string): Space {
    const key = keyOf(threadId, space)
    const known = this.spaces.get(key) ?? newSpace()
    this.spaces.delete(key)
    this.spaces.set(key, known)
    dropOldest(this.spaces, spacesMax)
    return known
  }
}

function newSpace(): Space {
  return { opened: false, attempt: 1, steps: new Map(), unwritten: new Map() }
}

const known = new WeakMap<Counterfoil, Spaces>()

/** One for each store that was opened, whatever number of savers it has. */
export function spacesOf(cf: Counterfoil): Spaces {
  const spaces = known.get(cf) ?? new Spaces(cf)
  known.set(cf, spaces)
  return spaces
}

function placeOf(config: RunnableConfig): { threadId: string; space: string } {
  const { thread_id: threadId, checkpoint_ns: space } = config.configurable ?? {}
  return { threadId: String(threadId ?? ''), space: String(space ?? '') }
}

function idOf(config: RunnableConfig | undefined): string | null {
  const id: unknown = config?.configurable?.['checkpoint_id']
  return typeof id === 'string' && id !== '' ? id : null
}

function attemptOf(config: RunnableConfig): number {
  const { executionInfo } = config as { executionInfo?: { nodeAttempt?: number } }
  return isNested(config) ? (executionInfo?.nodeAttempt ?? 1) : 1
}

function keyOf(threadId: string, space: string): string {
  return `${JSON.stringify(threadId)} ${space}`
}

function dropOldest(map: Map<string, unknown>, countMax: number): void {
  if (map.size <= countMax) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
