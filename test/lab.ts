// A laboratory for one run: the real engine on the memory store under a virtual clock. A process is
// one `execute`; it ends by itself, or is killed at a moment that the test chooses. What was
// durable by then is all that the next one sees.
import { Callbacks } from '../src/client/callbacks.ts'
import { Inbox } from '../src/client/inbox/inbox.ts'
import { verifyLedger } from '../src/client/ledger/verify.ts'
import { type Preview, previewRun } from '../src/client/run/preview.ts'
import {
  type FailedCall,
  failedCalls,
  type RetryRequest,
  retryRun,
} from '../src/client/run/retry.ts'
import { sendSignal } from '../src/client/run/signal.ts'
import { startRun } from '../src/client/run/start.ts'
import { askFor, type Stopping, type Wish } from '../src/client/run/stop.ts'
import { RateLimits } from '../src/engine/attempt/rate-limit.ts'
import { Committer } from '../src/engine/committer.ts'
import { type Engine, type Execution, execute } from '../src/engine/visit/execute.ts'
import type { Queues } from '../src/model/decisions/approval.ts'
import type { DecideRequest } from '../src/model/decisions/decide.ts'
import type { Context } from '../src/model/graph/context.ts'
import { type Graph, workflow } from '../src/model/graph/graph.ts'
import type { CallStatus, Item, Run } from '../src/model/run/records.ts'
import type { RiskPolicy } from '../src/model/tool/risk.ts'
import type { Schema } from '../src/model/tool/schema.ts'
import {
  type AnySpec,
  type CallInfo,
  makeTool,
  type ReplayClass,
  type Tool,
} from '../src/model/tool/tool.ts'
import { openMemory } from '../src/store/memory/index.ts'
import type { Commit, CommitResult, Store } from '../src/store/store.ts'
import { seeded, VirtualClock } from './sim/clock.ts'
import { sleep } from './sim/world.ts'

const ref = { namespace: 'default', runId: 'lab' }

export interface ProcessOptions {
  /** Kills the process as soon as this is true (asked between two turns). */
  killWhen?: () => boolean
  settleMs?: number
  policy?: RiskPolicy
  queues?: Queues
  /** Stands between the engine and the store's commit: lose an acknowledgement, refuse a write. */
  commit?: (
    batch: readonly Commit[],
    apply: () => Promise<CommitResult[]>,
  ) => Promise<CommitResult[]>
  /** Whether the worker's lease still holds. */
  holds?: () => boolean
  /** The worker's death is not noticed by its successor: only its lease has ended. */
  notDead?: boolean
  /** Leaves the process as soon as this is true: it lives on while others drive the clock. */
  leaveWhen?: () => boolean
  /** Looks this often whether somebody wants the run stopped, as a worker does. */
  obeysMs?: number
}

export class Lab {
  clock: VirtualClock
  readonly store: Store
  readonly inbox: Inbox
  /** Commits that were applied, in order. */
  readonly commits: Commit[] = []
  execution: Execution | null = null
  private processes = 0
  private readonly random = seeded(7)

  constructor() {
    this.clock = new VirtualClock(1_000_000, this.random)
    const own = { ...this.clock, now: () => this.clock.now(), mono: () => this.clock.mono() }
    this.store = openMemory({ clock: { ...own, turn: () => {} } })
    this.inbox = new Inbox({
      store: this.store,
      clock: own,
      namespace: ref.namespace,
      graphs: new Map(),
      checkWorkers: async () => {},
    })
  }

