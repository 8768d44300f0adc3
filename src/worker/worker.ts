// Owns: claiming runs and executing them, and giving everything back.
// Does not own: what happens inside a run, nor the worker's lease (keeper.ts).
import { hostname } from 'node:os'
import { type Clock, pause } from '../clock.ts'
import { type Engine, type Execution, execute } from '../engine/execute.ts'
import { CounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import { eventOf, type Run } from '../model/records.ts'
import { bootId } from '../store/boot.ts'
import type { Store } from '../store/store.ts'
import { Keeper } from './keeper.ts'
import { declareDead } from './liveness.ts'
import { watchRejections } from './rejections.ts'

export interface WorkerOptions {
  /** Runs at once in this process. */
  concurrency?: number
  leaseMs?: number
  pollMs?: number
}

const backMs = 20
const backMaxMs = 5_000

export class Worker {
  readonly id: string
  private readonly keeper: Keeper
  private readonly engine: Engine
  private readonly store: Store
  private readonly clock: Clock
  private readonly options: Required<WorkerOptions>
  private readonly onError: (error: unknown) => void
  private readonly executions = new Set<Execution>()
  /** Executions that are over, while functions of theirs run on. */
  private past: Execution[] = []
  private state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  private polling = false
  private pollAgain = false
  private started: Promise<void> | null = null

  constructor(engine: Engine, options: WorkerOptions, onError: (error: unknown) => void) {
    this.engine = engine
    this.store = engine.store
    this.clock = engine.clock
    this.onError = onError
    checkKeys(options)
    this.options = {
      concurrency: atLeastOne('concurrency', options.concurrency ?? 10),
      leaseMs: atLeastOne('leaseMs', options.leaseMs ?? limits.leaseMs),
      pollMs: atLeastOne('pollMs', options.pollMs ?? limits.pollMs),
    }
    this.keeper = new Keeper(this.store, this.clock, {
      leaseMs: this.options.leaseMs,
      onError,
      onLost: (why) => {
        for (const execution of this.executions) execution.lose(why)
      },
    })
    this.id = this.keeper.id
  }

  /** Begins to work. Resolves when the worker is registered. */
  start(): Promise<void> {
    if (this.state === 'stopping' || this.state === 'stopped') {
      const message = `worker ${this.id} has stopped; make another with cf.worker()`
      return Promise.reject(new CounterfoilError('WORKER_DEAD', message))
    }
    this.started ??= this.begin()
    return this.started
  }

  /**
   * No new runs; what is under way finishes its calls and is given back; then the worker is gone.
   */
  async stop(): Promise<void> {
    if (this.state === 'stopped') return
    await this.started
    this.state = 'stopping'
    // A claim may have been under way: what it brought is drained as well.
    while (this.executions.size > 0 || this.polling) {
      for (const execution of this.executions) execution.drain()
      await Promise.all([...this.executions].map((execution) => execution.done.catch(() => {})))
      await pause(this.clock, 1)
    }
    // A function that runs on keeps the socket: then the end of this process can still be proven.
    await this.keeper.end(this.lingering() === 0)
    this.state = 'stopped'
  }

  private async begin(): Promise<void> {
    await this.keeper.begin()
    this.state = 'running'
    watchRejections()
    this.keeper.onEnd(this.store.onChange(() => this.wake()))
    this.keeper.every(this.options.pollMs, async () => this.wake())
    this.keeper.every(this.options.pollMs * 2, () => this.lookAround())
    // What a dead worker has left is found at once, not at the next look.
    await this.lookAround().catch(this.onError)
  }

  /** Functions that have not returned, of executions that are over. */
  private lingering(): number {
    return this.past.reduce((sum, execution) => sum + execution.unreturned(), 0)
  }

  private lookAround(): Promise<void> {
    const own = { workerId: this.id, bootId: bootId(), host: hostname() }
    return declareDead(this.store, own).then(() => this.wake())
  }

  private wake(): void {
    if (this.polling) {
      this.pollAgain = true
      return
    }
    this.polling = true
    this.obeyStops()
      .then(() => this.claim())
      .catch(this.onError)
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

  private async claim(): Promise<void> {
    const countMax = this.options.concurrency - this.executions.size
    if (this.state !== 'running' || countMax <= 0 || !this.keeper.holds()) return
    const graphs = [...this.engine.graphs.values()]
    if (graphs.length === 0) return
    const { namespace } = this.engine
    const within = namespace === undefined ? {} : { namespace }
    const runs = await this.store.claim({ workerId: this.id, ...within, graphs, countMax })
    for (const run of runs) {
      const execution = execute(this.engine, run, {
        holds: () => this.keeper.holds(),
      })
      this.executions.add(execution)
      if (this.state !== 'running') execution.drain()
      execution.done
        .catch((error) => {
          this.onError(error)
          return 'lost' as const
        })
        .then((end) => (end === 'lost' ? this.giveBack(run) : undefined))
        .then(() => {
          this.executions.delete(execution)
          this.past = [...this.past, execution].filter((each) => each.unreturned() > 0)
          this.wake()
        })
    }
  }

  /**
   * An execution that was lost may still be ours in the store: this process stood still past its
   * lease, and nobody took the run. Then nobody would, once the lease is renewed.
   */
  private async giveBack(run: Run): Promise<void> {
    const { namespace, runId, fence } = run
    const data = { from: 'running', to: 'pending', cause: 'its worker had lost its lease' }
    const event = eventOf(run, this.clock.now(), 'state', data)
    const changes = { run: { state: 'pending', release: true }, events: [event] } as const
    const commit = { namespace, runId, fence, workerId: this.id, commitId: `${fence}.back` }
    // A run that is lost again and again must not keep the others from being worked on. A worker
    // that stops need not insist: what it holds is free once it has stopped.
    if (this.state === 'running') {
      await pause(this.clock, Math.min(backMs * run.claims, backMaxMs))
    }
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, 1_000)) {
      try {
        await this.store.commit([{ ...commit, changes: { ...changes, events: [event] } }])
        return
      } catch (error) {
        this.onError(error)
        if (this.state !== 'running') return
        await pause(this.clock, waitMs)
      }
    }
  }
}

function sameRun(a: Run, b: Run): boolean {
  return a.namespace === b.namespace && a.runId === b.runId && a.fence === b.fence
}

const known = ['concurrency', 'leaseMs', 'pollMs']

function checkKeys(options: WorkerOptions): void {
  const strange = Object.keys(options).find((key) => !known.includes(key))
  if (strange === undefined) return
  const message = `worker: there is no option \`${strange}\`; the options are ${known.join(', ')}`
  throw new CounterfoilError('WORKER_OPTIONS', message)
}

function atLeastOne(name: string, value: number): number {
  if (value >= 1 && Number.isFinite(value)) return value
  const message = `worker: \`${name}\` is ${String(value)}; it must be a number of at least 1`
  throw new CounterfoilError('WORKER_OPTIONS', message)
}
