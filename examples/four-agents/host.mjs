// The host: four agents, and two workers in processes of their own. It ends when the agents have.
// host.mjs <store> <ids, by comma> [unsafe]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { open } from 'counterfoil'
import { agent } from './agent.mjs'

const [, , store = '', ids = '', how] = process.argv
const path = (/** @type {string} */ url) => fileURLToPath(new URL(url, import.meta.url))
const main = path(
  new URL('./dist/cli/main.js', import.meta.resolve('counterfoil/package.json')).href,
)

const cf = await open({ store, graphs: [agent] })
// The same id again attaches to the run that is there: a restart starts nothing anew.
const runs = await Promise.all(
  ids.split(',').map((runId) => cf.start(agent, { unsafe: how === 'unsafe' }, { runId })),
)
const workers = [1, 2].map(() =>
  spawn(
    process.execPath,
    [main, 'worker', path('./agent.mjs'), '--store', store, '--concurrency', '2'],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  ),
)
await Promise.all(runs.map((run) => run.result()))
for (const worker of workers) {
  const exit = once(worker, 'exit')
  worker.kill('SIGTERM')
  const [code] = await exit
  if (code !== 0) process.exitCode = 1
}
await cf.close()
