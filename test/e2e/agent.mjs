// What the console is tried with: a graph that asks, sends and charges, and a workflow whose input
// moves between two executions. The upstreams are files, so that effects can be counted.
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { graph, RefusedError, tool, workflow } from 'counterfoil'
import { z } from 'zod'

const { E2E_FOLDER: folder = '.', E2E_DRIFT: drift = 'first' } = process.env
const outbox = join(folder, 'outbox.txt')

const draft = tool({
  name: 'draft',
  replayClass: 'pure',
  input: z.object({ for: z.string() }),
  usage: () => ({ tokensIn: 900, tokensOut: 120, usd: 0.0045 }),
  run: ({ for: who }) => `Dear ${who}, your reorder is due.`,
})

const sendEmail = tool({
  name: 'send_email',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'external',
  input: z.object({ to: z.string(), body: z.string() }),
  output: z.object({ messageId: z.string() }),
  timeoutMs: 600_000,
  quietMs: 60_000,
  probe: () => ({ landed: 'unknown' }),
  externalId: ({ messageId }) => messageId,
  example: { messageId: 'm-1207' },
  whereToLook: ({ to }) => ({
    url: `https://mail.example/log?to=${encodeURIComponent(to)}`,
    say: 'Search the log of the mail server for this address.',
  }),
  run: async ({ to }) => {
    if (to.startsWith('refused')) throw new RefusedError(`mailbox of ${to} is full`)
    appendFileSync(outbox, `${JSON.stringify(to)}\n`)
    process.stdout.write(`sent to ${to}\n`)
    // The upstream has it, and is slow to say so.
    while (to.startsWith('slow') && !existsSync(join(folder, 'released'))) await pause(20)
    return { messageId: `m-${to}` }
  },
})

/** Says nothing back, and its link is what a model wrote. */
const page = tool({
  name: 'page_oncall',
  replayClass: 'unsafe_on_replay',
  blastRadius: 'external',
  input: z.object({ who: z.string(), log: z.string() }),
  timeoutMs: 600_000,
  quietMs: 60_000,
  whereToLook: ({ who, log }) => ({ url: log, say: `Ask ${who} whether the pager rang.` }),
  run: async ({ who }) => {
    process.stdout.write(`paged ${who}\n`)
    while (!existsSync(join(folder, 'released'))) await pause(20)
  },
})

const charge = tool({
  name: 'charge_card',
  replayClass: 'idempotent_with_key',
  blastRadius: 'money',
  idempotencyKey: (_, call) => call.runId,
  keyTtlMs: 24 * 3_600_000,
  input: z.object({ amount: z.number().min(1), currency: z.enum(['EUR', 'USD']) }),
  amount: ({ amount }) => amount,
  externalId: ({ chargeId }) => chargeId,
  run: ({ amount }, call) => ({ amount, chargeId: `ch-${call.idempotencyKey}` }),
})

const Order = z.object({
  customer: z.string(),
  amount: z.number().min(1).max(100_000),
  currency: z.enum(['EUR', 'USD']),
  rush: z.boolean(),
  lines: z.array(z.object({ item: z.string(), count: z.number(), price: z.number() })),
})

export const desk = graph({
  id: 'desk@1.0.0',
  state: z.object({
    customer: z.string(),
    letter: z.string().default(''),
    messageId: z.string().default(''),
    amount: z.number().default(0),
  }),
  output: z.object({ amount: z.number(), charge: z.string() }),
  tools: [draft, sendEmail, charge],
  start: 'plan',
  nodes: {
    plan: async ({ customer }, ctx) => {
      const letter = await ctx.call(draft, { for: customer })
      ctx.log(`the letter for ${customer} is drafted`)
      return ctx.go('send', { letter })
    },
    send: async ({ customer, letter }, ctx) => {
      const { messageId } = await ctx.call(sendEmail, { to: customer, body: letter })
      return ctx.go('approve', { messageId })
    },
    approve: async ({ customer }, ctx) => {
      const rich = customer.startsWith('rich')
      const answer = await ctx.approval({
        title: `Charge ${customer.replace('vip-', '')}?`,
        queue: customer.startsWith('vip-') ? 'vip' : 'sales',
        slaMs: customer.startsWith('late') ? 1 : 4 * 3_600_000,
        data: {
          ...{ customer, amount: rich ? 5_000 : 40, currency: 'EUR', rush: false },
          lines: [
            { item: 'boxes', count: 20, price: 1.5 },
            { item: 'tape', count: 2, price: 5 },
          ],
        },
        schema: Order,
      })
      if (!answer.approved) return ctx.fail(`not charged: ${answer.reason}`)
      return ctx.go('pay', { amount: answer.data.amount })
    },
    pay: async ({ amount }, ctx) => {
      const paid = await ctx.call(charge, { amount, currency: 'EUR' })
      return ctx.done({ amount: paid.amount, charge: paid.chargeId })
    },
  },
})

export const drifter = workflow({
  id: 'drifter@1.0.0',
  input: z.object({ customer: z.string() }),
  tools: [sendEmail, charge],
  run: async ({ customer }, ctx) => {
    await ctx.call(sendEmail, { to: `${drift} of ${customer}`, body: 'hello' })
    if (drift === 'first') await ctx.call(charge, { amount: 5, currency: 'EUR' })
    await ctx.call(sendEmail, { to: `slow ${customer}`, body: 'and again' })
    return {}
  },
})

export const rota = workflow({
  id: 'rota@1.0.0',
  input: z.object({ customer: z.string() }),
  tools: [page],
  run: async ({ customer }, ctx) => {
    await ctx.call(page, { who: customer, log: 'javascript:globalThis.hit=4' })
    return {}
  },
})
