// The whole route table. Every concern has a file of its own.
import { z } from 'zod'
import { openapiOf } from './http/openapi.ts'
import { type Route, route } from './http/route.ts'
import { actRoutes } from './routes/acts.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { callbackRoutes } from './routes/callbacks.ts'
import { fleetRoutes } from './routes/fleet.ts'
import { inboxRoutes } from './routes/inbox.ts'
import { metaRoutes } from './routes/meta.ts'
import { runRoutes } from './routes/run.ts'
import { runsRoutes } from './routes/runs.ts'
import { sessionRoutes } from './routes/session.ts'
import { streamRoutes } from './routes/streams.ts'
import { tokenRoutes } from './routes/tokens.ts'
import { webhookRoutes } from './routes/webhooks.ts'

const openapi = route({
  method: 'GET',
  path: '/v1/openapi.json',
  role: 'none',
  tag: 'server',
  summary: 'This API, as OpenAPI 3.1 describes it.',
  answer: z.looseObject({ openapi: z.string() }),
  handler: ({ server }) => ({ json: openapiOf(table, server.version) }),
})

export const table: readonly Route[] = [
  ...metaRoutes,
  openapi,
  ...sessionRoutes,
  ...runsRoutes,
  ...runRoutes,
  ...actRoutes,
  // Before those of one item: `decisions` is no item's id.
  ...approvalRoutes,
  ...inboxRoutes,
  ...fleetRoutes,
  ...tokenRoutes,
  ...callbackRoutes,
  ...webhookRoutes,
  ...streamRoutes,
]
