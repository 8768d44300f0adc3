// One life of one program: the real engine on the memory store under a virtual clock, crashed,
// resumed with other latencies, crashed again, its doubts decided truthfully, until the run has
// ended.

import { Inbox } from '../../src/client/inbox/inbox.ts'
import { sendSignal } from '../../src/client/run/signal.ts'
import { startRun } from '../../src/client/run/start.ts'
import type { LiveCall } from '../../src/engine/attempt/attempt.ts'
import { RateLimits } from '../../src/engine/attempt/rate-limit.ts'
import { Committer } from '../../src/engine/committer.ts'
import { type Engine, execute } from '../../src/engine/visit/execute.ts'
import type { Context } from '../../src/model/graph/context.ts'
import { type Graph, workflow } from '../../src/model/graph/graph.ts'
import type { Run } from '../../src/model/run/records.ts'
import { isEnded } from '../../src/model/run/states.ts'
import type { Schema } from '../../src/model/tool/schema.ts'
import { type Tool, tool } from '../../src/model/tool/tool.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/store.ts'
import { seeded, VirtualClock } from './clock.ts'
import { decideTruthfully } from './person.ts'
import { type CallNode, generate, type Kind, mutate, type Program, run } from './program.ts'
import { type SimInput, type SimResult, sleep, World } from './world.ts'

const ref = { namespace: 'default', runId: 'sim' }
const decisionsMax = 40
const eventsMax = 20_000

export interface IssuedAt {
  node: CallNode
  input: string
}

export interface Life {
  readonly world: World
  readonly notes: string[]
  decisions: number
  drifts: number
  doubts: number
  falseDoubts: number
  crashes: number
  /** Calls of the last execution, by tool and place. */
  issued: Map<string, IssuedAt>
  /** Events at which something became durable or was sent, in the first execution. */
  boundaries: number[]
  events: number
  ended: boolean
  program: Program
  signals: number
  arrivals: number
  /** Signals that the last execution has seen: each is one wait's. */
  heard: Set<string>
  /** The present process's time, which the store sees too. */
  time: VirtualClock
  /** Which site has issued an input, in whatever execution: a recorded one may be sent again. */
  sites: Map<string, CallNode>
}

export interface LifeOptions {
  seed: number
  kind: Kind
  /** The event of the first execution at which the process dies. */
  crashAt: number
  settleMs?: number
  /** The control: unsafe tools declared as keyed, though their upstream ignores keys. */
  misdeclared?: boolean
}

const anything: Schema = {
  '~standard': { version: 1, vendor: 'sim', validate: (value) => ({ value }) },
}

export async function live(options: LifeOptions): Promise<Life> {
  const { seed, kind, crashAt } = options
  const original = generate(seed, kind)
  const first = seeded(seed)
  const later = seeded(seed ^ 0x5bd1e995 ^ (crashAt * 7919))
  const world = new World(first)
  const life: Life = {
    world,
    notes: [],
    decisions: 0,
    drifts: 0,
    doubts: 0,
    falseDoubts: 0,
    crashes: 0,
    issued: new Map(),
    boundaries: [],
    events: 0,
    ended: false,
    program: original,
    sites: new Map(),
    signals: 0,
    arrivals: 0,
    heard: new Set(),
    time: new VirtualClock(1_000, first),
  }
  let clock = life.time
  const shared = { now: () => life.time.now(), mono: () => life.time.mono() }
  const store = openMemory({ clock: { ...clock, ...shared, turn: () => {} } })
  let crash = crashAt
  for (let executions = 1; ; executions++) {
    const end = await executeOnce(life, store, clock, crash, options)
    if (executions === 1) life.events = clock.events
    world.random = later
    const run = await store.getRun(ref)
    if (run && isEnded(run.state)) {
      life.ended = true
      return life
    }
    if (end === 'crash') {
      life.crashes++
      world.crash()
      if (kind === 'version' && life.crashes === 1) life.program = mutate(original, seed + crashAt)
    } else if (run?.state === 'waiting_tool') {
      clock = await arrive(life, store, clock, run, later)
      crash = life.crashes < 3 && later() < 0.3 ? 1 + Math.floor(later() * 60) : crash
      continue
    } else if (run?.state === 'waiting_human') {
      if (++life.decisions > decisionsMax) {
        life.notes.push('ASKS FOR EVER')
        return life
      }
      const inbox = inboxOf(store, clock)
      await decideTruthfully(life, store, inbox)
    } else {
      life.notes.push(`STUCK: ${end}, run is ${run?.state}`)
      return life
    }
    clock = new VirtualClock(clock.now() + 1_000, later)
    const again = life.crashes > 0 && life.crashes < 3 && later() < 0.4
    crash = again ? 1 + Math.floor(later() * 80) : Number.POSITIVE_INFINITY
  }
}

/** What a parked run waits for comes: a signal for every name, or the time. */
async function arrive(
  life: Life,
  store: Store,
  clock: VirtualClock,
  { wakeAt, waitingFor }: Run,
  random: () => number,
): Promise<VirtualClock> {
  const names = waitingFor?.names ?? []
  if (++life.arrivals > decisionsMax) life.notes.push('WAITS FOR EVER')
  if (names.length > 0 && (wakeAt === null || random() < 0.5)) {
    for (const name of names) {
      const id = `s${++life.signals}`
      const options = { id }
      await sendSignal({ store, clock }, ref, name, id, options)
      // A sender that was not answered sends again.
      if (random() < 0.3) await sendSignal({ store, clock }, ref, name, id, options)
    }
    return new VirtualClock(clock.now() + 1, random)
  }
  const next = new VirtualClock(Math.max(clock.now(), wakeAt ?? 0) + 1, random)
  life.time = next
  await store.wakeDue(10)
  return next
}

