// A server with a worker in a process of its own, to be killed.
import { open, workflow } from 'counterfoil'
import { z } from 'zod'

const [store = ''] = process.argv.slice(2)
const ask = workflow({
  id: 'ask@1.0.0',
  input: z.null(),
  tools: [],
  run: async (_, ctx) => (await ctx.approval({ title: 'Send it?' })).outcome,
})
const cf = await open({ store, graphs: [ask], onWarning: () => {} })
const webhooks = { pollMs: 20, backoffMs: 50, timeoutMs: 6_000 }
const server = await cf.server({ port: 0, webhooks })
await cf.worker().start()
process.on('message', async ({ start }) => {
  await cf.start(ask, null, { runId: start })
})
process.send?.({ url: server.url, token: await server.adminToken() })
