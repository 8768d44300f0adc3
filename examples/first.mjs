import { open, tool, workflow } from 'counterfoil'
import { z } from 'zod'

const sendEmail = tool({
  name: 'send_email',
  replayClass: 'unsafe_on_replay', // sent twice, it arrives twice
  input: z.object({ to: z.string(), body: z.string() }),
  run: async ({ to }) => ({ messageId: `m-${to}` }), // your mailer
})

const outreach = workflow({
  id: 'outreach@1.0.0',
  input: z.object({ customer: z.string() }),
  tools: [sendEmail],
  run: async ({ customer }, ctx) => {
    const mail = await ctx.call(sendEmail, { to: customer, body: 'Hello!' })
    const { answer } = await ctx.ask({ title: `Call ${customer} too?` })
    return { mail, answer }
  },
})

const cf = await open({ store: 'sqlite:runs.db', graphs: [outreach] })
await cf.worker().start()
const run = await cf.start(outreach, { customer: 'acme' }, { runId: 'acme-1' })
await run.until('waiting_human', 'completed')
console.log(await run.status())
await cf.close()
