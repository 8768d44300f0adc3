// What operators do with a run.
import { z } from 'zod'
import type { Fate } from '../../client/run/retry.ts'
import { RunHandle } from '../../client/run/run.ts'
import { runJson } from '../../client/wire/rows.ts'
import * as limits from '../http/limits.ts'
import { type Call, route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'
import { runOf } from './run.ts'

const params = z.object({ run: shapes.id })
const of = { method: 'POST', role: 'operator', tag: 'run', params } as const
const small = { bodyBytesMax: limits.smallBodyBytesMax }

type RunCall = Call<{ run: string }>

/** Of this namespace, or not at all. */
async function handleOf(call: RunCall): Promise<RunHandle> {
  const { runId } = await runOf(call)
  return new RunHandle(call.client, runId)
}

async function after(call: RunCall) {
  return { json: runJson(await runOf(call)) }
}

const signal = route({
  ...of,
  path: '/v1/runs/:run/signal',
  summary: 'Sends a signal; the same id again is not a second signal.',
  body: z.strictObject({
    name: shapes.name,
    data: shapes.data.optional(),
    signal_id: shapes.id.optional(),
  }),
  answer: z.object({ signal_id: z.string(), created: z.boolean() }),
  handler: async (call) => {
    const { name, data, signal_id: id } = call.body
    const run = await handleOf(call)
    const sent = await run.signal(name, data, id === undefined ? {} : { id })
    return { json: { signal_id: sent.id, created: sent.created } }
  },
})

const wish = z.strictObject({ reason: shapes.reason.optional() })

const stop = (what: 'pause' | 'resume' | 'cancel', summary: string) =>
  route({
    ...of,
    ...small,
    path: `/v1/runs/:run/${what}`,
    summary,
    body: wish,
    answer: shapes.run,
    status: 202,
    handler: async (call) => {
      const { reason } = call.body
      const run = await handleOf(call)
      await run[what]({ by: call.who.name, ...(reason === undefined ? {} : { reason }) })
      return after(call)
    },
  })

const fate = z.union([z.enum(['send', 'keep']), z.strictObject({ happened: shapes.data })])

const retry = route({
  ...of,
  path: '/v1/runs/:run/retry',
  summary: 'Retries a failed run. Says what to do with each call that failed.',
  body: z.strictObject({
    reason: shapes.reason,
    calls: z.record(z.string().max(300), fate).optional(),
    made_sure: z.boolean().optional(),
  }),
  answer: shapes.run,
  status: 202,
  handler: async (call) => {
    const { reason, calls, made_sure: madeSure } = call.body
    const run = await handleOf(call)
    await run.retry({
      by: call.who.name,
      reason,
      ...(calls === undefined ? {} : { calls: calls as Record<string, Fate> }),
      ...(madeSure === undefined ? {} : { madeSure }),
    })
    return after(call)
  },
})

const failures = route({
  ...of,
  method: 'GET',
  role: 'viewer',
  path: '/v1/runs/:run/failed-calls',
  summary: 'The failed calls that a retry must name.',
  answer: z.object({ items: z.array(z.looseObject({ name: z.string() })), next: z.null() }),
  handler: async (call) => ({
    json: { items: await (await handleOf(call)).failedCalls(), next: null },
  }),
})

const pin = route({
  ...of,
  ...small,
  path: '/v1/runs/:run/pin',
  summary: 'Goes back to an earlier, good checkpoint. What was done since stays on record.',
  body: z.strictObject({
    visit: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    reason: shapes.reason,
  }),
  answer: shapes.run,
  status: 202,
  handler: async (call) => {
    const run = await handleOf(call)
    await run.pin({ ...call.body, by: call.who.name })
    return after(call)
  },
})

export const actRoutes = [
  signal,
  stop('pause', 'Begins nothing new, finishes what is under way, then pauses.'),
  stop('resume', 'Goes on after a pause.'),
  stop('cancel', 'Like a pause, but final. What is committed stays committed.'),
  retry,
  failures,
  pin,
]
