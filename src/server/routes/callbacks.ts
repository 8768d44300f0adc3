// What upstreams of asynchronous tools say. The token of the call is the right to say it.
import { z } from 'zod'
import { Callbacks } from '../../client/callbacks.ts'
import { sha256 } from '../../model/json/canonical.ts'
import { route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

const settle = route({
  method: 'POST',
  path: '/v1/callbacks',
  role: 'none',
  tag: 'callbacks',
  secret: true,
  summary: 'Ends a deferred call, with its result or its error.',
  body: z.union([
    z.strictObject({ token: z.string().min(1).max(199), result: shapes.data }),
    z.strictObject({ token: z.string().min(1).max(199), error: z.string().min(1).max(4_000) }),
  ]),
  answer: z.object({ status: z.enum(['settled', 'repeated', 'too_late']) }),
  handler: async ({ body, server }) => {
    const { store, namespace } = server
    const found = await store.findAttempt(sha256(body.token))
    const callbacks = new Callbacks(server.clientOf(found?.namespace ?? namespace))
    const said =
      'error' in body
        ? callbacks.fail(body.token, body.error)
        : callbacks.settle(body.token, body.result)
    return { json: await said }
  },
})

export const callbackRoutes = [settle]