async function executeOnce(
  life: Life,
  store: Store,
  clock: VirtualClock,
  crashAt: number,
  { settleMs = 250, misdeclared = false }: LifeOptions,
): Promise<string> {
  const process = { dead: false }
  life.time = clock
  const seen = slowStore(store, clock, process, () => life.boundaries.push(clock.events))
  const graph = graphOf(life, clock, misdeclared)
  await startRun(store, clock, graph, null, ref)
  for (const worker of await store.workers()) await store.declareDead(worker.workerId, 'sim')
  const workerId = `w${life.crashes}-${life.decisions}-${life.arrivals}`
  await store.register(
    {
      workerId,
      pid: 1,
      host: 'sim',
      bootId: 'b',
      socketPath: null,
      socketInode: null,
      startedAt: 0,
    },
    Number.POSITIVE_INFINITY,
  )
  const [claimed] = await store.claim({ workerId, graphs: [graph], countMax: 1 })
  if (claimed === undefined) return 'nothing to claim'
  const engine: Engine = {
    store: seen,
    clock,
    settleMs,
    committer: new Committer(seen, clock, { pureFlushMs: 10, onError: () => {} }),
    graphs: new Map([[graph.id, graph]]),
    limits: new RateLimits(clock),
    policy: null,
  }
  let over: string | null = null
  life.issued = new Map()
  life.heard = new Set()
  execute(engine, claimed, { holds: () => true }).done.then(
    (end) => {
      over = end
    },
    (error) => {
      over = `threw ${error.stack}`
    },
  )
  const end = await clock.run(
    () => over !== null,
    (n) => n >= crashAt,
    eventsMax,
  )
  process.dead = true
  return end === 'over' ? (over ?? '?') : end
}

/**
 * A store as a process sees it: a commit takes time, and its acknowledgement can be lost in a
 * crash.
 */
function slowStore(
  store: Store,
  clock: VirtualClock,
  process: { dead: boolean },
  boundary: () => void,
): Store {
  return {
    ...store,
    commit: async (batch) => {
      await sleep(clock, 1 + Math.floor(clock.random() * 3))
      if (process.dead) return new Promise(() => {})
      boundary()
      const results = await store.commit(batch)
      await sleep(clock, 0)
      boundary()
      return results
    },
  }
}

function graphOf(life: Life, clock: VirtualClock, misdeclared: boolean): Graph {
  const { world } = life
  // Which site a call of this execution is: by its tool, input and occurrence, as the ledger knows
  // it.
  const nodes = new Map<string, CallNode>()
  const serve = (input: unknown, call: Parameters<World['serve']>[2]) => {
    const { v } = input as SimInput
    const occurrence = (call as LiveCall).place.split('/').at(-1)
    const node = nodes.get(`${call.tool}|${v}|${occurrence}`) ?? life.sites.get(`${call.tool}|${v}`)
    if (node === undefined) throw new Error('an input that nobody issued')
    return world.serve(node, input as SimInput, call, clock)
  }
  const common = { input: anything, run: serve, timeoutMs: 1e6 }
  const keyed = (name: string) =>
    tool({
      name,
      replayClass: 'idempotent_with_key',
      idempotencyKey: (input, call) => `${(input as SimInput).v}/${call.occurrence}`,
      keyTtlMs: Number.POSITIVE_INFINITY,
      ...common,
    }) as Tool
  const tools: Tool[] = ['a', 'b'].flatMap((x) => [
    tool({ name: `pure_${x}`, replayClass: 'pure', ...common }) as Tool,
    misdeclared
      ? keyed(`unsafe_${x}`)
      : (tool({ name: `unsafe_${x}`, replayClass: 'unsafe_on_replay', ...common }) as Tool),
    keyed(`keyed_${x}`),
  ])
  const byName = new Map(tools.map((each) => [each.name, each]))
  return workflow({
    id: 'sim@1.0.0',
    input: anything,
    tools,
    run: async (_input, ctx: Context) => {
      const counts = new Map<string, number>()
      const call = async (node: CallNode, v: string): Promise<SimResult> => {
        const input = { v }
        const same = `${node.tool}|${v}`
        nodes.set(`${same}|${counts.get(same) ?? 0}`, node)
        life.sites.set(same, node)
        counts.set(same, (counts.get(same) ?? 0) + 1)
        const nth = counts.get(node.tool) ?? 0
        counts.set(node.tool, nth + 1)
        life.issued.set(`${node.tool}#${nth}`, { node, input: v })
        const result = (await ctx.call(byName.get(node.tool) as Tool, input)) as SimResult
        // Identical calls may trade results; any other mix-up is a lie told to the node.
        const mixed = result.site !== node.site && result.input !== v
        if (mixed) life.notes.push(`WRONG RESULT: ${result.site} for ${node.site}`)
        return result
      }
      const machine = {
        call,
        sleep: (ms: number) => sleep(clock, ms),
        durableSleep: (ms: number) => ctx.sleep(ms),
        signal: async (name: string, timeoutMs: number | null) => {
          const options = timeoutMs === null ? {} : { timeoutMs }
          const got = await ctx.signal<string>(name, options)
          if (got && life.heard.has(got.id)) life.notes.push(`SIGNAL TAKEN TWICE: ${got.id}`)
          if (got) life.heard.add(got.id)
          return got && String(got.data)
        },
        now: clock.now,
        nonce: () => world.nonce(),
      }
      await run(life.program, { local: 'in', shared: { value: '0' } }, machine)
    },
  }) as Graph
}

function inboxOf(store: Store, clock: VirtualClock): Inbox {
  const checkWorkers = async () => {}
  return new Inbox({ store, clock, namespace: 'default', graphs: new Map(), checkWorkers })
}
