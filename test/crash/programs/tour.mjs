// A run that does everything a run can do: pure, keyed and unsafe calls, an approval, a sleep, a
// signal, and a child with calls of its own; against the upstream process.
import { tool, workflow } from 'counterfoil'
import { post } from './workload.mjs'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

/** Attempts of a worker that is dead are over after this; see I5. */
const quietMs = 150
// Long enough to park for it.
const napMs = 300

/**
 * @param {number} port
 * @param {(name: string) => void} hit
 * @param {{ lying?: boolean }} [options]
 */
export function makeTourTools(port, hit, { lying = false } = {}) {
  /** @returns {Promise<{ id: string }>} */
  const send = async (
    /** @type {unknown} */ input,
    /** @type {import('counterfoil').CallInfo} */ call,
  ) => {
    hit(`before ${call.tool}`)
    const { attemptId, runId } = call
    const key = lying ? null : call.idempotencyKey
    const result = await post(port, { tool: call.tool, key, input, attemptId, runId })
    hit(`after ${call.tool}`)
    return result
  }
  const keyed = /** @type {const} */ ({
    replayClass: 'idempotent_with_key',
    keyTtlMs: Number.POSITIVE_INFINITY,
    input: any,
    quietMs,
    run: send,
  })
  const draft = tool({
    name: 'draft',
    replayClass: 'pure',
    input: any,
    run: (/** @type {{ n: number }} */ { n }) => `hello ${n}`,
  })
  const mail = lying
    ? tool({ ...keyed, name: 'mail', idempotencyKey: (/** @type {any} */ input) => input.subject })
    : tool({ name: 'mail', replayClass: 'unsafe_on_replay', input: any, quietMs, run: send })
  const charge = tool({
    ...keyed,
    name: 'charge',
    idempotencyKey: (
      /** @type {{ invoice: string }} */ { invoice },
      /** @type {{ runId: string }} */ { runId },
    ) => `${runId}:${invoice}`,
  })
  return { draft, mail, charge }
}

/**
 * @param {number} port
 * @param {(name: string) => void} [hit]
 * @param {{ lying?: boolean }} [options] `lying`: mails are declared keyed, and their upstream
 *   knows no keys. The control that must fail.
 */
export function makeTour(port, hit = () => {}, options = {}) {
  const { draft, mail, charge } = makeTourTools(port, hit, options)
  const errand = workflow({
    id: 'errand@1.0.0',
    input: any,
    tools: [mail, charge],
    run: async (/** @type {{ to: string }} */ { to }, ctx) => {
      await ctx.call(mail, { to, subject: 'errand' })
      await ctx.call(charge, { to, invoice: 'errand' })
      return { ran: to }
    },
  })
  const tour = workflow({
    id: 'tour@1.0.0',
    input: any,
    tools: [draft, mail, charge],
    run: async (/** @type {{ to: string }} */ { to }, ctx) => {
      const subject = await ctx.call(draft, { n: 1 })
      await ctx.call(mail, { to, subject })
      await Promise.all([
        ctx.call(mail, { to, subject: 'copy' }),
        ctx.call(charge, { to, invoice: 'a' }),
      ])
      const answer = await ctx.approval({ title: 'go on?', queue: 'tour', data: { to } })
      await ctx.sleep(napMs)
      const went = await ctx.signal('go', { timeoutMs: 600_000 })
      const child = await ctx.spawn(errand, { to })
      await ctx.call(mail, { to, subject: 'bye' })
      const { runId: _, ...ended } = child
      return { approved: answer.approved, went: went?.data, child: ended }
    },
  })
  return { tour, errand }
}
