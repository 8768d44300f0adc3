// A worker process that dies at its n-th failpoint, or works until nothing is left to do.
// worker.mjs <store> <upstream port> <die at: n, or 0> <run ids, by comma; - for none> [mode …]
//   agent | tour | lying   which graph: the workload's, unless said
//   ever                   works until it is told to stop
//   lease=<ms>
import { open } from 'counterfoil'
import { addFailpoints } from 'counterfoil/testing'
import { gate, makeAgent } from './agent.mjs'
import { makeTour } from './tour.mjs'
import { makeWorkload } from './workload.mjs'

const [, , store = '', port = '0', dieAt = '0', runIds = 'r1', ...modes] = process.argv
let hits = 0

function hit() {
  // SIGKILL to oneself: no handler, no flush, no exit code of our own.
  if (++hits === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
}

function graphsOf() {
  if (modes.includes('agent')) return [makeAgent(Number(port), hit)]
  const lying = modes.includes('lying')
  if (!lying && !modes.includes('tour')) return [makeWorkload(Number(port), hit)]
  const { tour, errand } = makeTour(Number(port), hit, { lying })
  return [tour, errand]
}

const leaseMs = Number(modes.find((mode) => mode.startsWith('lease='))?.slice('lease='.length))
const graphs = /** @type {import('counterfoil').Graph<any, any>[]} */ (graphsOf())
const cf = await open({
  ...{ store, graphs, settleMs: 60 },
  ...(modes.includes('agent') ? { gate } : {}),
})
addFailpoints(cf.store, hit)
const [graph] = graphs
const runs = await Promise.all(
  runIds
    .split(',')
    .filter((runId) => runId !== '-')
    .map((runId) => graph && cf.start(graph, { to: runId }, { runId })),
)
const pollMs = modes.includes('ever') ? 50 : 10_000
const worker = cf.worker({ concurrency: 20, pollMs, ...(leaseMs ? { leaseMs } : {}) })
// With its own idea of the time.
process.stdout.write(`working ${worker.id} ${Date.now()}\n`)
await worker.start()
// Until it is killed, or told that nothing more will come.
if (modes.includes('ever')) await new Promise((resolve) => process.once('SIGTERM', resolve))
else {
  await Promise.all(runs.map((run) => run?.until('completed', 'failed', 'waiting_human', 'paused')))
}
await cf.close()
process.stdout.write(JSON.stringify({ hits }))
