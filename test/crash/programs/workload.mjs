// A workload with pure, keyed and unsafe calls in parallel branches, against the upstream process.
import { request } from 'node:http'
import { tool, workflow } from 'counterfoil'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

/**
 * @param {number} port
 * @param {(name: string) => void} hit
 */
export function makeWorkload(port, hit) {
  /** @returns {Promise<{ id: string }>} */
  const send = async (
    /** @type {string} */ name,
    /** @type {unknown} */ input,
    /** @type {import('counterfoil').CallInfo} */ call,
  ) => {
    hit(`before ${name}`)
    const result = await post(port, {
      tool: name,
      key: call.idempotencyKey,
      input,
      attemptId: call.attemptId,
    })
    hit(`after ${name}`)
    return result
  }
  const draft = tool({
    name: 'draft',
    replayClass: 'pure',
    input: any,
    run: (/** @type {{ n: number }} */ { n }) => `draft ${n}`,
  })
  const mail = tool({
    name: 'mail',
    replayClass: 'unsafe_on_replay',
    input: any,
    run: (input, call) => send('mail', input, call),
  })
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (input, call) => `${call.runId}:${input.invoice}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    input: any,
    run: (input, call) => send('charge', input, call),
  })
  const graph = workflow({
    id: 'crash@1.0.0',
    input: any,
    tools: [draft, mail, charge],
    run: async (/** @type {{ to: string }} */ { to }, ctx) => {
      const text = await ctx.call(draft, { n: 1 })
      const branch = async (/** @type {number} */ n) => {
        const more = await ctx.call(draft, { n, text })
        const sent = await ctx.call(mail, { to, more })
        return [sent.id, n]
      }
      const pay = async () => {
        const paid = await ctx.call(charge, { invoice: 'a', to })
        await ctx.call(mail, { to, subject: 'paid' })
        return paid.id
      }
      const [sent, paid] = await Promise.all([Promise.all([branch(2), branch(3)]), pay()])
      await ctx.call(charge, { invoice: 'b', to })
      await ctx.call(mail, { to, subject: 'bye' })
      return { branches: sent.length, paid: typeof paid }
    },
  })
  return graph
}

/** @returns {Promise<any>} */
export function post(/** @type {number} */ port, /** @type {unknown} */ body) {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST' }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(JSON.parse(text)))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}
