// A worker whose mail tool waits for the upstream's slow answer; it says on stdout what it does.
// slow-worker.mjs <store> <upstream port> <lease ms> <run id>
import { open, tool, workflow } from 'counterfoil'
import { post } from './workload.mjs'

const [, , store = '', port = '0', leaseMs = '15000', runId = 'r1'] = process.argv
/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`)

const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: any,
  run: async (input, call) => {
    say(`sending ${input.subject}`)
    const body = { tool: 'mail', key: null, input, attemptId: call.attemptId }
    return post(Number(port), body)
  },
})
const graph = workflow({
  id: 'slow@1.0.0',
  input: any,
  tools: [mail],
  run: async (/** @type {{ to: string }} */ { to }, ctx) => {
    const first = await ctx.call(mail, { to, subject: 'first' })
    const second = await ctx.call(mail, { to, subject: 'second' })
    return [first.id, second.id]
  },
})
const cf = await open({
  store,
  graphs: [graph],
  settleMs: 60,
  onWarning: () => {},
})
const run = await cf.start(graph, { to: runId }, { runId })
const worker = cf.worker({ leaseMs: Number(leaseMs), pollMs: 50 })
await worker.start()
say(`working ${worker.id}`)
for (const state of /** @type {const} */ (['waiting_human', 'completed'])) {
  await run.until(state, 'completed', 'failed')
  say(`run is ${(await run.status()).state}`)
}
await run.until('completed', 'failed')
await cf.close()
say('closed')
