// A worker whose node blocks the event loop between two mails; it says on stdout what it does.
// blocker.mjs <store file> <upstream port> <options as JSON>
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { open, tool, workflow } from 'counterfoil'
import { post } from '../crash/programs/workload.mjs'

const [, , file = '', port = '0', given = '{}'] = process.argv
/** @type {{ leaseMs: number, blockedMsMax?: number, busyMs: number, idle?: boolean,
 *   awake?: string, renewer?: string, waitMs?: number }} */
const options = JSON.parse(given)
const { leaseMs, blockedMsMax = 60_000, busyMs, idle, awake, renewer, waitMs = 100 } = options
/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`)

const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: any,
  run: async (input, call) => {
    say(`sending ${input.subject}`)
    return post(Number(port), { tool: 'mail', key: null, input, attemptId: call.attemptId })
  },
})
const graph = workflow({
  id: 'blocker@1.0.0',
  input: any,
  tools: [mail],
  run: async (/** @type {{ to: string }} */ { to }, ctx) => {
    await ctx.call(mail, { to, subject: 'first' })
    // Its receipt is written meanwhile.
    await sleep(waitMs)
    if (busyMs > 0) block()
    await ctx.call(mail, { to, subject: 'second' })
  },
})

/** For so long, or until there is a file of this name. */
function block() {
  say('blocked')
  const until = process.hrtime.bigint() + BigInt(busyMs) * 1_000_000n
  while (process.hrtime.bigint() < until && !(awake && existsSync(awake)));
  say('awake')
}

const cf = await open({
  store: `sqlite:${file}`,
  graphs: [graph],
  settleMs: 60,
  onWarning: (message) => say(`warning: ${message}`),
})
// Stands for a thread that cannot do its work.
if (renewer !== undefined) {
  Object.assign(cf.store, { renewal: { module: `data:text/javascript,${renewer}`, data: null } })
}
const worker = cf.worker({ leaseMs, blockedMsMax, pollMs: 20 })
await worker.start()
say(`working ${worker.id}`)
if (!idle) await cf.start(graph, { to: 'r1' }, { runId: 'r1' })
await cf.run('r1').until('completed', 'failed')
await worker.stop()
say(JSON.stringify(worker.stats()))
await cf.close()
// Nothing may be left that keeps the process: it is not told to exit.
say('closed')
