// What the workers of a fleet carry: an agent of some steps, each with an unsafe and a keyed call
// to the upstream process, a sleep now and then, and a pure call that runs share.
import { graph, tool } from 'counterfoil'
import { z } from 'zod'

export const steps = 6

const step = z.object({ to: z.string(), n: z.number() })

/**
 * @param {string} name
 * @param {unknown} input
 * @param {import('counterfoil').CallInfo} call
 * @returns {Promise<{ id: string }>}
 */
async function send(name, input, { idempotencyKey: key, attemptId }) {
  const body = JSON.stringify({ tool: name, key, input, attemptId })
  const response = await fetch(`${process.env['FLEET_UPSTREAM']}`, { method: 'POST', body })
  return /** @type {{ id: string }} */ (await response.json())
}

const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: step,
  run: (input, call) => send('mail', input, call),
})

const charge = tool({
  name: 'charge',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ to, n }) => `${to}:${n}`,
  keyTtlMs: Number.POSITIVE_INFINITY,
  input: step,
  run: (input, call) => send('charge', input, call),
})

const embed = tool({
  name: 'embed',
  replayClass: 'pure',
  input: z.object({ text: z.string() }),
  shareMs: 60_000,
  run: (input, call) => send('embed', input, call),
})

export const agent = graph({
  id: `agent@${process.env['FLEET_VERSION'] ?? '1.0.0'}`,
  state: z.object({ to: z.string(), n: z.number().default(1) }),
  output: z.object({ steps: z.number() }),
  tools: [mail, charge],
  start: 'work',
  nodes: {
    work: async ({ to, n }, ctx) => {
      await Promise.all([ctx.call(mail, { to, n }), ctx.call(charge, { to, n })])
      if (n % 3 === 0) await ctx.sleep(300)
      return n < steps ? ctx.go('work', { n: n + 1 }) : ctx.done({ steps: n })
    },
  },
})

export const reader = graph({
  id: 'reader@1.0.0',
  state: z.object({ text: z.string(), id: z.string().default('') }),
  output: z.object({ id: z.string() }),
  tools: [embed],
  start: 'read',
  nodes: { read: async ({ text }, ctx) => ctx.done({ id: (await ctx.call(embed, { text })).id }) },
})

/** @param {string} to */
export function effectsOf(to) {
  return Array.from({ length: steps }, (_, i) => i + 1).flatMap((n) =>
    ['mail', 'charge'].map((name) => ({ tool: name, input: { to, n } })),
  )
}

// Whoever works on it dies of it, as of memory that runs out, before anything is recorded.
const deadly = tool({
  name: 'deadly',
  replayClass: 'pure',
  input: z.null(),
  run: () => {
    if (process.env['FLEET_MENDED'] === undefined) process.kill(process.pid, 'SIGKILL')
    return 'mended'
  },
})

export const poison = graph({
  id: 'poison@1.0.0',
  state: z.object({}),
  output: z.string(),
  tools: [deadly],
  start: 'die',
  nodes: { die: async (_, ctx) => ctx.done(await ctx.call(deadly, null)) },
})
