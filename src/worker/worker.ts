// Owns: claiming runs and executing them, the lease of this worker, and giving everything back.
// Does not own: what happens inside a run.
// Invariants: D2 the worker itself notices by the monotonic clock that its lease is over, before it
// dispatches anything. I9 its own death can be proven by others on the same machine.
import { hostname } from 'node:os'
import { type Clock, pause, randomHex } from '../clock.ts'
import { type Engine, type Execution, execute } from '../engine/execute.ts'
import { CounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import { eventOf, type Run } from '../model/records.ts'
import { bootId } from '../store/boot.ts'
import type { Store } from '../store/store.ts'
import { declareDead, type Listening, listen } from './liveness.ts'
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
  readonly id = `w_${randomHex(8)}`
  private readonly engine: Engine
  private readonly store: Store
  private readonly clock: Clock
  private readonly options: Required<WorkerOptions>
  private readonly onError: (error: unknown) => void
  private readonly executions = new Set<Execution>()
  /** Executions that are over, while functions of theirs run on. */
  private past: Execution[] = []
  private state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  private leaseEndsMs = 0
  private polling = false
  private pollAgain = false
  private listening: Listening | null = null
  private started: Promise<void> | null = null
  private readonly cleanUps: (() => void)[] = []

  constructor(engine: Engine, options: WorkerOptions, onError: (error: unknown) => void) {
    this.engine = engine
    this.store = engine.store
    this.clock = engine.clock
    this.onError = onError
    this.options = {
      concurrency: atLeastOne('concurrency', options.concurrency ?? 10),
      leaseMs: atLeastOne('leaseMs', options.leaseMs ?? limits.leaseMs),
      pollMs: atLeastOne('pollMs', options.pollMs ?? limits.pollMs),
    }
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
    for (const cleanUp of this.cleanUps.splice(0)) cleanUp()
    if (this.listening) {
      // A function that runs on keeps the socket: then the end of this process can still be proven.
      const ended = this.lingering() === 0
      await this.store.stopWorker(this.id, ended)
      if (ended) await this.listening.close()
    }
    this.state = 'stopped'
  }

  private async begin(): Promise<void> {
    this.listening = await listen(this.id)
    const until = this.clock.mono() + this.options.leaseMs
    await this.store.register(
      {
        workerId: this.id,
        pid: process.pid,
        host: hostname(),
        bootId: bootId(),
        socketPath: this.listening.path,
        socketInode: this.listening.inode,
        startedAt: this.clock.now(),
      },
      this.options.leaseMs,
    )
    this.leaseEndsMs = until
    this.state = 'running'
    watchRejections()
    this.cleanUps.push(this.store.onChange(() => this.wake()))
    this.every(this.options.leaseMs / 3, () => this.renew())
    this.every(this.options.pollMs, async () => this.wake())
    this.every(this.options.pollMs * 2, () => this.lookAround())
    // What a dead worker has left is found at once, not at the next look.
    await this.lookAround().catch(this.onError)
  }

  private every(ms: number, work: () => Promise<void>): void {
    let cancel = () => {}
    let over = false
    const next = () => {
      cancel = this.clock.after(ms, () => {
        work()
          .catch(this.onError)
          .then(() => {
            if (!over) next()
          })
      })
    }
    next()
    this.cleanUps.push(() => {
      over = true
      cancel()
    })
  }

  /** Functions that have not returned, of executions that are over. */
  private lingering(): number {
    return this.past.reduce((sum, execution) => sum + execution.unreturned(), 0)
  }

  private holds(): boolean {
    return this.clock.mono() < this.leaseEndsMs
  }

  private async renew(): Promise<void> {
    const until = this.clock.mono() + this.options.leaseMs
    const moved = await this.store.moved()
    if (moved === null && (await this.store.renew(this.id, this.options.leaseMs))) {
      this.leaseEndsMs = until
      return
    }
    this.leaseEndsMs = 0
    const why = moved ?? `worker ${this.id} was declared dead`
    for (const execution of this.executions) execution.lose(why)
    this.onError(new Error(`${why}; it takes no more runs`))
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
    this.claim()
      .catch(this.onError)
      .then(() => {
        this.polling = false
        if (!this.pollAgain) return
        this.pollAgain = false
        this.wake()
      })
  }

  private async claim(): Promise<void> {
    const countMax = this.options.concurrency - this.executions.size
    if (this.state !== 'running' || countMax <= 0 || !this.holds()) return
    const graphs = [...this.engine.graphs.values()]
    if (graphs.length === 0) return
    const { namespace } = this.engine
    const within = namespace === undefined ? {} : { namespace }
    const runs = await this.store.claim({ workerId: this.id, ...within, graphs, countMax })
    for (const run of runs) {
      const execution = execute(this.engine, run, { holds: () => this.holds() })
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

function atLeastOne(name: string, value: number): number {
  if (value >= 1 && Number.isFinite(value)) return value
  const message = `worker: \`${name}\` is ${String(value)}; it must be a number of at least 1`
  throw new CounterfoilError('WORKER_OPTIONS', message)
}
