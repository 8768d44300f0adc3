// One worker process of the bench: warms up on runs of its own, says that it is there, and begins
// when it is told.
import { once } from 'node:events'
import { open } from 'counterfoil'
import { small, warm } from './fleet-graphs.mjs'

const store = process.env['BENCH_STORE'] ?? ''
const first = await open({ store, graphs: [warm] })
await first.worker({ concurrency: 50 }).start()
const runs = await Promise.all(
  Array.from({ length: 50 }, () => first.start(warm, { count: 10 }, {})),
)
await Promise.all(runs.map((run) => run.result()))
await first.close()
const cf = await open({ store, graphs: [small] })
console.log('ready')
await once(process.stdin, 'data')
await cf.worker({ concurrency: 50 }).start()
process.stdin.resume()
await once(process.stdin, 'end')
await cf.close()
