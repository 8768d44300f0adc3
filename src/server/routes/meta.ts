// What is asked about the server itself.
import { z } from 'zod'
import { errorFor } from '../../model/errors.ts'
import { everywhere } from '../auth/principal.ts'
import { metricsText } from '../health/metrics.ts'
import { type Call, route } from '../http/route.ts'

const tag = 'server'

const scopeOf = ({ who, client }: Call) => {
  return { namespace: client.namespace, wide: who.namespace === everywhere }
}

const health = route({
  method: 'GET',
  path: '/v1/health',
  role: 'none',
  tag,
  summary: 'Whether the process answers.',
  answer: z.object({ ok: z.literal(true) }),
  handler: () => ({ json: { ok: true } }),
})

const ready = route({
  method: 'GET',
  path: '/v1/ready',
  role: 'none',
  tag,
  summary: 'Whether the store answers and may be worked on.',
  answer: z.object({ ok: z.literal(true) }),
  handler: async ({ server: { store } }) => {
    const moved = await store.moved()
    if (moved !== null)
      throw errorFor(
        'STORE_MOVED',
        'the store was moved or copied; `counterfoil store status` says more',
      )
    return { json: { ok: true } }
  },
})

const metrics = route({
  method: 'GET',
  path: '/v1/metrics',
  role: 'viewer',
  tag,
  type: 'text/plain',
  summary: 'Metrics as Prometheus reads them. Those about runs are of one namespace.',
  handler: async (call) => {
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return new Response(await metricsText(call.server, scopeOf(call)), { headers })
  },
})

const stats = route({
  method: 'GET',
  path: '/v1/stats',
  role: 'viewer',
  tag,
  summary: 'The figures of the Health page: now, and of each minute of the last hour.',
  answer: z.looseObject({
    at: z.string(),
    totals: z.looseObject({}),
    minutes: z.array(z.looseObject({ at: z.string() })),
  }),
  handler: async (call) => ({ json: await call.server.samples.read(scopeOf(call)) }),
})

/** Where probes and Prometheus look unless told otherwise: the same, under another name. */
const aliases = [
  { ...health, path: '/healthz', summary: 'The same as /v1/health.' },
  { ...ready, path: '/readyz', summary: 'The same as /v1/ready.' },
  { ...metrics, path: '/metrics', summary: 'The same as /v1/metrics.' },
]

export const metaRoutes = [health, ready, metrics, stats, ...aliases]
