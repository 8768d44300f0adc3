// Webhooks in and out: who is told of what, what became of it, and who may tell us something.
import { z } from 'zod'
import { errorFor } from '../../model/errors.ts'
import { rowsOf } from '../../store/pages.ts'
import * as limits from '../http/limits.ts'
import { part } from '../http/page.ts'
import { addStatus } from '../http/problem.ts'
import { type Route, route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'
import { deliveryJson, deliveryStates, kind, read, retryDelivery } from '../webhooks/delivery.ts'
import { receive } from '../webhooks/incoming.ts'
import * as source from '../webhooks/source.ts'
import * as subscription from '../webhooks/subscription.ts'
import { linkRoutes } from './links.ts'

addStatus(401, 'SIGNATURE_INVALID')
addStatus(403, 'SOURCE_FORBIDDEN')
addStatus(404, 'WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND', 'SOURCE_NOT_FOUND')
addStatus(409, 'WEBHOOK_REPLAYED', 'DELIVERY_BUSY', 'SOURCE_BUSY')
addStatus(422, 'WEBHOOK_INVALID', 'WEBHOOK_ADDRESS')

const tag = 'webhooks'
const shown = z.looseObject({ webhook_id: z.string(), url: z.string() })
const shownSource = z.looseObject({ source_id: z.string(), name: z.string() })

const list = route({
  ...({ method: 'GET', path: '/v1/webhooks', role: 'admin', tag } as const),
  summary: 'The webhooks.',
  query: z.strictObject(shapes.paging),
  answer: shapes.list(shown),
  handler: async ({ query, client: { store, namespace } }) => {
    const rows = await subscription.listSubscriptions(store, namespace)
    return { json: part(rows.map(subscription.subscriptionJson), query) }
  },
})

const add = route({
  ...({ method: 'POST', path: '/v1/webhooks', role: 'admin', tag, secret: true } as const),
  summary: 'Adds a webhook. The signing secret is shown once, here.',
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({
    url: z.string().min(1).max(2_048),
    kinds: z.array(z.enum(subscription.noticeKinds)).min(1).max(4).optional(),
    queues: z.array(z.string().min(1).max(128)).min(1).max(50).optional(),
    format: z.enum(subscription.formats).optional(),
    links_for: z.string().trim().min(1).max(100).optional(),
    allow_private: z.boolean().optional(),
  }),
  answer: z.looseObject({ webhook_id: z.string(), secret: z.string() }),
  status: 201,
  handler: async ({ body, who, client: { store, namespace } }) => {
    const { url, kinds, queues, format, links_for: linksFor, allow_private: allowPrivate } = body
    if (allowPrivate === true && who.namespace !== '*') {
      const message = 'addresses of this network are allowed by an admin of all namespaces only'
      throw errorFor('ROLE_FORBIDDEN', message)
    }
    const made = await subscription.addSubscription(store, {
      namespace,
      url,
      by: who.name,
      ...(kinds === undefined ? {} : { kinds: [...new Set(kinds)] }),
      ...(queues === undefined ? {} : { queues }),
      ...(format === undefined ? {} : { format }),
      ...(linksFor === undefined ? {} : { linksFor }),
      ...(allowPrivate === undefined ? {} : { allowPrivate }),
    })
    const json = subscription.subscriptionJson(made.subscription)
    return { json: { ...json, secret: made.secret } }
  },
})

const remove = route({
  ...({ method: 'DELETE', path: '/v1/webhooks/:webhook', role: 'admin', tag } as const),
  summary: 'Removes a webhook. Deliveries that wait for it are given up.',
  params: z.object({ webhook: shapes.id }),
  status: 204,
  handler: async ({ params, client: { store, namespace } }) => {
    await subscription.removeSubscription(store, namespace, params.webhook)
    return { json: null }
  },
})

const deliveries = route({
  ...({ method: 'GET', path: '/v1/webhooks/deliveries', role: 'admin', tag } as const),
  summary: 'The deliveries: sent, waiting, and given up.',
  query: z.strictObject({ ...shapes.paging, state: z.enum(deliveryStates).optional() }),
  answer: shapes.list(z.looseObject({ delivery_id: z.string(), state: z.enum(deliveryStates) })),
  handler: async ({ query, client: { store, namespace } }) => {
    const rows: object[] = []
    for await (const row of rowsOf((page) => store.listDocuments({ kind, namespace, ...page }))) {
      const one = deliveryJson(read(row))
      if (query.state === undefined || one.state === query.state) rows.unshift(one)
    }
    return { json: part(rows, query) }
  },
})

const retry = route({
  ...({ method: 'POST', path: '/v1/webhooks/deliveries/:delivery/retry', role: 'admin' } as const),
  tag,
  summary: 'Sends a delivery again from the beginning, under the same id.',
  params: z.object({ delivery: shapes.id }),
  answer: z.looseObject({ delivery_id: z.string() }),
  handler: async ({ params, client: { store, namespace } }) => {
    return { json: deliveryJson(await retryDelivery(store, namespace, params.delivery)) }
  },
})

const sources = route({
  ...({ method: 'GET', path: '/v1/hooks/sources', role: 'admin', tag } as const),
  summary: 'The sources that may send signed requests here.',
  query: z.strictObject(shapes.paging),
  answer: shapes.list(shownSource),
  handler: async ({ query, client: { store, namespace } }) => {
    const rows = await source.listSources(store, namespace)
    return { json: part(rows.map(source.sourceJson), query) }
  },
})

const addSource = route({
  ...({ method: 'POST', path: '/v1/hooks/sources', role: 'admin', tag, secret: true } as const),
  summary: 'Adds a source of signed requests. The secret is shown once, here.',
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({
    name: shapes.name,
    acts: z.array(z.enum(source.sourceActs)).min(1).max(3).optional(),
    trusts_by: z.boolean().optional(),
    claims: z
      .array(z.string().regex(/^(role|group):[\w.:-]{1,128}$/))
      .max(50)
      .optional(),
  }),
  answer: z.looseObject({ source_id: z.string(), secret: z.string() }),
  status: 201,
  handler: async ({ body, who, client: { store, namespace }, server }) => {
    const { name, acts, trusts_by: trustsBy, claims } = body
    const made = await source.addSource(store, {
      namespace,
      name,
      by: who.name,
      ...(acts === undefined ? {} : { acts }),
      ...(trustsBy === undefined ? {} : { trustsBy }),
      ...(claims === undefined ? {} : { claims }),
    })
    const url = `${server.publicUrl()}/v1/hooks/in?source=${made.source.id}`
    return { json: { ...source.sourceJson(made.source), url, secret: made.secret } }
  },
})

const rotate = route({
  ...({ method: 'POST', path: '/v1/hooks/sources/:source/rotate', role: 'admin', tag } as const),
  secret: true,
  summary: 'A new secret; the one before verifies for another day.',
  params: z.object({ source: shapes.id }),
  answer: z.object({ source_id: z.string(), secret: z.string() }),
  handler: async ({ params, client: { store, namespace } }) => {
    const secret = await source.rotateSource(store, namespace, params.source)
    return { json: { source_id: params.source, secret } }
  },
})

const removeSource = route({
  ...({ method: 'DELETE', path: '/v1/hooks/sources/:source', role: 'admin', tag } as const),
  summary: 'Removes a source. Its requests are refused from then on.',
  params: z.object({ source: shapes.id }),
  status: 204,
  handler: async ({ params, client: { store, namespace } }) => {
    await source.removeSource(store, namespace, params.source)
    return { json: null }
  },
})

const take = route({
  ...({ method: 'POST', path: '/v1/hooks/in', role: 'none', tag, raw: true } as const),
  secret: true,
  summary: 'A decision, a signal or a callback, signed as Standard Webhooks says.',
  query: z.strictObject({ source: shapes.id }),
  answer: z.looseObject({}),
  handler: async ({ query, request, bytes, server }) => ({
    json: await receive(server, query.source, request.headers, bytes),
  }),
})

export const webhookRoutes: Route[] = [
  list,
  add,
  deliveries,
  retry,
  remove,
  sources,
  addSource,
  rotate,
  removeSource,
  take,
  ...linkRoutes,
]
