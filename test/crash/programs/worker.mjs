// A worker process that dies at its n-th failpoint, or works until nothing is left to do.
// worker.mjs <store> <upstream port> <die at: n, or 0> <run ids, by comma; - for none> [mode …]
//   agent | tour | lying   which graph: the workload's, unless said
//   load=<name>            one of the small ones of loads.mjs
//   asks                   ends when anybody has to be asked, children included
//   ever                   works until it is told to stop
//   lease=<ms>
import { open } from 'counterfoil'
import { addFailpoints } from 'counterfoil/testing'
import { gate, makeAgent } from './agent.mjs'
import { makeLoad } from './loads.mjs'
import { makeTour } from './tour.mjs'
import { makeWorkload } from './workload.mjs'

const [, , store = '', port = '0', dieAt = '0', runIds = 'r1', ...modes] = process.argv
let hits = 0

function hit() {
  // SIGKILL to oneself: no handler, no flush, no exit code of our own.
  if (++hits === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
}

/** @param {string} name */
const said = (name) => modes.find((mode) => mode.startsWith(`${name}=`))?.slice(name.length + 1)

function graphsOf() {
  const load = said('load')
  if (load) return makeLoad(load, Number(port), hit)
  if (modes.includes('agent')) return [makeAgent(Number(port), hit)]
  const lying = modes.includes('lying')
  if (!lying && !modes.includes('tour')) return [makeWorkload(Number(port), hit)]
  const { tour, errand } = makeTour(Number(port), hit, { lying })
  return [tour, errand]
}

const leaseMs = Number(said('lease'))
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
const ends = /** @type {const} */ (['completed', 'failed', 'cancelled', 'waiting_human', 'paused'])
const ended = () => Promise.all(runs.map((run) => run?.until(...ends)))

async function asked() {
  while ((await cf.inbox.list({ countMax: 1 })).items.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

// Until it is killed, or told that nothing more will come.
if (modes.includes('ever')) await new Promise((resolve) => process.once('SIGTERM', resolve))
else await (modes.includes('asks') ? Promise.race([ended(), asked()]) : ended())
await cf.close()
process.stdout.write(JSON.stringify({ hits }))
