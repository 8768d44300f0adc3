// Versions, tools and workers.
import { z } from 'zod'
import { iso } from '../../client/wire/iso.ts'
import { workerJson } from '../../client/wire/worker.ts'
import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import { runStates } from '../../model/run/states.ts'
import type { Tool } from '../../model/tool/tool.ts'
import * as limits from '../http/limits.ts'
import { part } from '../http/page.ts'
import { route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

const tag = 'fleet'
const ended = ['completed', 'failed', 'cancelled']

const versions = route({
  method: 'GET',
  path: '/v1/versions',
  role: 'viewer',
  tag,
  summary: 'The versions of graphs, and what is left on each.',
  query: z.strictObject(shapes.paging),
  answer: shapes.list(z.looseObject({ graph: z.string(), version: z.string() })),
  handler: async ({ query, client: { store, namespace, graphs } }) => {
    const rows = (await store.listVersions(namespace))
      .filter((row) => row.graph !== scopeGraph.name)
      .map(({ graph, version, registeredAt, states }) => {
        const sum = (names: readonly string[]) =>
          runStates.reduce((n, s) => n + (names.includes(s) ? (states[s] ?? 0) : 0), 0)
        const live = runStates.filter((state) => !ended.includes(state))
        return {
          graph,
          version,
          registered_at: iso(registeredAt),
          live: sum(live),
          ended: sum(ended),
          states,
          carried: graphs.has(`${graph}@${version}`),
        }
      })
    return { json: part(rows, query) }
  },
})

const tools = route({
  method: 'GET',
  path: '/v1/tools',
  role: 'viewer',
  tag,
  summary: 'The tools of the graphs that this server carries, and what a replay does with each.',
  query: z.strictObject(shapes.paging),
  answer: shapes.list(z.looseObject({ tool_name: z.string(), replay_class: z.string() })),
  handler: ({ query, client: { graphs } }) => {
    const rows = [...graphs.values()].flatMap((graph) =>
      [...graph.tools.values()].map((tool) => toolJson(graph, tool)),
    )
    return { json: part(rows, query) }
  },
})

function toolJson(graph: Graph, { name, replayClass, rules }: Tool) {
  const forever = rules.keyTtlMs === Number.POSITIVE_INFINITY
  return {
    tool_name: name,
    graph: graph.id,
    replay_class: replayClass,
    key_ttl_ms: forever ? null : rules.keyTtlMs,
    key_for_ever: forever,
    has_probe: rules.probe !== null,
    timeout_ms: rules.timeoutMs,
    quiet_ms: rules.quietMs,
    outlives: rules.outlives,
    callback_ms: rules.callbackMs,
    share_ms: rules.shareMs,
    tags: rules.tags,
    blast_radius: rules.blastRadius,
    attempts_max: rules.retry.attemptMax,
    recovery: recoveryOf(replayClass, rules.probe !== null),
  }
}

/** What happens to a call that was under way when its worker died. */
function recoveryOf(replayClass: Tool['replayClass'], probes: boolean): string {
  if (replayClass === 'pure') return 'made again'
  if (replayClass === 'idempotent_with_key') {
    return probes ? 'asked for by its key, else sent again with it' : 'sent again with its key'
  }
  return probes ? 'asked for, else put before a person' : 'put before a person'
}

const workers = route({
  method: 'GET',
  path: '/v1/workers',
  role: 'viewer',
  tag,
  global: true,
  summary: 'The processes that work on runs, and the runs of this namespace that each holds.',
  query: z.strictObject({ ...shapes.paging, all: shapes.flag.default(false) }),
  answer: shapes.list(z.looseObject({ worker_id: z.string(), state: z.string() })),
  handler: async ({ query, client: { store, namespace, checkWorkers } }) => {
    await checkWorkers()
    const filter = { namespace, state: 'running', countMax: limits.childrenCounted } as const
    const { items } = await store.listRuns(filter)
    const rows = (await store.workers())
      .filter((row) => query.all || (row.diedAt === null && row.stoppedAt === null))
      .sort((a, b) => b.startedAt - a.startedAt)
      .map((row) => {
        const held = items.filter((run) => run.workerId === row.workerId)
        return workerJson(
          row,
          held.map(({ runId }) => runId),
        )
      })
    return { json: part(rows, query) }
  },
})

const dead = route({
  method: 'POST',
  path: '/v1/workers/:worker/dead',
  role: 'admin',
  tag,
  global: true,
  summary: 'States on record that a worker is dead: its runs are taken over at once.',
  params: z.object({ worker: shapes.id }),
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({ proof: shapes.reason }),
  answer: z.looseObject({ worker_id: z.string(), state: z.string() }),
  handler: async ({ params, body, who, client: { store }, server }) => {
    const { worker: workerId } = params
    const find = async () => (await store.workers()).find((row) => row.workerId === workerId)
    // A worker works for every namespace: who may speak for one only may not end it.
    if (who.namespace !== '*' || (await find()) === undefined) {
      throw errorFor('WORKER_NOT_FOUND', workerId)
    }
    const proof = await server.proofOf(workerId, `stated by ${who.name}: ${body.proof}`)
    await store.declareDead(workerId, proof)
    const row = await find()
    return { json: row ? workerJson(row, []) : { worker_id: workerId, state: 'dead' } }
  },
})

export const fleetRoutes = [versions, tools, workers, dead]
