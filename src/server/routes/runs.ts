// Runs as a list, and how one begins.
import { z } from 'zod'
import { registerGraphs } from '../../client/run/graphs.ts'
import { startRun } from '../../client/run/start.ts'
import { runJson } from '../../client/wire/rows.ts'
import { timeId } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { runStates } from '../../model/run/states.ts'
import { route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

const tag = 'runs'

const listRuns = route({
  method: 'GET',
  path: '/v1/runs',
  role: 'viewer',
  tag,
  summary: 'Runs, the newest first; searched by a part of their id.',
  query: z.strictObject({
    ...shapes.paging,
    state: z.enum(runStates).optional(),
    graph: shapes.name.optional(),
    q: shapes.id.optional(),
    parent: shapes.id.optional(),
    order: z.enum(['newest', 'oldest']).default('newest'),
  }),
  answer: shapes.list(shapes.run),
  handler: async ({ query, client: { store, namespace } }) => {
    const { state, graph, q, parent, order } = query
    const { items, next } = await store.listRuns({
      namespace,
      newestFirst: order === 'newest',
      ...shapes.pageOf(query),
      ...(state === undefined ? {} : { state }),
      ...(graph === undefined ? {} : { graph }),
      ...(q === undefined ? {} : { idContains: q }),
      ...(parent === undefined ? {} : { parentRunId: parent }),
    })
    return { json: { items: items.map(runJson), next } }
  },
})

const start = route({
  method: 'POST',
  path: '/v1/runs',
  role: 'operator',
  tag,
  summary: 'Starts a run. The same id, graph and input again attach to the same run.',
  body: z.strictObject({
    /** Name, or `name@version`; of a name alone the newest version that the server carries. */
    graph: z.string().min(1).max(256),
    input: shapes.data,
    run_id: shapes.id.optional(),
  }),
  answer: shapes.run,
  status: 201,
  handler: async ({ body, who, client }) => {
    const { store, clock, namespace, graphs } = client
    const graph = newest(graphs, body.graph)
    await registerGraphs(store, clock, namespace, [graph])
    const runId = body.run_id ?? timeId(clock, 'run')
    const known = await store.getRun({ namespace, runId })
    const input = body.input === undefined ? null : body.input
    const run = await startRun(store, clock, graph, input, { namespace, runId, by: who.name })
    return { json: runJson(run), status: known === null ? 201 : 200 }
  },
})

/** By its whole id, or the newest version of a name. */
function newest(graphs: ReadonlyMap<string, Graph>, wanted: string): Graph {
  const found = [...graphs.values()].filter(({ id, name }) => id === wanted || name === wanted)
  const numeric = (a: Graph, b: Graph) =>
    a.version.localeCompare(b.version, 'en', { numeric: true })
  const last = found.sort(numeric).at(-1)
  if (last) return last
  const name = JSON.stringify(wanted)
  throw errorFor('GRAPH_UNKNOWN', name, 'is not on this server', 'see GET /v1/versions')
}

export const runsRoutes = [listRuns, start]
