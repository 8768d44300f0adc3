// Owns: claiming runs and executing them, and giving everything back.
// Does not own: what happens inside a run, nor the worker's lease (keeper.ts), nor what comes due
// by itself (sweeper.ts).
import { type Clock, pause } from '../clock.ts'
import { type Engine, type Execution, execute } from '../engine/visit/execute.ts'
import type { Lease } from '../engine/visit/visit.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../model/errors.ts'
import { type Event, eventOf, type Run } from '../model/run/records.ts'
import { writeUntilAcknowledged } from '../store/insist.ts'
import type { CoreStore, MovesPort, Retention, RetentionPort } from '../store/store.ts'
import { Keeper } from './keeper.ts'
import { type Liveness, sockets } from './liveness.ts'
import { machineOf } from './machine.ts'
import { checkOptions, checkStop, type StopOptions, type WorkerOptions } from './options.ts'
import { watchRejections } from './rejections.ts'
import { Sweeper, type SweeperStats } from './sweeper.ts'
import { within } from './within.ts'

export type { StopOptions, WorkerOptions } from './options.ts'

/** What a worker is made with, besides what its user says. */
export interface WorkerParts {
  readonly onError: (error: unknown) => void
  readonly retention: Retention | null
  /** Throws if the graphs are not those that this namespace knows. */
  readonly enter: (namespace: string) => Promise<void>
  /** Asks about calls that dead holders of foreign workflows have left. */
  readonly askAboutLeft?: () => Promise<void>
  /** Sockets, unless given. */
  readonly liveness?: Liveness
}

/** What a worker has done since it began. */
export interface WorkerStats extends SweeperStats {
  /** Runs that it works on now. */
  readonly running: number
  readonly claimed: number
  /** Runs whose lease ended while it worked on them. */
  readonly lost: number
}

/** What a worker had to leave. */
export interface Stopped {
  readonly unfinished: readonly Unfinished[]
}

export interface Unfinished {
  readonly namespace: string
  readonly runId: string
  /** Calls that were sent and have not returned. */
  readonly calls: number
}

const backMs = 20
const backMaxMs = 5_000
// A store that cannot be reached must not keep a process that has given up.
const lastWordMs = 2_000

export class Worker {
  readonly id: string
  /** When the worker is dead on record, and cannot work any more: make another. */
  readonly died: Promise<void>
  private readonly keeper: Keeper
  private readonly sweeper: Sweeper
  private readonly engine: Engine
  private readonly store: CoreStore & RetentionPort & MovesPort
  private readonly clock: Clock
  private readonly options: Required<WorkerOptions>
  private readonly parts: WorkerParts
  private readonly executions = new Set<Execution>()
  /** Namespaces whose graphs are known to be ours. */
  private readonly entered = new Set<string>()
  /** Executions that are over, while functions of theirs run on. */
  private past: Execution[] = []
  private state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  private polling = false
  private pollAgain = false
  /** Runs that were claimed and are given back unworked. */
  private returning = 0
  private readonly counts = { claimed: 0, lost: 0 }
  private started: Promise<void> | null = null
  private ending: Promise<Stopped> | null = null
  private giveUp = () => {}
  private readonly gaveUp: Promise<'gave up'>

  constructor(engine: Engine, options: WorkerOptions, parts: WorkerParts) {
    this.engine = engine
    this.store = engine.store
    this.clock = engine.clock
    this.parts = parts
    this.options = checkOptions(options)
    const { store, clock } = this
    const { leaseMs, blockedMsMax } = this.options
    const { onError, retention, liveness = sockets } = parts
    this.keeper = new Keeper(store, clock, {
      leaseMs,
      blockedMsMax,
      onError,
      liveness,
      onLost: (why) => {
        for (const execution of this.executions) execution.lose(why)
      },
    })
    const report = (error: unknown) => this.keeper.report(error)
    const onWoken = () => this.wake()
    const { askAboutLeft = null } = parts
    this.sweeper = new Sweeper({
      store,
      clock,
      retention,
      onError: report,
      onWoken,
      ...(askAboutLeft && { askAboutLeft }),
    })
    this.id = this.keeper.id
    this.died = this.keeper.died
    if (engine.namespace !== undefined) this.entered.add(engine.namespace)
    this.gaveUp = new Promise((resolve) => {
      this.giveUp = () => resolve('gave up')
    })
  }

