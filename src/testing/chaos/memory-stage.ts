// A stage inside one process: the memory store, and lives that die by never being heard of again.
// From its boundary on, nothing that a dead life does reaches the store or the upstream. What its
// code does without `ctx` is not stopped: for that, processes are killed (`chaos({ file })`).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerOf, signalOf } from '../../cli/chaos/module.ts'
import { callAgent } from '../../cli/chaos/stage/agent.ts'
import { withBoundaries } from '../../cli/chaos/stage/points.ts'
import type {
  Agent,
  Answers,
  Asked,
  Desk,
  End,
  Entry,
  Failure,
  Life,
  Mocks,
  Rest,
  Signals,
  Stage,
} from '../../cli/chaos/types.ts'
import { entriesOf, type Line, mockOf, Upstream } from '../../cli/chaos/upstream.ts'
import { Wrapper } from '../../cli/chaos/wrap.ts'
import { Callbacks } from '../../client/callbacks.ts'
import { Inbox } from '../../client/inbox/inbox.ts'
import { RunHandle } from '../../client/run/run.ts'
import { startRun } from '../../client/run/start.ts'
import { type Clock, pause, systemClock } from '../../clock.ts'
import { RateLimits } from '../../engine/attempt/rate-limit.ts'
import { Committer } from '../../engine/committer.ts'
import { type Engine, type Execution, execute } from '../../engine/visit/execute.ts'
import type { Graph } from '../../model/graph/graph.ts'
import * as limits from '../../model/limits.ts'
import type { RiskPolicy } from '../../model/tool/risk.ts'
import { compose } from '../../open.ts'
import { openMemory } from '../../store/memory/index.ts'
import type { Store } from '../../store/store.ts'
import type { Liveness } from '../../worker/liveness.ts'

/** What is the same for every stage. */
export interface MemoryCast {
  /** Null for an agent. */
  readonly graph: Graph | null
  readonly agent: Agent | null
  readonly graphs: readonly Graph[]
  readonly input: unknown
  readonly mocks: Mocks
  readonly answers: Answers
  readonly signals: Signals
  readonly gate: RiskPolicy | null
  readonly isReal: (tool: string, replayClass: string | null) => boolean
  readonly timeoutMs: number
  readonly seed: number
}

const namespace = 'default'
const lookMs = 2
/** Who dies here is declared dead by the stage. */
const unheard: Liveness = {
  listen: async () => ({ path: '', inode: null, close: async () => {} }),
  declareDead: async () => {},
}
const never = new Promise<never>(() => {})

/** One life, as long as it lasts. */
class Mortal {
  readonly hits: string[] = []
  dead = false
  readonly over: Promise<Pick<Life, 'died' | 'fault'>>
  private readonly dieAt: number
  private readonly timers = new Set<() => void>()
  private finish: (how: Pick<Life, 'died' | 'fault'>) => void = () => {}

  constructor(dieAt: number) {
    this.dieAt = dieAt
    this.over = new Promise((resolve) => {
      this.finish = resolve
    })
  }

  readonly hit = (boundary: string): Promise<never> | undefined => {
    if (this.dead) return never
    this.hits.push(boundary)
    if (this.hits.length !== this.dieAt) return
    this.end()
    this.finish({ died: boundary, fault: null })
    return never
  }

  /** It cannot go on, and nobody has killed it. */
  fail(fault: Failure): Promise<never> {
    this.end()
    this.finish({ died: null, fault })
    return never
  }

  end(): void {
    this.dead = true
    for (const cancel of this.timers) cancel()
  }

  clock(clock: Clock): Clock {
    const after: Clock['after'] = (ms, fn) => {
      if (this.dead) return () => {}
      const stop = clock.after(ms, () => {
        this.timers.delete(stop)
        fn()
      })
      this.timers.add(stop)
      return stop
    }
    return { ...clock, after }
  }

  store(store: Store): Store {
    const wrapped = Object.entries(store).map(([name, value]) => {
      if (typeof value !== 'function' || name === 'onChange') return [name, value]
      return [name, (...args: unknown[]) => (this.dead ? never : value(...args))]
    })
    const seen = Object.fromEntries(wrapped) as Store
    return { ...seen, ...withBoundaries(seen, this.hit) }
  }
}

export class MemoryStage implements Stage {
  readonly runId = 'chaos'
  readonly jumpsAlive = true
  private readonly cast: MemoryCast
  private readonly lines: Line[] = []
  private readonly upstream: Upstream
  private readonly store: Store
  private readonly clock: Clock
  private skewMs = 0
  private lives = 0
  private dir: string | null = null

  constructor(cast: MemoryCast) {
    this.cast = cast
    this.clock = { ...systemClock, now: () => systemClock.now() + this.skewMs }
    this.store = openMemory({ clock: this.clock })
    const write = (line: Line) => void this.lines.push(line)
    this.upstream = new Upstream({ mocks: cast.mocks, recorded: [], write })
  }

  async live(dieAt: number, rest: Rest): Promise<Life> {
    const mortal = new Mortal(dieAt)
    const workerId = `chaos-${++this.lives}`
    const { hits } = mortal
    const seconds = Math.round(this.cast.timeoutMs / 1_000)
    const message = `it had not ended after ${seconds} s`
    const late = { name: 'Timeout', code: 'timeout', message }
    const cancel = systemClock.after(this.cast.timeoutMs, () => void mortal.fail(late))
    const well = { died: null, fault: null }
    const ended = this.work(mortal, workerId, rest).then(() => well)
    const how = await Promise.race([ended, mortal.over]).finally(() => {
      cancel()
      mortal.end()
    })
    for (const row of await this.store.workers())
      await this.store.declareDead(row.workerId, 'chaos')
    return { hits, end: null, ...how }
  }

