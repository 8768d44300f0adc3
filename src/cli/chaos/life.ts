// A process of its own: one life of the user's graph or agent. It works until nothing is left to do
// or to wait for, or kills itself (SIGKILL: no handler, no flush) at the boundary it was given.
import { readFileSync, writeFileSync } from 'node:fs'
import { systemClock } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import * as limits from '../../model/limits.ts'
import { type Counterfoil, open } from '../../open.ts'
import { type Brought, readModule } from './module.ts'
import { callAgent } from './stage/agent.ts'
import { quiet } from './stage/idle.ts'
import { withBoundaries } from './stage/points.ts'
import type { Ask, End, Failure, Life, Reply } from './types.ts'
import { failureOf } from './upstream.ts'
import { type LifeSpec, post, type Resting, type Told } from './wire.ts'
import { Wrapper } from './wrap.ts'

const spec = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as LifeSpec
const hits: string[] = []

function leave(how: Partial<Life>, code = 0): never {
  const life: Life = { hits, died: null, end: null, fault: null, ...how }
  writeFileSync(spec.out, JSON.stringify(life))
  process.exit(code)
}

function hit(boundary: string): undefined {
  hits.push(boundary)
  if (hits.length !== spec.dieAt) return
  const life: Life = { hits, died: boundary, end: null, fault: null }
  writeFileSync(spec.out, JSON.stringify(life))
  process.kill(process.pid, 'SIGKILL')
}

const wrapper = new Wrapper({
  hit,
  ask: async (ask: Ask) => {
    const reply = await post<Reply>(spec.port, '/ask', ask)
    if (reply.ok || reply.error.code !== 'CHAOS_UPSTREAM_MISSING') return reply
    return leave({ fault: reply.error }, 1)
  },
  begin: async (ask: Ask) => {
    const id = await post<number>(spec.port, '/begin', ask)
    return (reply) => post(spec.port, '/end', { id, reply })
  },
  isReal: (tool, replayClass) =>
    [tool, 'all', ...(replayClass === 'pure' ? ['pure'] : [])].some((name) =>
      spec.real.includes(name),
    ),
  hasProbe: (tool) => spec.probes.includes(tool),
  seed: spec.seed,
})

async function main(): Promise<void> {
  const brought = await readModule(spec.file)
  // Days are not waited for: the clock is set on (drive.ts).
  let { skewMs } = spec
  const { now } = systemClock
  Object.assign(systemClock, { now: () => now() + skewMs })
  const graphs = wrapper.graphs(brought.graphs)
  const cf = await open({
    store: spec.store,
    namespace: spec.namespace,
    graphs,
    onWarning: () => {},
    retention: 'off' as const,
    ...(spec.key === null ? {} : { key: spec.key }),
    ...(brought.gate ? { gate: brought.gate } : {}),
  })
  Object.assign(cf.store, withBoundaries(cf.store, hit))
  const work = spec.graph === null ? agentOf(cf, brought) : await runOf(cf, graphs)
  for (;;) {
    const end = await work()
    const told = await rest(end)
    const later = told.skewMs > skewMs
    skewMs = told.skewMs
    if (later) await cf.store.wakeDue(limits.wakeBatchMax)
    if (told.goOn) continue
    await cf.close()
    leave({ end })
  }
}

function rest(end: End | null): Promise<Told> {
  process.send?.({ end } satisfies Resting)
  return new Promise((resolve) => {
    process.once('message', (told: Told) => resolve(told))
  })
}

async function runOf(cf: Counterfoil, graphs: readonly Graph[]): Promise<() => Promise<null>> {
  const graph = graphs.find(({ id }) => id === spec.graph)
  if (graph === undefined) {
    throw errorFor('GRAPH_UNKNOWN', spec.graph, `is not exported by ${spec.file}`)
  }
  await cf.start(graph, spec.input, { runId: spec.runId })
  await cf.worker({ concurrency: 20, pollMs: 50 }).start()
  return async () => {
    await quiet(cf.store, spec.namespace)
    return null
  }
}

function agentOf(cf: Counterfoil, { agent }: Brought): () => Promise<End | null> {
  const { input, runId, dir } = spec
  const given = { input, runId, dir, upstream: wrapper.upstream(runId) }
  if (agent === null)
    throw errorFor('GRAPH_UNKNOWN', null, `and no agent is exported by ${spec.file}`)
  const wrapped = wrapper.counterfoil(cf)
  return () => callAgent(agent, wrapped, given)
}

function broken(error: unknown): never {
  const fault: Failure = failureOf(error)
  return leave({ fault }, 1)
}

process.on('disconnect', () => process.exit(0))
main().catch(broken)
