// What is asked about the server itself.
import { z } from 'zod'
import { CounterfoilError } from '../../model/errors.ts'
import { metricsText } from '../metrics.ts'
import { route } from '../route.ts'

const tag = 'server'

const health = route({
  ...{ method: 'GET', path: '/v1/health', role: 'none', tag },
  summary: 'Whether the process answers.',
  answer: z.object({ ok: z.literal(true) }),
  handler: () => ({ json: { ok: true } }),
})

const ready = route({
  ...{ method: 'GET', path: '/v1/ready', role: 'none', tag },
  summary: 'Whether the store answers and may be worked on.',
  answer: z.object({ ok: z.literal(true) }),
  handler: async ({ server: { store } }) => {
    const moved = await store.moved()
    if (moved !== null) throw new CounterfoilError('STORE_MOVED', 'the store was moved')
    return { json: { ok: true } }
  },
})

const metrics = route({
  ...{ method: 'GET', path: '/v1/metrics', role: 'viewer', tag, type: 'text/plain' },
  summary: 'Figures as Prometheus reads them, of one namespace where they are of runs.',
  handler: async ({ server, client }) => {
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return new Response(await metricsText(server, client.namespace), { headers })
  },
})

const stats = route({
  ...{ method: 'GET', path: '/v1/stats', role: 'viewer', tag },
  summary: 'The figures of the Health page: now, and of each minute of the last hour.',
  answer: z.looseObject({
    at: z.string(),
    totals: z.looseObject({}),
    minutes: z.array(z.looseObject({ at: z.string() })),
  }),
  handler: async ({ server, client }) => ({
    json: await server.samples.read(client.namespace),
  }),
})

export const metaRoutes = [health, ready, metrics, stats]
