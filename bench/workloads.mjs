// What is measured. Each answers microseconds per call; tools do nothing, so that all of it is ours.
import { open, tool, workflow } from 'counterfoil'

/** Any input, any output: validation is not what is measured. */
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

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Many calls of one class, one after the other; `turns` of other waiting after each. */
const sequence = workflow({
  id: 'sequence@1.0.0',
  input: any,
  tools: Object.values(tools),
  run: async ({ kind, count, turns }, ctx) => {
    const call = tools[kind]
    for (let i = 0; i < 20; i++) await ctx.call(call, { warm: i, i: -i - 1 })
    const from = process.hrtime.bigint()
    for (let i = 0; i < count; i++) {
      await ctx.call(call, { i })
      for (let t = 0; t < turns; t++) await turn()
    }
    return Number(process.hrtime.bigint() - from) / 1_000 / count
  },
})

const small = workflow({
  id: 'small@1.0.0',
  input: any,
  tools: [tools.unsafe],
  run: async ({ count }, ctx) => {
    for (let i = 0; i < count; i++) await ctx.call(tools.unsafe, { i })
  },
})

export async function openBench(store) {
  const cf = await open({ store, graphs: [sequence, small] })
  const worker = cf.worker({ concurrency: 50 })
  await worker.start()
  return {
    sequence: async (kind, count, turns = 0) =>
      (await cf.start(sequence, { kind, count, turns })).result(),
    /** `runs` runs at once, `count` unsafe calls each: microseconds per call, over all of them. */
    concurrent: async (runs, count) => {
      const from = process.hrtime.bigint()
      const started = await Promise.all(
        Array.from({ length: runs }, () => cf.start(small, { count })),
      )
      await Promise.all(started.map((run) => run.result()))
      return Number(process.hrtime.bigint() - from) / 1_000 / (runs * count)
    },
    close: () => cf.close(),
  }
}
