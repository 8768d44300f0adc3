// The port that adapters need: the steps of a foreign runtime's threads, in that
// runtime's own form, in one database with the ledger of their calls. A step may be written as a
// change to its parent, so the rows of a thread are chains; no write here can break one.
import type { ListRequest, Page } from './page.ts'

/** Where steps follow one another: a thread, or a part of it with steps of its own. */
export interface SpaceRef {
  readonly namespace: string
  readonly threadId: string
  /** Empty for the thread itself; a subgraph of it has another. */
  readonly space: string
}

export interface ThreadStep extends SpaceRef {
  /**
   * Given by the runtime; later steps have greater ids, as text. The greatest is the head of the
   * space. One that begins with `asidePrefix` is set aside: it is never the head, and is found by
   * its id alone.
   */
  readonly stepId: string
  readonly parentId: string | null
  /** Whether the body stands by itself; else it is a change to the body of the parent. */
  readonly whole: boolean
  readonly bodyJson: string
  /** What the runtime wants to find it by. */
  readonly noteJson: string
  readonly createdAt: number
}

/** What a task of a step has written before the step was over. */
export interface ThreadWrite extends SpaceRef {
  readonly stepId: string
  readonly taskId: string
  /** Its place among the writes of the task; negative for the runtime's own marks. */
  readonly place: number
  readonly channel: string
  readonly bodyJson: string
}

export interface StepFilter extends ListRequest {
  readonly threadId?: string
  readonly space?: string
  /** Only steps with smaller ids. */
  readonly before?: string
  /** Those that were set aside as well. */
  readonly aside?: boolean
}

/**
 * The rows of a space as the writer has seen them: by the id of a step the `bodySum` of its row,
 * null for no row. If one of them is another now, nothing is written, and the answer is false.
 */
export type Seen = ReadonlyMap<string, string | null>

export interface Pruning {
  /** Steps that are there, now as whole ones. */
  readonly whole: readonly ThreadStep[]
  /** Steps that go, with their writes. */
  readonly drop: readonly string[]
  readonly seen?: Seen
}

export interface ThreadsPort {
  /**
   * Puts a step, in the place of an earlier form of itself. False, and nothing is written, if it is
   * not whole and its parent is not there: somebody has pruned it. With `head`: also if the head of
   * the space is another one now, null for none; both are looked at in one transaction, so of
   * several that follow the same head one is written.
   */
  putStep(step: ThreadStep, seen?: Seen, head?: string | null): Promise<boolean>
  /**
   * All or none. `replace`: in the place of what is there; else what is there stays. With `seen`
   * they are of one space.
   */
  putWrites(writes: readonly ThreadWrite[], replace: boolean, seen?: Seen): Promise<boolean>
  /** From the nearest whole step to this one, or to the latest; empty if there is none. */
  loadSteps(ref: SpaceRef, stepId?: string): Promise<ThreadStep[]>
  /** The id of the latest step; null if there is none. */
  headOf(ref: SpaceRef): Promise<string | null>
  /** The latest first. */
  listSteps(filter: StepFilter): Promise<Page<ThreadStep>>
  /** In the order of steps, tasks and places. */
  listWrites(ref: SpaceRef, stepIds: readonly string[]): Promise<ThreadWrite[]>
  /**
   * False, and nothing is changed, if a step that stays would lose the one it is a change to, or if
   * one that is to be whole is not there.
   */
  pruneSteps(ref: SpaceRef, pruning: Pruning): Promise<boolean>
  /** Every step and write of all its spaces. The ledger of its calls stays. */
  dropThread(namespace: string, threadId: string): Promise<void>
  /**
   * Threads whose last step is older than this, and whose calls wait for nobody: no live hold, no
   * open item and no call without an end in the run with the thread's id.
   */
  listIdleThreads(namespace: string, before: number, countMax: number): Promise<string[]>
}
