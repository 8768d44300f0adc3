// A worker process that dies at its n-th failpoint, or works until nothing is left to do.
// worker.mjs <store file> <upstream port> <die at: n, or 0> <run ids, by comma> [agent] [ever]
import { open } from 'counterfoil'
import { addFailpoints } from 'counterfoil/testing'
import { gate, makeAgent } from './agent.mjs'
import { makeWorkload } from './workload.mjs'

const [, , file = '', port = '0', dieAt = '0', runIds = 'r1', ...modes] = process.argv
let hits = 0

function hit() {
  // SIGKILL to oneself: no handler, no flush, no exit code of our own.
  if (++hits === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
}

const agent = modes.includes('agent')
const graph = agent ? makeAgent(Number(port), hit) : makeWorkload(Number(port), hit)
const cf = await open({
  store: `sqlite:${file}`,
  graphs: [graph],
  settleMs: 60,
  ...(agent ? { gate } : {}),
})
addFailpoints(cf.store, hit)
const runs = await Promise.all(
  runIds.split(',').map((runId) => cf.start(graph, { to: runId }, { runId })),
)
const worker = cf.worker({ concurrency: 20, pollMs: modes.includes('ever') ? 50 : 10_000 })
process.stdout.write('working\n')
await worker.start()
// Until it is killed, or told that nothing more will come.
if (modes.includes('ever')) await new Promise((resolve) => process.once('SIGTERM', resolve))
else {
  await Promise.all(runs.map((run) => run.until('completed', 'failed', 'waiting_human', 'paused')))
}
await cf.close()
process.stdout.write(JSON.stringify({ hits }))
