// One worker process of the bench: says that it is there, and begins when it is told.
import { once } from 'node:events'
import { open } from 'counterfoil'
import { small } from './fleet-graphs.mjs'

const store = process.env['BENCH_STORE'] ?? ''
const cf = await open({ store, graphs: [small] })
console.log('ready')
await once(process.stdin, 'data')
await cf.worker({ concurrency: 50 }).start()
process.stdin.resume()
await once(process.stdin, 'end')
await cf.close()
