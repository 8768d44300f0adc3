// A worker whose mails land late: after this process is gone, if it is killed meanwhile.
// late-worker.mjs <store> <upstream port> <upstream | process> <late ms> <quiet ms> <run id>
//   upstream   the upstream takes the request at once and acts later
//   process    a process that the tool has started, and that outlives this one, asks later
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { open, tool, workflow } from 'counterfoil'
import { post } from './workload.mjs'

const [, , store = '', port = '0', how = 'upstream', late = '0', quiet = '0', runId = 'r1'] =
  process.argv
const [lateMs, quietMs] = [Number(late), Number(quiet)]
/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

/** @returns {Promise<any>} */
async function byProcess(/** @type {unknown} */ body) {
  const path = fileURLToPath(new URL('./late-child.mjs', import.meta.url))
  const args = [path, port, late, JSON.stringify(body)]
  const child = spawn(process.execPath, args, { stdio: 'ignore', detached: true })
  await once(child, 'spawn')
  process.stdout.write('sending\n')
  await once(child, 'exit')
  return { id: 'by-process' }
}

const outlives = how === 'process'
const mail = tool({
  ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: any, quietMs, outlives },
  run: async (input, { attemptId, attempt, runId: of }) => {
    const body = { tool: 'mail', key: null, input, attemptId, attempt, runId: of }
    if (outlives) return byProcess(body)
    const sent = post(Number(port), { ...body, lateMs })
    process.stdout.write('sending\n')
    return sent
  },
})
const graph = workflow({
  ...{ id: 'late@1.0.0', input: any, tools: [mail] },
  run: async (/** @type {{ to: string }} */ { to }, ctx) => {
    await ctx.call(mail, { to, subject: 'late' })
    return { to }
  },
})
const cf = await open({ store, graphs: [graph], settleMs: 60 })
const run = await cf.start(graph, { to: runId }, { runId })
await cf.worker({ pollMs: 50 }).start()
await run.until('completed', 'failed', 'waiting_human')
await cf.close()