  /** Begins to work. Resolves when the worker is registered. */
  start(): Promise<void> {
    if (this.ending) {
      const why = 'has stopped; make another with cf.worker()'
      return Promise.reject(errorFor('WORKER_DEAD', this.id, why))
    }
    this.started ??= this.begin()
    return this.started
  }

  /** Whether its lease is good: it may work on runs. */
  holds(): boolean {
    return this.keeper.holds()
  }

  stats(): WorkerStats {
    return { running: this.executions.size, ...this.counts, ...this.sweeper.stats }
  }

  /**
   * No new runs; what is under way finishes its calls and is given back; then the worker is gone.
   * With `graceMs` it waits no longer than this, and says what it had to leave: other workers take
   * those runs over, and learn what became of their calls when this process has ended.
   */
  async stop(options: StopOptions = {}): Promise<Stopped> {
    const { graceMs } = checkStop(options)
    const cancel = graceMs === undefined ? () => {} : this.clock.after(graceMs, this.giveUp)
    this.ending ??= this.end()
    return this.ending.finally(cancel)
  }

  private async end(): Promise<Stopped> {
    await this.started?.catch(() => {})
    this.state = 'stopping'
    const end = await Promise.race([this.gaveUp, this.drain()])
    const unfinished = [...this.executions].map((execution) => {
      const { namespace, runId } = execution.run
      return { namespace, runId, calls: execution.unreturned() }
    })
    for (const execution of this.executions) execution.lose('its worker has given up waiting')
    // A function that runs on keeps the socket: then the end of this process can still be proven.
    const ended = unfinished.length === 0 && this.lingering() === 0
    const leave = this.sweeper.stop().then(() => this.keeper.end(ended))
    if (end === 'drained') await leave
    else await within(this.clock, lastWordMs, leave).catch((error) => this.keeper.report(error))
    this.state = 'stopped'
    return { unfinished }
  }

  private async drain(): Promise<'drained'> {
    // A claim may have been under way: what it brought is drained as well.
    while (this.executions.size > 0 || this.polling) {
      for (const execution of this.executions) execution.drain()
      await Promise.all([...this.executions].map((execution) => execution.done.catch(() => {})))
      await pause(this.clock, 1)
    }
    return 'drained'
  }

  private async begin(): Promise<void> {
    await this.keeper.begin()
    this.state = 'running'
    watchRejections()
    const changed = () => {
      this.sweeper.nudge()
      this.wake()
    }
    this.keeper.onEnd(this.store.onChange(changed))
    this.keeper.every(this.options.pollMs, async () => this.wake())
    this.keeper.every(this.options.pollMs * 2, () => this.lookAround())
    this.sweeper.start()
    // What a dead worker has left is found at once, not at the next look.
    await this.lookAround().catch((error) => this.keeper.report(error))
  }

  /** Functions that have not returned, of executions that are over. */
  private lingering(): number {
    return this.past.reduce((sum, execution) => sum + execution.unreturned(), 0)
  }

  private lookAround(): Promise<void> {
    const own = { workerId: this.id, ...machineOf(this.store) }
    const { liveness = sockets } = this.parts
    return liveness.declareDead(this.store, own).then(() => this.wake())
  }

  private wake(): void {
    if (this.polling) {
      this.pollAgain = true
      return
    }
    this.polling = true
    this.obeyStops()
      .then(() => this.claim())
      .then(() => this.hear())
      .catch((error) => this.keeper.report(error))
      .then(() => {
        this.polling = false
        if (!this.pollAgain) return
        this.pollAgain = false
        this.wake()
      })
  }

  /** Runs of ours that somebody wants paused or cancelled. */
  private async obeyStops(): Promise<void> {
    if (this.executions.size === 0) return
    for (const run of await this.store.stops(this.id)) {
      for (const execution of this.executions) {
        if (sameRun(execution.run, run)) execution.stop(run)
      }
    }
  }

  /** What has come for runs of ours that are busy, while a branch of theirs waits for it. */
  private async hear(): Promise<void> {
    for (const execution of this.executions) if (execution.listens()) await execution.hear()
  }

