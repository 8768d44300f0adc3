// One run, as people look at it.

import { z } from 'zod'
import { ledgerPage } from '../../client/ledger/ledger.ts'
import { RunHandle } from '../../client/run/run.ts'
import { checkpointJson } from '../../client/wire/checkpoint.ts'
import { iso } from '../../client/wire/iso.ts'
import { entryJson } from '../../client/wire/ledger.ts'
import { decisionJson, eventJson, runJson } from '../../client/wire/rows.ts'
import { documentJson, previewJson } from '../../client/wire/run.ts'
import { errorFor } from '../../model/errors.ts'
import { parseStored } from '../../model/json/stored.ts'
import { attemptName } from '../../model/run/attempt-id.ts'
import type { Attempt, Run } from '../../model/run/records.ts'
import * as limits from '../http/limits.ts'
import { part } from '../http/page.ts'
import { type Call, route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

const tag = 'run'
const params = z.object({ run: shapes.id })
const of = { method: 'GET', role: 'viewer', tag, params } as const
const paged = z.strictObject(shapes.paging)

type RunCall = Call<{ run: string }>

export async function runOf({ client, params: { run: runId } }: RunCall): Promise<Run> {
  const run = await client.store.getRun({ namespace: client.namespace, runId })
  if (run) return run
  throw errorFor('RUN_NOT_FOUND', runId)
}

const handleOf = ({ client, params: { run } }: RunCall) => new RunHandle(client, run)

const show = route({
  ...of,
  path: '/v1/runs/:run',
  summary: 'A run, with the nodes it has been through and how many children it has.',
  answer: shapes.run,
  handler: async (call) => {
    const run = await runOf(call)
    const { store, namespace } = call.client
    const filter = { namespace, parentRunId: run.runId, countMax: limits.childrenCounted }
    const { items } = await store.listRuns(filter)
    const output = await store.readOutput(run)
    return {
      json: {
        ...runJson(run),
        ...(output === null ? {} : { output: parseStored(output, `the output of ${run.runId}`) }),
        started_by: run.startedBy,
        parent_run_id: run.parentRunId,
        ended_at: iso(run.endedAt),
        swept: run.swept,
        fence: run.fence,
        children_count: items.length,
        path: await pathOf(call, run),
      },
    }
  },
})

async function pathOf({ client: { store } }: RunCall, run: Run) {
  const rows = (await store.listCheckpoints(run)).filter((row) => row.generation === run.generation)
  return rows.slice(-limits.rowsMax).map(({ node, visit, createdAt }) => ({
    node,
    visit,
    at: iso(createdAt),
  }))
}

const state = route({
  ...of,
  path: '/v1/runs/:run/state',
  summary: 'The state at the present checkpoint, or at an earlier visit.',
  query: z.strictObject({ visit: shapes.count(Number.MAX_SAFE_INTEGER).optional() }),
  answer: z.object({ visit: z.number(), state: shapes.data }),
  handler: async (call) => {
    const run = await runOf(call)
    const visit = call.query.visit ?? run.visit
    return { json: { visit, state: await handleOf(call).state(visit) } }
  },
})

const ledger = route({
  ...of,
  path: '/v1/runs/:run/ledger',
  summary: 'Its calls with their attempts, evidence and decisions.',
  query: paged,
  answer: shapes.list(shapes.call),
  handler: async (call) => {
    const run = await runOf(call)
    const { items, next } = await ledgerPage(call.client.store, run, shapes.pageOf(call.query))
    return { json: { items: items.map(entryJson), next } }
  },
})

function attemptJson(row: Attempt) {
  return {
    attempt_id: attemptName(row.attemptId),
    attempt: row.attempt,
    worker_id: row.workerId,
    fence: row.fence,
    dispatched_at: iso(row.dispatchedAt),
    ended_at: iso(row.endedAt),
    outcome: row.outcome,
    outlives: row.outlives,
    quiet_ms: row.quietMs,
    heard_at: iso(row.beatAt),
  }
}

const attempts = route({
  ...of,
  path: '/v1/runs/:run/attempts',
  summary: 'Every dispatch of every call, in the order of sending.',
  query: paged,
  answer: shapes.list(z.looseObject({ attempt_id: z.string(), attempt: z.number() })),
  handler: async (call) => {
    const rows = await call.client.store.listAttempts(await runOf(call))
    return { json: part(rows.map(attemptJson), call.query) }
  },
})

const checkpoints = route({
  ...of,
  path: '/v1/runs/:run/checkpoints',
  summary: 'Its checkpoints, without their bodies; /state reads one.',
  query: paged,
  answer: shapes.list(z.looseObject({ visit: z.number(), node: z.string(), digest: z.string() })),
  handler: async (call) => {
    const rows = await call.client.store.listCheckpoints(await runOf(call))
    return { json: part(rows.map(checkpointJson), call.query) }
  },
})

const events = route({
  ...of,
  path: '/v1/runs/:run/events',
  summary: 'Its history. `after` continues after an event.',
  query: z.strictObject({
    ...shapes.paging,
    after: shapes.count(Number.MAX_SAFE_INTEGER).optional(),
  }),
  answer: shapes.list(shapes.event),
  handler: async (call) => {
    const run = await runOf(call)
    const { after } = call.query
    const behind = after === undefined ? {} : { after }
    const page = { ...shapes.pageOf(call.query), ...behind }
    const { items, next } = await call.client.store.listEvents(run, page)
    const rows = items.map((row) => ({ id: row.id, ...eventJson(row) }))
    return { json: { items: rows, next } }
  },
})

const decisions = route({
  ...of,
  path: '/v1/runs/:run/decisions',
  summary: 'The decisions about it, and whether each of them verifies.',
  query: paged,
  answer: shapes.list(shapes.decision),
  handler: async (call) => {
    const rows = await call.client.store.listDecisions(await runOf(call))
    const shown = rows.map((row) => ({ ...decisionJson(row), verifies: row.verifies }))
    return { json: part(shown, call.query) }
  },
})

const children = route({
  ...of,
  path: '/v1/runs/:run/children',
  summary: 'The runs that it has started.',
  query: paged,
  answer: shapes.list(shapes.run),
  handler: async (call) => {
    const { runId } = await runOf(call)
    const { store, namespace } = call.client
    const filter = { namespace, parentRunId: runId, ...shapes.pageOf(call.query) }
    const { items, next } = await store.listRuns(filter)
    return { json: { items: items.map(runJson), next } }
  },
})

const preview = route({
  ...of,
  path: '/v1/runs/:run/preview',
  summary: 'What would happen to each recorded call if its worker died now.',
  answer: z.looseObject({ replay: z.number(), rerun: z.number(), park: z.number() }),
  handler: async (call) => ({ json: previewJson(await handleOf(call).preview()) }),
})

const document = route({
  ...of,
  path: '/v1/runs/:run/document',
  summary: 'Everything that a model’s context is rebuilt from.',
  answer: z.looseObject({ run_id: z.string() }),
  handler: async (call) => {
    await runOf(call)
    return { json: documentJson(await handleOf(call).document()) }
  },
})

const graph = route({
  ...of,
  path: '/v1/runs/:run/graph',
  summary: 'Its nodes, its declared edges, and how often it has gone each edge.',
  answer: z.object({
    start: z.string(),
    nodes: z.array(z.string()),
    edges: z.array(z.object({ from: z.string(), to: z.string(), count: z.number() })),
    known: z.boolean(),
  }),
  handler: async (call) => {
    const run = await runOf(call)
    const carried = call.client.graphs.get(`${run.graph}@${run.version}`)
    const path = await pathOf(call, run)
    const edges = new Map<string, { from: string; to: string; count: number }>()
    for (const [from, all] of carried?.edges ?? []) {
      for (const to of all) edges.set(JSON.stringify([from, to]), { from, to, count: 0 })
    }
    path.slice(1).forEach(({ node: to }, i) => {
      const from = path[i]?.node ?? to
      const key = JSON.stringify([from, to])
      const edge = edges.get(key) ?? { from, to, count: 0 }
      edges.set(key, { ...edge, count: edge.count + 1 })
    })
    const nodes = new Set([...(carried?.nodes.keys() ?? []), ...path.map(({ node }) => node)])
    const start = carried?.start ?? path[0]?.node ?? run.node
    const shown = { start, nodes: [...nodes], edges: [...edges.values()] }
    return { json: { ...shown, known: carried !== undefined } }
  },
})

export const runRoutes = [
  show,
  state,
  ledger,
  attempts,
  checkpoints,
  events,
  decisions,
  children,
  preview,
  document,
  graph,
]
