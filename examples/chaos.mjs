// A workflow to be killed everywhere. Its bank takes an idempotency key, and forgets to look at it:
//
//   npx counterfoil chaos examples/chaos.mjs --every-boundary            finds it, exit code 1
//   BANK=careful npx counterfoil chaos examples/chaos.mjs --every-boundary   nothing is wrong
//
// Nothing here is real: `mocks` stand for the upstreams, in a process that is not killed.
import { tool, workflow } from 'counterfoil'
import { z } from 'zod'

const chargeCard = tool({
  name: 'charge_card',
  replayClass: 'idempotent_with_key', // so it says; is it true of the bank?
  idempotencyKey: ({ invoice }, { runId }) => `${runId}:${invoice}`,
  keyTtlMs: 24 * 3_600_000,
  input: z.object({ invoice: z.string(), amount: z.number() }),
  run: async () => ({ chargeId: 'your bank' }),
})

const sendReceipt = tool({
  name: 'send_receipt',
  replayClass: 'unsafe_on_replay',
  input: z.object({ to: z.string(), chargeId: z.string() }),
  run: async () => ({ messageId: 'your mailer' }),
})

export const checkout = workflow({
  id: 'checkout@1.0.0',
  input: z.object({ customer: z.string(), amount: z.number() }),
  tools: [chargeCard, sendReceipt],
  run: async ({ customer, amount }, ctx) => {
    const { chargeId } = await ctx.call(chargeCard, { invoice: 'inv-7', amount })
    await ctx.call(sendReceipt, { to: customer, chargeId })
    return { chargeId }
  },
})

export const input = { customer: 'acme', amount: 120 }

/** @type {import('counterfoil/testing').Mocks} */
export const mocks = {
  charge_card: (_, call) => {
    const charge = () => ({ chargeId: 'ch-1' })
    // `once` is a bank that honours its keys; without it, it charges whenever it is asked.
    return process.env['BANK'] === 'careful' ? call.once(charge) : charge()
  },
  send_receipt: () => ({ messageId: 'm-1' }),
}