  /** Starts the run if it is not there, and executes it in a process of its own. */
  async process(graph: Graph, input: unknown, options: ProcessOptions = {}): Promise<string> {
    await startRun(this.store, this.clock, graph, input, ref)
    const workerId = await this.register(options)
    const [claimed] = await this.store.claim({ workerId, graphs: [graph], countMax: 1 })
    if (claimed === undefined) return 'nothing to claim'
    const life = { dead: false }
    const engine = this.engine([graph], life, options)
    let over: string | null = null
    this.execution = execute(engine, claimed, { holds: options.holds ?? (() => true) })
    this.execution.done.then(
      (end) => {
        over = end
      },
      (error) => {
        over = `threw ${error.stack}`
      },
    )
    if (options.obeysMs) this.obey(this.execution, options.obeysMs)
    const killed = () => options.killWhen?.() ?? false
    const left = () => over !== null || (options.leaveWhen?.() ?? false)
    const end = await this.clock.run(left, killed, 100_000)
    if (end === 'crash') {
      life.dead = true
      this.clock = new VirtualClock(this.clock.now() + 1_000, this.random)
    }
    return end === 'over' ? (over ?? 'left') : end
  }

  /**
   * A worker's process: it wakes what is due, takes whatever can be claimed, and hears what has
   * come, until nothing is left to do, or it is killed. The run has to be started before.
   */
  async serve(graphs: readonly Graph[], options: ProcessOptions = {}): Promise<string> {
    const workerId = await this.register(options)
    const life = { dead: false }
    const engine = this.engine(graphs, life, options)
    const running = new Set<Execution>()
    let idle = false
    const look = async () => {
      if (life.dead) return
      await this.store.wakeDue(100)
      for (const run of await this.store.claim({ workerId, graphs, countMax: 100 })) {
        const execution = execute(engine, run, { holds: options.holds ?? (() => true) })
        running.add(execution)
        const over = () => running.delete(execution)
        execution.done.then(over, over)
      }
      for (const execution of running) {
        await this.obeyOnce(execution)
        if (execution.listens()) await execution.hear()
      }
      idle = running.size === 0
      if (!idle) this.clock.after(10, look)
    }
    this.clock.after(0, look)
    const killed = () => options.killWhen?.() ?? false
    const end = await this.clock.run(() => idle, killed, 200_000)
    if (end === 'crash') {
      life.dead = true
      this.clock = new VirtualClock(this.clock.now() + 1_000, this.random)
    }
    return end
  }

  async start(graph: Graph, input: unknown = null, runId = ref.runId): Promise<void> {
    await startRun(this.store, this.clock, graph, input, { ...ref, runId })
  }

  signal(name: string, data?: unknown, id?: string) {
    const options = id === undefined ? {} : { id }
    return sendSignal({ store: this.store, clock: this.clock }, ref, name, data, options)
  }

  callbacks(graphs: readonly Graph[] = []): Callbacks {
    const client = { namespace: ref.namespace, checkWorkers: async () => {} }
    const known = new Map(graphs.map((graph) => [graph.id, graph]))
    return new Callbacks({ ...client, store: this.store, clock: this.clock, graphs: known })
  }

  /** Lets time pass: late answers of calls whose visit is over arrive here. */
  async pass(ms: number): Promise<void> {
    let over = false
    this.clock.after(ms, () => {
      over = true
    })
    await this.clock.run(
      () => over,
      () => false,
      100_000,
    )
  }

  async state(): Promise<string> {
    return (await this.store.getRun(ref))?.state ?? 'none'
  }

  async output(): Promise<unknown> {
    return JSON.parse((await this.store.getRun(ref))?.outputJson ?? 'null')
  }

  async error(): Promise<{ message: string; code?: string }> {
    return JSON.parse((await this.store.getRun(ref))?.errorJson ?? 'null')
  }

  async items(): Promise<readonly Item[]> {
    return (await this.inbox.list()).items
  }

  async item(): Promise<Item> {
    const [item] = await this.items()
    if (item === undefined) throw new Error('nothing waits for a person')
    return item
  }

  async events(kind?: string): Promise<readonly { kind: string; data: Record<string, unknown> }[]> {
    const { items } = await this.store.listEvents(ref, { countMax: 500 })
    return items.filter((event) => kind === undefined || event.kind === kind)
  }

