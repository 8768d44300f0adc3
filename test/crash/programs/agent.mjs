// A graph that goes round three times, against the upstream process: pure, keyed and unsafe calls
// in parallel, results and states too large for a row, every kind of dial, an approval that the
// node asks for and a call that the gate holds.
import { graph, tool } from 'counterfoil'
import { rounds } from './truth.mjs'
import { post } from './workload.mjs'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

const large = 'x'.repeat(70_000)

/** Attempts of a worker that is dead are over after this; see I5. */
const quietMs = 150

/** @type {import('counterfoil').RiskPolicy} */
export const gate = ({ tool: name, input }) =>
  name === 'mail' && /** @type {{ subject: string }} */ (input).subject === 'round 2'
    ? { ask: { title: 'a second mail', queue: 'mails' } }
    : 'run'

/**
 * @param {number} port
 * @param {(name: string) => void} hit
 */
export function makeTools(port, hit) {
  /** @returns {Promise<any>} */
  const send = async (
    /** @type {unknown} */ input,
    /** @type {import('counterfoil').CallInfo} */ call,
  ) => {
    hit(`before ${call.tool}`)
    const { idempotencyKey: key, attemptId } = call
    const result = await post(port, { tool: call.tool, key, input, attemptId })
    hit(`after ${call.tool}`)
    return result
  }
  const draft = tool({
    name: 'draft',
    replayClass: 'pure',
    input: any,
    run: (/** @type {{ n: number }} */ { n }) => `${n} ${large}`,
  })
  const mail = tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: any,
    quietMs,
    run: send,
  })
  const fetched = tool({
    name: 'fetched',
    replayClass: 'unsafe_on_replay',
    input: any,
    quietMs,
    run: async (input, call) => ({ ...(await send(input, call)), page: large }),
  })
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (input, call) => `${call.runId}:${input.n}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    input: any,
    quietMs,
    run: send,
  })
  return { draft, mail, fetched, charge }
}

/**
 * @param {number} port
 * @param {(name: string) => void} hit
 */
export function makeAgent(port, hit) {
  const { draft, mail, fetched, charge } = makeTools(port, hit)
  return graph({
    id: 'agent@1.0.0',
    state: any,
    tools: [draft, mail, fetched, charge],
    start: 'plan',
    nodes: {
      plan: {
        checkpoint: 'every:3',
        run: async (state, ctx) => {
          const n = (state.n ?? 0) + 1
          return ctx.go('send', { n, text: await ctx.call(draft, { n }) })
        },
      },
      send: async ({ to, n, log = [] }, ctx) => {
        const mailed = ctx.call(mail, { to, subject: `round ${n}` }).then(
          (sent) => sent.id,
          (error) => error.code,
        )
        const [sent, { id }] = await Promise.all([mailed, ctx.call(fetched, { to, n })])
        return ctx.go(n === 1 ? 'approve' : 'pay', { log: [...log, sent, id] })
      },
      approve: {
        checkpoint: 'before_effects',
        run: async (_, ctx) => {
          const data = { amount: 100 }
          const answer = await ctx.approval({ title: 'pay?', queue: 'money', data })
          return ctx.go('pay', { amount: answer.approved ? answer.data.amount : 0 })
        },
      },
      pay: {
        checkpoint: 'before_effects',
        run: async ({ to, n, amount, log }, ctx) => {
          if (amount > 0) await ctx.call(charge, { to, n, amount })
          return n < rounds ? ctx.go('plan') : ctx.done({ log: log.length })
        },
      },
    },
  })
}
