// Taking a vendor on, over days: a form that the vendor sends back, a look at sanctions lists, two
// approvals, a vendor record, a purchase order, and credentials. What may not happen twice is said
// by each tool's class; everything else follows from that.
import { graph, NotSentError, tool } from 'counterfoil'
import { z } from 'zod'

const day = 24 * 3_600_000

/**
 * @param {string} service
 * @param {unknown} body
 * @param {{ runId: string, idempotencyKey?: string | null, attemptId?: string }} call
 * @returns {Promise<unknown>}
 */
async function post(service, body, call) {
  const headers = {
    'x-run': call.runId,
    'x-reference': call.attemptId ?? '',
    ...(call.idempotencyKey ? { 'idempotency-key': call.idempotencyKey } : {}),
  }
  const url = `${process.env['ONBOARDING_OFFICE']}/${service}`
  try {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return await response.json()
  } catch (error) {
    const { code } = Object(Object(error).cause)
    // Nobody listens there: nothing has left. Any other error leaves that open.
    if (code === 'ECONNREFUSED') throw new NotSentError(`${service} is away`)
    throw error
  }
}

const Form = z.object({ legalName: z.string(), taxId: z.string() })
const Order = z.object({ vendor: z.string(), usd: z.number(), what: z.string() })

// A mail cannot be asked for, and cannot be called back.
const requestForm = tool({
  name: 'request_w9',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'external',
  input: z.object({ vendor: z.string(), round: z.number() }),
  output: z.object({ messageId: z.string() }),
  run: (input, call) => post('mail', input, call),
  externalId: ({ messageId }) => messageId,
})

// A model reads the form: paid for once, read back afterwards.
const readForm = tool({
  name: 'read_w9',
  replayClass: 'pure',
  beat: 'observe',
  input: z.object({ text: z.string() }),
  output: Form,
  run: (input, call) => post('model', input, call),
  usage: () => ({ tokensIn: 2_100, tokensOut: 90, usd: 0.0077 }),
})

const screen = tool({
  name: 'check_sanctions',
  replayClass: 'pure',
  input: Form,
  output: z.object({ hits: z.array(z.string()) }),
  run: (input, call) => post('sanctions', input, call),
})

// The accounts know a vendor by its tax id: made twice, it is one.
const createVendor = tool({
  name: 'create_vendor',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ taxId }) => `vendor:${taxId}`,
  keyTtlMs: Number.POSITIVE_INFINITY,
  blastRadius: 'local',
  input: Form,
  output: z.object({ vendorId: z.string() }),
  run: (input, call) => post('vendor', input, call),
  externalId: ({ vendorId }) => vendorId,
})

// The purchasing system has no keys and cannot be searched: filed twice, it is two orders.
const fileOrder = tool({
  name: 'file_purchase_order',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'money',
  amount: ({ usd }) => usd,
  input: Order.extend({ vendorId: z.string() }),
  output: z.object({ number: z.string() }),
  run: (input, call) => post('order', input, call),
  externalId: ({ number }) => number,
})

// No keys either, but what was issued can be looked up: a probe answers instead of a person.
const Credentials = z.object({ user: z.string() })
const issueCredentials = tool({
  name: 'issue_credentials',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'external',
  input: z.object({ vendorId: z.string() }),
  output: Credentials,
  run: (input, call) => post('credentials', input, call),
  probe: async (_input, call) => {
    const found = await post('issued', { reference: call.attemptId }, call)
    return found ? { landed: 'yes', result: Credentials.parse(found) } : { landed: 'unknown' }
  },
  externalId: ({ user }) => user,
})

export const onboarding = graph({
  id: 'onboarding@1.0.0',
  state: z.object({
    vendor: z.string(),
    usd: z.number(),
    what: z.string(),
    round: z.number().default(1),
    form: Form.default({ legalName: '', taxId: '' }),
    hits: z.array(z.string()).default([]),
    vendorId: z.string().default(''),
    order: z.string().default(''),
  }),
  output: z.object({ vendorId: z.string(), order: z.string(), user: z.string() }),
  tools: [requestForm, readForm, screen, createVendor, fileOrder, issueCredentials],
  start: 'documents',
  nodes: {
    documents: async ({ vendor, round }, ctx) => {
      await ctx.call(requestForm, { vendor, round })
      const form = await ctx.signal('w9', { timeoutMs: 5 * day })
      if (form === null) {
        if (round >= 3) return ctx.fail(`${vendor} has not sent the form`)
        return ctx.go('documents', { round: round + 1 })
      }
      const { text } = z.object({ text: z.string() }).parse(form.data)
      return ctx.go('screening', { form: await ctx.call(readForm, { text }) })
    },
    screening: async ({ form }, ctx) => {
      const { hits } = await ctx.call(screen, form)
      return ctx.go('approvals', { hits })
    },
    approvals: async ({ vendor, usd, what, form, hits }, ctx) => {
      const [finance, legal] = await Promise.all([
        ctx.approval({
          title: `Order ${what} from ${vendor} for $${usd.toLocaleString('en')}?`,
          data: { vendor, what, usd },
          queue: 'finance',
          slaMs: 2 * day,
        }),
        ctx.approval({
          title: `Contract with ${form.legalName}?`,
          data: { ...form, sanctions: hits },
          queue: 'legal',
          slaMs: 3 * day,
        }),
      ])
      const no = [finance, legal].find((answer) => !answer.approved)
      return no ? ctx.fail(`${no.by} said no: ${no.reason}`) : ctx.go('vendor')
    },
    vendor: async ({ form }, ctx) => ctx.go('order', await ctx.call(createVendor, form)),
    order: async ({ vendor, usd, what, vendorId }, ctx) => {
      const { number } = await ctx.call(fileOrder, { vendor, usd, what, vendorId })
      return ctx.go('credentials', { order: number })
    },
    credentials: async ({ vendorId, order }, ctx) => {
      const { user } = await ctx.call(issueCredentials, { vendorId })
      return ctx.done({ vendorId, order, user })
    },
  },
})