  async records() {
    return (await this.store.listRecords(ref, { countMax: 500 })).items
  }

  attempts() {
    return this.store.listAttempts(ref)
  }

  decisions() {
    return this.store.listDecisions(ref)
  }

  /** Whether so many calls of this tool have a durable record with this status. */
  durable(tool: string, status: CallStatus = 'committed', count = 1): boolean {
    const rows = this.commits.flatMap((commit) => commit.changes.records ?? [])
    return rows.filter((row) => row.tool === tool && row.status === status).length >= count
  }

  /** Decides the first open item, having made sure. */
  async decide(said: Partial<DecideRequest> & Pick<DecideRequest, 'outcome'>): Promise<void> {
    const item = await this.item()
    await this.inbox.decide(item.itemId, {
      by: 'tester',
      reason: 'looked',
      version: item.version,
      madeSure: true,
      ...said,
    })
  }

  /** Pause, resume or cancel, as a client asks for it. `dead`: the worker's death is known. */
  async wish(what: Stopping, { dead = false, ...wish }: Wish & { dead?: boolean } = {}) {
    const checkWorkers = async () => {
      for (const { workerId } of dead ? await this.store.workers() : []) {
        await this.store.declareDead(workerId, 'killed by the test')
      }
    }
    await askFor({ store: this.store, clock: this.clock, checkWorkers }, ref, what, wish)
  }

  retry(request: Partial<RetryRequest> = {}): Promise<void> {
    const said = { by: 'tester', reason: 'mended', ...request }
    return retryRun(this.store, this.clock, ref, said)
  }

  failedCalls(): Promise<FailedCall[]> {
    return failedCalls(this.store, ref)
  }

  async preview(graph: Graph): Promise<Preview> {
    const made = await previewRun(this.store, this.clock, new Map([[graph.id, graph]]), ref)
    if (made === null) throw new Error('there is no run')
    return made
  }

  async run(): Promise<Run> {
    const run = await this.store.getRun(ref)
    if (run === null) throw new Error('there is no run')
    return run
  }

  /** What the ledger's own check finds wrong. */
  async findings(): Promise<string[]> {
    const { findings } = await verifyLedger(this.store, { namespace: ref.namespace })
    return findings.map((each) => `${each.kind} ${each.subject}: ${each.message}`)
  }

  /** What a worker does on its rounds. */
  async obeyOnce(execution: Execution): Promise<void> {
    for (const run of await this.store.stops(execution.run.workerId ?? '')) {
      if (run.runId === execution.run.runId) execution.stop(run)
    }
  }

  private obey(execution: Execution, ms: number): void {
    let over = false
    const end = () => {
      over = true
    }
    execution.done.then(end, end)
    const look = () => {
      if (!over) void this.obeyOnce(execution).then(() => this.clock.after(ms, look))
    }
    this.clock.after(ms, look)
  }

  private async register({ notDead = false }: ProcessOptions): Promise<string> {
    for (const worker of await this.store.workers()) {
      if (notDead) await this.store.renew(worker.workerId, 0)
      else await this.store.declareDead(worker.workerId, 'killed by the test')
    }
    const workerId = `w${++this.processes}`
    const where = { host: 'lab', bootId: 'boot', socketPath: null, socketInode: null }
    await this.store.register(
      { workerId, pid: this.processes, ...where, startedAt: this.clock.now() },
      Number.POSITIVE_INFINITY,
    )
    return workerId
  }