  private async claim(): Promise<void> {
    const countMax = this.options.concurrency - this.executions.size - this.returning
    if (this.state !== 'running' || countMax <= 0 || !this.keeper.holds()) return
    const graphs = [...this.engine.graphs.values()]
    if (graphs.length === 0) return
    const { namespace } = this.engine
    const all = namespace === undefined || this.options.namespaces === 'all'
    const within = all ? {} : { namespace }
    const lease = this.keeper.lease()
    const runs = await this.store.claim({ workerId: this.id, ...within, graphs, countMax })
    this.counts.claimed += runs.length
    for (const run of runs) if (await this.mayEnter(run)) this.execute(run, lease)
  }

  /** Another namespace may know the same version of a graph with other content (F3). */
  private async mayEnter(run: Run): Promise<boolean> {
    if (this.entered.has(run.namespace)) return true
    try {
      await this.parts.enter(run.namespace)
      this.entered.add(run.namespace)
      return true
    } catch (error) {
      this.keeper.report(error)
      this.returning++
      const cause = `its worker does not carry the graphs of namespace ${run.namespace}`
      void this.giveBack(run, cause, backMaxMs).then(() => {
        this.returning--
      })
      return false
    }
  }

  private execute(run: Run, lease: Lease): void {
    const execution = execute(this.engine, run, lease)
    this.executions.add(execution)
    if (this.state !== 'running') execution.drain()
    execution.done
      .catch((error) => {
        this.keeper.report(error)
        return 'lost' as const
      })
      .then((end) => (end === 'lost' ? this.lose(run, execution.lostBy()) : undefined))
      .then(() => {
        this.executions.delete(execution)
        this.past = [...this.past, execution].filter((each) => each.unreturned() > 0)
        this.wake()
      })
  }

  /**
   * An execution that was lost may still be ours in the store: this process stood still past its
   * lease, and nobody took the run. Then nobody would, once the lease is renewed.
   */
  private lose(run: Run, why: unknown): Promise<void> {
    this.counts.lost++
    // A run that is lost again and again must not keep the others from being worked on.
    const waitMs = Math.min(backMs * run.claims, backMaxMs)
    if (isCounterfoilError(why, 'STORE_MOVED')) this.keeper.report(why)
    if (!isRefusal(why)) {
      const lost = eventOf(run, this.clock.now(), 'lease_lost', { worker: this.id })
      return this.giveBack(run, 'its worker had lost its lease', waitMs, { lost })
    }
    this.parts.onError(why)
    const data = { refused: true, worker: this.id }
    return this.giveBack(run, `its changes were refused: ${why.message}`, waitMs, { data })
  }

  private async giveBack(
    run: Run,
    cause: string,
    afterMs: number,
    more: { data?: Record<string, unknown>; lost?: Event } = {},
  ): Promise<void> {
    const { namespace, runId, fence } = run
    const data = { from: 'running', to: 'pending', cause, ...more.data }
    const state = eventOf(run, this.clock.now(), 'state', data)
    const events = more.lost ? [more.lost, state] : [state]
    const changes = { run: { state: 'pending', release: true } } as const
    const commit = { namespace, runId, fence, workerId: this.id, commitId: `${fence}.back` }
    // A worker that stops need not insist: what it holds is free once it has stopped.
    if (this.state === 'running') await pause(this.clock, afterMs)
    const write = async () => {
      // Rows are put whole, and a store may keep what it is given.
      const again = { ...commit, changes: { ...changes, events: [...events] } }
      const [result] = await this.store.commit([again])
      return result === 'locked' && this.state !== 'running' ? null : result
    }
    const goesOn = (error: unknown) => {
      this.keeper.report(error)
      return this.state === 'running'
    }
    const patience = { clock: this.clock, waitMs: 10, waitMaxMs: 1_000, goesOn }
    await writeUntilAcknowledged(write, patience).catch(() => {})
  }
}

/** The store will not have what this run writes, now or later; its own state is not to blame. */
function isRefusal(why: unknown): why is CounterfoilError {
  return isCounterfoilError(why) && ['ROW_IMMUTABLE', 'WRITE_REFUSED'].includes(why.code)
}

function sameRun(a: Run, b: Run): boolean {
  return a.namespace === b.namespace && a.runId === b.runId && a.fence === b.fence
}
