// Comments, and decisions about many items at once.
import { z } from 'zod'
import { Inbox } from '../../client/inbox/inbox.ts'
import { iso } from '../../client/wire/iso.ts'
import { decisionJson } from '../../client/wire/rows.ts'
import { outcomesForMany } from '../../model/decisions/alike.ts'
import * as modelLimits from '../../model/limits.ts'
import * as limits from '../http/limits.ts'
import { addStatus } from '../http/problem.ts'
import { type Route, route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

addStatus(409, 'VOTE_CAST')
addStatus(422, 'ITEMS_DIFFER')

const decideAlike = route({
  method: 'POST',
  path: '/v1/inbox/decisions',
  role: 'operator',
  tag: 'inbox',
  summary: 'One decision about items that are alike, with the result for each.',
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({
    items: z
      .array(z.strictObject({ item_id: shapes.id, version: z.int().min(1) }))
      .min(1)
      .max(modelLimits.bulkMax),
    outcome: shapes.outcomesOf(outcomesForMany),
    reason: shapes.reason,
    evidence: z.string().trim().min(1).max(modelLimits.saidLengthMax).optional(),
    made_sure: z.boolean().optional(),
  }),
  answer: z.object({ items: z.array(z.looseObject({ item_id: z.string() })) }),
  handler: async ({ body, client, who }) => {
    const { outcome, reason, evidence, made_sure: madeSure } = body
    const items = body.items.map(({ item_id: itemId, version }) => ({ itemId, version }))
    const results = await new Inbox(client).decideAll(items, {
      outcome,
      reason,
      by: who.name,
      claims: who.claims,
      ...(evidence === undefined ? {} : { evidence }),
      ...(madeSure === undefined ? {} : { madeSure }),
    })
    const told = results.map((one) =>
      'error' in one
        ? { item_id: one.itemId, error: one.error }
        : { item_id: one.itemId, decision: decisionJson(one.decision) },
    )
    return { json: { items: told } }
  },
})

const comment = route({
  method: 'POST',
  path: '/v1/inbox/:item/comments',
  role: 'operator',
  tag: 'inbox',
  summary: 'Says something about an item without deciding it.',
  params: z.object({ item: shapes.id }),
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({ text: shapes.reason }),
  answer: z.object({ by: z.string(), text: z.string(), at: z.string() }),
  status: 201,
  handler: async ({ params, body, client, who }) => {
    const { by, text, at } = await new Inbox(client).comment(params.item, {
      by: who.name,
      text: body.text,
    })
    return { json: { by, text, at: iso(at) } }
  },
})

export const approvalRoutes: Route[] = [decideAlike, comment]