  private engine(
    carried: readonly Graph[],
    life: { dead: boolean },
    options: ProcessOptions,
  ): Engine {
    const { clock } = this
    const apply = async (batch: readonly Commit[]) => {
      if (life.dead) return new Promise<never>(() => {})
      const results = await this.store.commit(batch)
      this.commits.push(...batch.filter((_, i) => results[i] === 'done'))
      return results
    }
    const store: Store = {
      ...this.store,
      commit: async (batch) => {
        await sleep(clock, 1)
        if (life.dead) return new Promise<never>(() => {})
        const results = options.commit
          ? await options.commit(batch, () => apply(batch))
          : await apply(batch)
        await sleep(clock, 0)
        return life.dead ? new Promise<never>(() => {}) : results
      },
      amend: async (...args) =>
        life.dead ? new Promise<never>(() => {}) : this.store.amend(...args),
    }
    const committer = new Committer(store, clock, { pureFlushMs: 10, onError: () => {} })
    const graphs = new Map(carried.map((graph) => [graph.id, graph]))
    const limits = new RateLimits(clock)
    const { settleMs = 250, policy = null, queues = {} } = options
    return { store, clock, committer, graphs, settleMs, limits, policy, queues }
  }
}

/** The moment at which a life kills one of its processes: after so many events of its clock. */
export class Kill {
  events = 0
  readonly at: number

  constructor(at: number) {
    this.at = at
  }

  /** For `killWhen` of the process that is to die. */
  in(lab: Lab): () => boolean {
    const from = lab.clock.events
    return () => {
      this.events = Math.max(this.events, lab.clock.events - from)
      return lab.clock.events - from >= this.at
    }
  }
}

/** A life without a kill, and then one for every event of the process that it kills. */
export async function atEveryEvent(life: (kill: Kill) => Promise<void>): Promise<number> {
  const whole = new Kill(Number.POSITIVE_INFINITY)
  await life(whole)
  for (let at = 1; at <= whole.events; at++) {
    try {
      await life(new Kill(at))
    } catch (error) {
      throw Object.assign(error as Error, {
        message: `at event ${at}: ${(error as Error).message}`,
      })
    }
  }
  return whole.events
}

/** A tool's work in virtual time. */
export function work(lab: Lab, ms: number): Promise<void> {
  return sleep(lab.clock, ms)
}

const anything: Schema = {
  '~standard': { version: 1, vendor: 'lab', validate: (value) => ({ value }) },
}

/** A workflow of the laboratory: no input, and any version of its code under the same id. */
export function flow(tools: readonly Tool[], run: (ctx: Context) => Promise<unknown>): Graph {
  const start = (_: unknown, ctx: Context) => run(ctx)
  return workflow({ id: 'w@1.0.0', input: anything, tools, run: start }) as Graph
}

export interface Sent {
  readonly input: unknown
  readonly key: string | null
  readonly attempt: number
  readonly at: number
}

export interface FakeOptions extends Partial<Omit<AnySpec, 'replayClass' | 'run'>> {
  /** How long it takes. */
  ms?: number | ((n: number) => number)
  /** What it answers or throws; n counts the sends of this tool from 1. */
  does?: (n: number, input: unknown, call: CallInfo) => unknown
}

export interface Fake<Out> {
  readonly tool: Tool<unknown, Out>
  readonly sent: Sent[]
}

/** A tool whose upstream remembers what was sent; it answers `{ id: 'name1' }` unless told. */
export function fake<Out = { id: string }>(
  lab: Lab,
  name: string,
  replayClass: ReplayClass,
  { ms = 50, does = (n) => ({ id: `${name}${n}` }), ...rules }: FakeOptions = {},
): Fake<Out> {
  const sent: Sent[] = []
  const keyed = { idempotencyKey: () => `key-${name}`, keyTtlMs: Number.POSITIVE_INFINITY }
  const run = async (input: unknown, call: CallInfo) => {
    const { idempotencyKey: key, attempt } = call
    const n = sent.push({ input: structuredClone(input), key, attempt, at: lab.clock.now() })
    await work(lab, typeof ms === 'number' ? ms : ms(n))
    return does(n, input, call)
  }
  const own = replayClass === 'idempotent_with_key' ? keyed : {}
  const spec = { input: anything, timeoutMs: 10_000, ...own, ...rules, replayClass, run }
  return { tool: makeTool<unknown, Out>(name, spec), sent }
}
