// Small loads, one for each way of working, for faults that are injected at every point of them.
// The larger ones are workload.mjs (parallel), agent.mjs (graph) and host.mjs (scope).
import { workflow } from 'counterfoil'
import { makeTourTools } from './tour.mjs'
import { makeWorkload } from './workload.mjs'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

/** @typedef {{ to: string }} Input */

/**
 * @param {ReturnType<typeof makeTourTools>} tools
 * @returns {import('counterfoil').Graph<any, any>[]}
 */
function workflows({ draft, mail, charge }) {
  const shared = { input: any, tools: [draft, mail, charge] }
  const letters = workflow({
    ...shared,
    id: 'letters@1.0.0',
    run: async (/** @type {Input} */ { to }, ctx) => {
      const subject = await ctx.call(draft, { n: 1 })
      await ctx.call(mail, { to, subject })
      await ctx.call(charge, { to, invoice: 'a' })
      await ctx.call(mail, { to, subject: 'bye' })
      return { to }
    },
  })
  return [letters]
}

/**
 * @param {ReturnType<typeof makeTourTools>} tools
 * @returns {import('counterfoil').Graph<any, any>[]}
 */
function approvals({ mail, charge }) {
  const asking = workflow({
    ...{ id: 'asking@1.0.0', input: any, tools: [mail, charge] },
    run: async (/** @type {Input} */ { to }, ctx) => {
      await ctx.call(mail, { to, subject: 'hello' })
      const answer = await ctx.approval({ title: 'go on?', queue: 'tour', data: { to } })
      if (answer.approved) await ctx.call(charge, { to, invoice: 'a' })
      await ctx.call(mail, { to, subject: 'bye' })
      return { to }
    },
  })
  return [asking]
}

/**
 * @param {ReturnType<typeof makeTourTools>} tools
 * @returns {import('counterfoil').Graph<any, any>[]}
 */
function families({ mail, charge }) {
  const child = workflow({
    ...{ id: 'child@1.0.0', input: any, tools: [mail, charge] },
    run: async (/** @type {Input} */ { to }, ctx) => {
      await ctx.call(mail, { to, subject: 'child' })
      await ctx.call(charge, { to, invoice: 'child' })
      return { to }
    },
  })
  const parent = workflow({
    ...{ id: 'parent@1.0.0', input: any, tools: [mail] },
    run: async (/** @type {Input} */ { to }, ctx) => {
      await ctx.call(mail, { to, subject: 'hello' })
      const end = await ctx.spawn(child, { to })
      await ctx.call(mail, { to, subject: 'bye' })
      return { child: end.state }
    },
  })
  return [parent, child]
}

/**
 * @param {string} name
 * @param {number} port
 * @param {(name: string) => void} hit
 * @returns {import('counterfoil').Graph<any, any>[]}
 */
export function makeLoad(name, port, hit) {
  const tools = makeTourTools(port, hit)
  if (name === 'workflow') return workflows(tools)
  if (name === 'approval') return approvals(tools)
  if (name === 'child') return families(tools)
  if (name === 'parallel') return [makeWorkload(port, hit)]
  throw new Error(`no load ${name}`)
}

/**
 * @param {string} to
 * @param {readonly string[]} mails
 * @param {readonly string[]} invoices
 */
const sent = (to, mails, invoices) => [
  ...mails.map((subject) => ({ tool: 'mail', input: { to, subject } })),
  ...invoices.map((invoice) => ({ tool: 'charge', input: { to, invoice } })),
]

/**
 * The effects of an uninterrupted run.
 * @type {Record<string, (to: string) => { tool: string, input: unknown }[]>}
 */
export const effectsOfLoad = {
  workflow: (to) => sent(to, ['hello 1', 'bye'], ['a']),
  approval: (to) => sent(to, ['hello', 'bye'], ['a']),
  child: (to) => sent(to, ['hello', 'child', 'bye'], ['child']),
  parallel: (to) => [
    ...sent(to, ['paid', 'bye'], []),
    ...['a', 'b'].map((invoice) => ({ tool: 'charge', input: { invoice, to } })),
    ...[2, 3].map((n) => ({ tool: 'mail', input: { to, more: `draft ${n}` } })),
  ],
}
