// The steps of a foreign runtime's threads, in one namespace: for adapters.
import type {
  Page,
  Pruning,
  Seen,
  SpaceRef,
  StepFilter,
  ThreadStep,
  ThreadsPort,
  ThreadWrite,
} from '../store/store.ts'

/** A row as it is given; the namespace is that of the open store. */
type Given<T> = Omit<T, 'namespace'>

export class Threads {
  private readonly store: ThreadsPort
  readonly namespace: string

  constructor(store: ThreadsPort, namespace: string) {
    this.store = store
    this.namespace = namespace
  }

  /**
   * Puts a step, in the place of an earlier form of itself. False, and nothing is written, if it is
   * not whole and its parent is not there, because somebody has pruned it; if rows are not as they
   * were `seen`; or if the head of the space is not `head`.
   */
  putStep(step: Given<ThreadStep>, seen?: Seen, head?: string | null): Promise<boolean> {
    return this.store.putStep(this.here(step), seen, head)
  }

  /**
   * All or none. `replace`: in the place of what is there; else what is there stays. False, and
   * nothing is written, if rows are not as they were `seen`.
   */
  putWrites(
    writes: readonly Given<ThreadWrite>[],
    replace: boolean,
    seen?: Seen,
  ): Promise<boolean> {
    const rows = writes.map((write) => this.here(write))
    return this.store.putWrites(rows, replace, seen)
  }

  /** From the nearest whole step to this one, or to the latest; empty if there is none. */
  loadSteps(ref: Given<SpaceRef>, stepId?: string): Promise<ThreadStep[]> {
    return this.store.loadSteps(this.here(ref), stepId)
  }

  /** The id of the latest step; null if there is none. */
  headOf(ref: Given<SpaceRef>): Promise<string | null> {
    return this.store.headOf(this.here(ref))
  }

  /** The latest first. */
  listSteps(filter: Given<StepFilter> = {}): Promise<Page<ThreadStep>> {
    return this.store.listSteps(this.here(filter))
  }

  /** In the order of steps, tasks and places. */
  listWrites(ref: Given<SpaceRef>, stepIds: readonly string[]): Promise<ThreadWrite[]> {
    return this.store.listWrites(this.here(ref), stepIds)
  }

  /**
   * False, and nothing is changed, if a step that stays would lose the one it is a change to, if
   * one that is to be whole is not there, or if rows are not as they were `seen`.
   */
  pruneSteps(
    ref: Given<SpaceRef>,
    { whole, ...rest }: { whole: readonly Given<ThreadStep>[] } & Omit<Pruning, 'whole'>,
  ): Promise<boolean> {
    const rows = whole.map((step) => this.here(step))
    return this.store.pruneSteps(this.here(ref), { whole: rows, ...rest })
  }

  /** Every step and write of all its spaces. The ledger of its calls stays. */
  dropThread(threadId: string): Promise<void> {
    return this.store.dropThread(this.namespace, threadId)
  }

  /** Threads whose last step is older than this, and whose calls wait for nobody. */
  listIdleThreads(before: number, countMax: number): Promise<string[]> {
    return this.store.listIdleThreads(this.namespace, before, countMax)
  }

  private here<T extends object>(given: T): T & { namespace: string } {
    return { ...given, namespace: this.namespace }
  }
}
