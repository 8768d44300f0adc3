// What waits for people, and their decisions.
import { z } from 'zod'
import { graphOf, Inbox } from '../../client/inbox/inbox.ts'
import { lookAt } from '../../client/inbox/item.ts'
import { nextFor, whatNext } from '../../client/inbox/next.ts'
import { iso } from '../../client/wire/iso.ts'
import { decisionJson, eventJson, itemJson, itemViewJson, runJson } from '../../client/wire/rows.ts'
import { choicesForMany, likenessOf } from '../../model/decisions/alike.ts'
import type { Graph } from '../../model/graph/graph.ts'
import type { Item } from '../../model/run/records.ts'
import { jsonSchemaOf } from '../../model/tool/schema.ts'
import { type Call, route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

const tag = 'inbox'
const params = z.object({ item: shapes.id })
const eventsShown = 100

/** An item in a list: with what it is about, and how long it has waited. */
function listed(item: Item, now: number) {
  const { subject } = item.body
  return {
    ...itemJson(item),
    call: subject && { tool_name: subject.tool, nth: subject.nth },
    overdue: item.state === 'open' && item.dueAt !== null && item.dueAt <= now,
    waited_ms: Math.max(0, (item.closedAt ?? now) - item.createdAt),
  }
}

const list = route({
  method: 'GET',
  path: '/v1/inbox',
  role: 'viewer',
  tag,
  summary: 'What waits, oldest first; or what was decided, newest first.',
  query: z.strictObject({
    ...shapes.paging,
    kind: z.enum(['approval', 'doubt', 'question']).optional(),
    state: z.enum(['open', 'decided', 'closed']).default('open'),
    queue: z.string().min(1).max(128).optional(),
    run: shapes.id.optional(),
    overdue: shapes.flag.optional(),
  }),
  answer: shapes.list(shapes.item),
  handler: async ({ query, client: { store, clock, namespace } }) => {
    const { kind, state, queue, run, overdue } = query
    const { items, next } = await store.listItems({
      namespace,
      state,
      newestFirst: state !== 'open',
      ...shapes.pageOf(query),
      ...(kind === undefined ? {} : { kind }),
      ...(queue === undefined ? {} : { queue }),
      ...(run === undefined ? {} : { runId: run }),
      ...(overdue === undefined ? {} : { overdue }),
    })
    const now = clock.now()
    const rows = items.map(async (item) => ({
      ...listed(item, now),
      // One decision can be about all that have the same.
      alike: likenessOf(await graphOf(store, item), item),
      many: choicesForMany(item),
    }))
    return { json: { items: await Promise.all(rows), next } }
  },
})

export async function shownItem(call: Call<{ item: string }>) {
  const { client, params: at, who } = call
  const { store, clock, namespace } = client
  const by = { by: who.name, claims: who.claims }
  const look = await lookAt({ store, inbox: new Inbox(client) }, at.item, by)
  const { item } = look
  const run = await store.getRun({ namespace, runId: item.runId })
  const events = await store.listEvents(item, { countMax: eventsShown })
  const now = clock.now()
  const next = item.state === 'open' ? null : await nextFor(store, item, by)
  return {
    ...itemViewJson(look),
    waited_ms: listed(item, now).waited_ms,
    overdue: listed(item, now).overdue,
    run: run && { ...runJson(run), started_by: run.startedBy },
    events: events.items.map((row) => ({ id: row.id, ...eventJson(row) })),
    quiet_until: item.quietUntil === null ? null : iso(item.quietUntil),
    // Once it is decided: what follows.
    what_next: run && item.state !== 'open' ? whatNext(run) : null,
    next: next && itemJson(next),
    result_schema: run && resultSchema(client.graphs.get(`${run.graph}@${run.version}`), item),
  }
}

/** What "it happened" must fit, where the graph is at hand and its library can tell. */
function resultSchema(graph: Graph | undefined, { body: { subject, answer } }: Item): unknown {
  if (answer) return answer.schema
  const output = graph?.tools.get(subject?.tool ?? '')?.rules.output ?? null
  return output && (jsonSchemaOf(output, 'input')?.json ?? null)
}

const show = route({
  method: 'GET',
  path: '/v1/inbox/:item',
  role: 'viewer',
  tag,
  params,
  summary: 'An item with all that is needed to decide it, and what each outcome means.',
  answer: shapes.item,
  handler: async (call) => ({ json: await shownItem(call) }),
})

const record = z.strictObject({
  tool_name: z.string().max(256),
  input_hash: z.string().max(128),
  occurrence: z.int().min(0),
  nth: z.int().min(0).optional(),
})

const decide = route({
  method: 'POST',
  path: '/v1/inbox/:item/decision',
  role: 'operator',
  tag,
  params,
  summary: 'Decides. If two people decide at once, one decision counts and the other is told.',
  body: z.strictObject({
    outcome: shapes.outcome,
    result: shapes.data.optional(),
    record: record.optional(),
    reason: shapes.reason,
    evidence: z.string().max(4_000).optional(),
    version: z.int().min(0),
    made_sure: z.boolean().optional(),
    looked_at: z.iso.datetime({ offset: true }).optional(),
  }),
  answer: shapes.decision,
  status: 201,
  handler: async ({ params: { item }, body, who, client }) => {
    const { outcome, reason, version, evidence, made_sure: madeSure, looked_at: lookedAt } = body
    const decision = await new Inbox(client).decide(item, {
      outcome,
      reason,
      version,
      by: who.name,
      claims: who.claims,
      ...('result' in body ? { result: body.result } : {}),
      ...(body.record === undefined ? {} : { record: recordOf(body.record) }),
      ...(evidence === undefined ? {} : { evidence }),
      ...(madeSure === undefined ? {} : { madeSure }),
      ...(lookedAt === undefined ? {} : { lookedAt: Date.parse(lookedAt) }),
    })
    return { json: decisionJson(decision) }
  },
})

function recordOf({ tool_name: tool, input_hash: inputHash, occurrence }: z.infer<typeof record>) {
  return { tool, inputHash, occurrence }
}

export const inboxRoutes = [list, show, decide]
