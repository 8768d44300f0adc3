// Arm 3: the same agent, its model and its lookups declared pure, its e-mails unsafe. It ends with
// code 3 where a person has to decide.
import { join } from 'node:path'
import { open, tool, workflow } from 'counterfoil'
import { turn, turns, worldAt } from './agent.mjs'

/** @typedef {import('./agent.mjs').Message} Message */

const [, , url = '', dir = '', task = ''] = process.argv
const world = worldAt(url)

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } }

const model = tool({
  name: 'model',
  replayClass: 'pure',
  input: any,
  run: (/** @type {Message[]} */ messages) => world.post('/model', { messages }),
  usage: (reply) => ({ tokensIn: 0, tokensOut: Math.ceil(JSON.stringify(reply).length / 4) }),
})
const lookup = tool({
  name: 'lookup',
  replayClass: 'pure',
  input: any,
  run: (input) => world.post('/lookup', { task, ...input }),
})
const sendEmail = tool({
  name: 'send_email',
  replayClass: 'unsafe_on_replay',
  input: any,
  run: (input) => world.post('/send', { task, ...input }),
})

const agent = workflow({
  id: 'agent@1.0.0',
  input: any,
  tools: [model, lookup, sendEmail],
  run: async (_, ctx) => {
    /** @type {Message[]} */
    const messages = []
    for (const about of turns) {
      messages.push({ role: 'user', content: about })
      await turn(messages, {
        model: (said) => ctx.call(model, [...said]),
        call: (name, input) => ctx.call(name === 'lookup' ? lookup : sendEmail, input),
      })
    }
  },
})

const cf = await open({ store: `sqlite:${join(dir, 'runs.db')}`, graphs: [agent] })
const run = await cf.start(agent, null, { runId: task })
await cf.worker().start()
const { state } = await run.until('waiting_human', 'completed')
process.exit(state === 'completed' ? 0 : 3)
