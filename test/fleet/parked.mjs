// A worker's process that parks many runs and says what it costs it: heap, leases, connections.
// parked.mjs <store> <runs>
import { open, workflow } from 'counterfoil'

const [, , store = '', count = '0'] = process.argv
/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

const waiting = workflow({
  id: 'waiting@1.0.0',
  input: any,
  run: async (input, ctx) => {
    // Held by the function while it lives: it must not live while the run waits.
    const ballast = `${input.text}`.repeat(100)
    const signal = await ctx.signal('go')
    return { length: ballast.length, got: signal.data }
  },
})

const cf = await open({ store, graphs: [waiting] })
const worker = cf.worker({ concurrency: 50 })
await worker.start()

async function heap() {
  await new Promise((resolve) => setTimeout(resolve, 300))
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** @param {number} from @param {number} to */
async function park(from, to) {
  const text = 'x'.repeat(200)
  for (let n = from; n < to; n += 100) {
    const batch = Array.from({ length: Math.min(100, to - n) }, (_, i) => n + i)
    await Promise.all(batch.map((i) => cf.start(waiting, { text }, { runId: `p${i}` })))
  }
  while (worker.stats().claimed < to || worker.stats().running > 0) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const half = Number(count) / 2
await park(0, half)
const before = await heap()
await park(half, Number(count))
const after = await heap()
const { running } = worker.stats()
const told = new Promise((resolve) => process.once('SIGUSR2', resolve))
process.stdout.write(`${JSON.stringify({ kind: 'parked', before, after, running })}\n`)
await told
// A signal to one of them wakes it, and no other.
await cf.run('p7').signal('go', 'now')
const result = await cf.run('p7').result()
process.stdout.write(`${JSON.stringify({ kind: 'woken', result, ...worker.stats() })}\n`)
process.once('SIGTERM', () => void cf.close().then(() => process.exit(0)))
