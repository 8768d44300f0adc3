// The demo's agent: read context, plan, send an e-mail, wait for approval, commit. What each step
// is allowed on a replay is said by its class, and nowhere else.
import { tool, workflow } from '../../index.ts'
import { object } from './schema.ts'
import { fileOrder, ownFolder, planOrder, readContext, sendEmail } from './world.ts'

const readContextTool = tool({
  name: 'read_context',
  replayClass: 'pure',
  input: object({ customer: 'string' }),
  run: ({ customer }) => readContext(customer),
})

const planTool = tool({
  name: 'plan',
  replayClass: 'pure',
  input: object({ customer: 'string', address: 'string' }),
  run: (context) => planOrder(context),
})

// No probe: this mail server cannot be asked what it has sent. Many cannot.
const sendEmailTool = tool({
  name: 'send_email',
  replayClass: 'unsafe_on_replay',
  input: object({ to: 'string', subject: 'string' }),
  output: object({ messageId: 'string' }),
  run: (email) => sendEmail(ownFolder(), email),
  externalId: ({ messageId }) => messageId,
})

const fileOrderTool = tool({
  name: 'file_order',
  replayClass: 'idempotent_with_key',
  idempotencyKey: (_input, { runId }) => runId,
  keyTtlMs: Number.POSITIVE_INFINITY,
  input: object({ order: 'string' }),
  run: ({ order }, { idempotencyKey }) => fileOrder(ownFolder(), idempotencyKey ?? '', order),
  externalId: ({ number }) => number,
})

export const outreach = workflow({
  id: 'outreach@1.0.0',
  input: object({ customer: 'string' }),
  tools: [readContextTool, planTool, sendEmailTool, fileOrderTool],
  run: async ({ customer }, ctx) => {
    const context = await ctx.call(readContextTool, { customer })
    const { email, order } = await ctx.call(planTool, context)
    const { messageId } = await ctx.call(sendEmailTool, email)
    const { answer } = await ctx.ask<{ approved: boolean }>({
      title: `File the order: ${order}?`,
      data: { order, messageId },
      queue: 'sales',
    })
    if (answer.approved !== true) return { messageId, order: null }
    const { number } = await ctx.call(fileOrderTool, { order })
    return { messageId, order: number }
  },
})
