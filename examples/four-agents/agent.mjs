// An agent of forty steps: it reads, it files, and in `--unsafe` it also sends mail.
import { graph, tool } from 'counterfoil'
import { z } from 'zod'

export const stepsEach = 40

const step = z.object({ n: z.number() })

/**
 * @param {'read' | 'file' | 'mail'} service
 * @param {number} n
 * @param {import('counterfoil').CallInfo} call
 * @returns {Promise<{ id: string }>}
 */
async function ask(service, n, call) {
  const { runId: agent, idempotencyKey: key, attemptId } = call
  const body = JSON.stringify({ service, agent, n, key, attemptId })
  const response = await fetch(`${process.env['AGENTS_UPSTREAM']}`, { method: 'POST', body })
  return /** @type {{ id: string }} */ (await response.json())
}

// Reading changes nothing: it may be done again.
const read = tool({
  name: 'read',
  replayClass: 'pure',
  input: step,
  run: ({ n }, call) => ask('read', n, call),
})

// The archive files a document once for each key, however often it is sent.
const file = tool({
  name: 'file',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ n }, call) => `${call.runId}:${n}`,
  keyTtlMs: Number.POSITIVE_INFINITY,
  input: step,
  run: ({ n }, call) => ask('file', n, call),
})

// A mail server sends what it is given, as often as it is given it.
const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: step,
  run: ({ n }, call) => ask('mail', n, call),
})

/** @param {number} n */
function toolOf(n, unsafe = false) {
  if (n % 4 === 1) return read
  return unsafe && n % 4 === 3 ? mail : file
}

export const agent = graph({
  id: 'agent@1.0.0',
  state: z.object({ unsafe: z.boolean(), n: z.number().default(1), last: z.string().default('') }),
  output: z.object({ steps: z.number(), last: z.string() }),
  tools: [read, file, mail],
  start: 'work',
  nodes: {
    work: async (state, ctx) => {
      const { n } = state
      const { id } = await ctx.call(toolOf(n, state.unsafe), { n })
      return n < stepsEach
        ? ctx.go('work', { n: n + 1, last: id })
        : ctx.done({ steps: n, last: id })
    },
  },
})
