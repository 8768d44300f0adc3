// What is measured. Each answers microseconds per call; tools do nothing, so that all of it is
// ours.
import { open, tool, workflow } from 'counterfoil'

/** Any input, any output: validation is not what is measured. */
/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } }

const tools = {
  unsafe: tool({ name: 'unsafe', replayClass: 'unsafe_on_replay', input: any, run: () => 1 }),
  keyed: tool({
    name: 'keyed',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (input, call) => `${call.runId}:${input.i}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    input: any,
    run: () => 1,
  }),
  pure: tool({ name: 'pure', replayClass: 'pure', input: any, run: () => 1 }),
}

/** @typedef {{ kind: 'unsafe' | 'keyed' | 'pure', count: number, turns: number }} Sequence */

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** What the waiting alone costs: it is not ours. */
async function waitingUs(/** @type {number} */ count, /** @type {number} */ turns) {
  const from = process.hrtime.bigint()
  for (let i = 0; i < count * turns; i++) await turn()
  return Number(process.hrtime.bigint() - from) / 1_000 / count
}

/** Many calls of one class, one after the other; `turns` of other waiting after each. */
const sequence = workflow({
  id: 'sequence@1.0.0',
  input: any,
  tools: Object.values(tools),
  run: async (/** @type {Sequence} */ { kind, count, turns }, ctx) => {
    const call = tools[kind]
    for (let i = 0; i < 20; i++) await ctx.call(call, { warm: i, i: -i - 1 })
    const from = process.hrtime.bigint()
    for (let i = 0; i < count; i++) {
      await ctx.call(call, { i })
      for (let t = 0; t < turns; t++) await turn()
    }
    const us = Number(process.hrtime.bigint() - from) / 1_000 / count
    return us - (await waitingUs(count, turns))
  },
})

/** @returns {{ promise: Promise<void>, resolve: () => void }} */
function deferred() {
  let resolve = () => {}
  const promise = new Promise((/** @type {(value: void) => void} */ r) => {
    resolve = r
  })
  return { promise, resolve }
}

let begin = deferred()
let ready = 0

const small = workflow({
  id: 'small@1.0.0',
  input: any,
  tools: [tools.unsafe],
  run: async (/** @type {{ count: number }} */ { count }, ctx) => {
    ready++
    await begin.promise
    for (let i = 0; i < count; i++) await ctx.call(tools.unsafe, { i })
  },
})

/**
 * @param {string} store
 * @param {string} [key]
 */
export async function openBench(store, key) {
  const cf = await open({ store, graphs: [sequence, small], ...(key ? { key } : {}) })
  const worker = cf.worker({ concurrency: 50 })
  await worker.start()
  return {
    /** @returns {Promise<number>} */
    sequence: async (
      /** @type {Sequence['kind']} */ kind,
      /** @type {number} */ count,
      turns = 0,
    ) => (await cf.start(sequence, { kind, count, turns })).result(),
    /** `runs` runs at once, `count` unsafe calls each: microseconds per call, over all of them. */
    concurrent: async (/** @type {number} */ runs, /** @type {number} */ count) => {
      // Begun together: starting a run is a commit of its own, and not what is measured here.
      begin = deferred()
      ready = 0
      const started = await Promise.all(
        Array.from({ length: runs }, () => cf.start(small, { count })),
      )
      while (ready < runs) await turn()
      const from = process.hrtime.bigint()
      begin.resolve()
      await Promise.all(started.map((run) => run.result()))
      return Number(process.hrtime.bigint() - from) / 1_000 / (runs * count)
    },
    close: () => cf.close(),
  }
}