  private async work(mortal: Mortal, workerId: string, rest: Rest): Promise<void> {
    const { graph, graphs, agent, input, gate } = this.cast
    if (graph === null) return this.workAgent(mortal, agent, rest)
    const clock = mortal.clock(this.clock)
    const store = mortal.store(this.store)
    const wrapper = this.wrapper(mortal)
    const wrapped = wrapper.graphs(graphs)
    const pureFlushMs = limits.pureFlushMs
    const engine: Engine = {
      store,
      clock,
      namespace,
      policy: gate,
      settleMs: limits.settleMs,
      committer: new Committer(store, clock, { pureFlushMs, onError: () => {} }),
      graphs: new Map(wrapped.map((one) => [one.id, one])),
      limits: new RateLimits(clock),
    }
    const { runId } = this
    await startRun(store, clock, wrapper.graph(graph), input, { namespace, runId })
    const here = { pid: process.pid, host: 'chaos', bootId: 'chaos', startedAt: clock.now() }
    const worker = { workerId, ...here, socketPath: null, socketInode: null }
    await store.register(worker, Number.POSITIVE_INFINITY)
    do await this.workOff(mortal, engine, workerId)
    while (await rest(null))
    await store.stopWorker(workerId, true)
  }

  private async workAgent(mortal: Mortal, agent: Agent | null, rest: Rest): Promise<void> {
    const { gate, input } = this.cast
    const { runId } = this
    // It outlives whoever closes it here.
    const store = { ...mortal.store(this.store), close: async () => {} }
    const wrapper = this.wrapper(mortal)
    const options = { store: 'memory:', onWarning: () => {}, ...(gate ? { gate } : {}) }
    const clock = mortal.clock(this.clock)
    const cf = wrapper.counterfoil(compose(store, clock, new Map(), options, unheard))
    const given = { input, runId, dir: this.folder(), upstream: wrapper.upstream(runId) }
    let end: End | null
    do end = agent && (await callAgent(agent, cf, given))
    while (await rest(end))
    await cf.close()
  }

  private folder(): string {
    this.dir ??= mkdtempSync(join(tmpdir(), 'counterfoil-chaos-'))
    return this.dir
  }

  /** Until nothing can be claimed, and what was has ended or parked. */
  private async workOff(mortal: Mortal, engine: Engine, workerId: string): Promise<void> {
    const running = new Set<Execution>()
    const graphs = [...engine.graphs.values()]
    const request = { workerId, namespace, graphs, countMax: limits.batchMax }
    for (;;) {
      const runs = await engine.store.claim(request)
      for (const run of runs) {
        const execution = execute(engine, run, { holds: () => !mortal.dead })
        running.add(execution)
        void execution.done.finally(() => running.delete(execution)).catch(() => {})
      }
      if (running.size === 0) return
      await Promise.race([...running].map(({ done }) => done).concat(this.soon()))
      for (const execution of running) if (execution.listens()) await execution.hear()
    }
  }

  private soon(): Promise<never> {
    return pause(systemClock, lookMs) as Promise<never>
  }

  private wrapper(mortal: Mortal): Wrapper {
    const { isReal, mocks, seed } = this.cast
    return new Wrapper({
      hit: mortal.hit,
      ask: async (ask) => {
        const reply = mortal.dead ? await never : await this.upstream.serve(ask)
        const missing = !reply.ok && reply.error.code === 'CHAOS_UPSTREAM_MISSING'
        return missing ? mortal.fail(reply.error) : reply
      },
      begin: async (ask) => {
        const id = this.upstream.begin(ask)
        return async (reply) => this.upstream.end(id, reply)
      },
      isReal,
      seed,
      hasProbe: (tool) => mockOf(mocks, tool)?.probe !== undefined,
    })
  }

  look<T>(work: (desk: Desk) => Promise<T>): Promise<T> {
    const { store, clock, cast } = this
    const graphs = new Map(cast.graphs.map((graph) => [graph.id, graph]))
    const client = { store, clock, namespace, graphs, checkWorkers: async () => {} }
    return work({
      store,
      namespace,
      inbox: new Inbox(client),
      callbacks: new Callbacks(client),
      run: (runId) => new RunHandle(client, runId),
    })
  }

  settled(): Promise<void> {
    return this.upstream.idle()
  }

  entries(): readonly Entry[] {
    return entriesOf(this.lines)
  }

  async answer(asked: Asked): Promise<unknown> {
    return answerOf(this.cast.answers, asked)
  }

  async signal(name: string, runId: string): Promise<unknown> {
    return signalOf(this.cast.signals, { name, runId })
  }

  async totals(): Promise<null> {
    return null
  }

  async jump(toMs: number): Promise<void> {
    this.skewMs = Math.max(this.skewMs, toMs - systemClock.now() + 1)
    await this.store.wakeDue(limits.wakeBatchMax)
  }

  async close(): Promise<void> {
    if (this.dir !== null) rmSync(this.dir, { recursive: true, force: true })
  }
}
