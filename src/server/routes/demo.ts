// What the live demo offers besides: the worker that can be killed, and the count of effects.
import { z } from 'zod'
import { type Route, route } from '../http/route.ts'

/** The live demo, as far as a browser is concerned. */
export interface DemoDesk {
  status(): unknown
  kill(when: 'now' | 'next_effect' | 'next_mail'): Promise<void>
  /** One LangGraph agent twice, plain and guarded, each killed after its order was taken. */
  pullThePlug(): Promise<void>
}

const tag = 'demo'
const answer = z.looseObject({
  worker: z.looseObject({ pid: z.number(), alive: z.boolean(), armed: z.boolean() }),
  kill_count: z.number(),
  effects: z.array(z.looseObject({ service: z.string(), effects: z.number(), twice: z.number() })),
  total: z.object({ effects: z.number(), twice: z.number() }),
})

export function demoRoutes(demo: DemoDesk): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/demo',
      role: 'viewer',
      tag,
      global: true,
      answer,
      summary: 'The worker of the live demo, its deaths, and what its upstreams have done.',
      handler: () => ({ json: demo.status() }),
    }),
    route({
      method: 'POST',
      path: '/v1/demo/kill',
      role: 'admin',
      tag,
      global: true,
      answer,
      summary: 'Kills the worker (SIGKILL): now, or after the next effect or mail of an upstream.',
      status: 202,
      body: z.strictObject({ when: z.enum(['now', 'next_effect', 'next_mail']) }),
      handler: async ({ body }) => {
        await demo.kill(body.when)
        return { json: demo.status() }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/demo/plug',
      role: 'admin',
      tag,
      global: true,
      answer,
      summary: 'Starts one LangGraph agent twice, plain and guarded, and kills both (SIGKILL).',
      status: 202,
      handler: async () => {
        await demo.pullThePlug()
        return { json: demo.status() }
      },
    }),
  ]
}
