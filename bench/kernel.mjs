// What is measured of graphs, checkpoints, resume and waiting. Times are medians; sizes are of the
// files after close.
import { readdirSync, statSync } from 'node:fs'
import { graph, open, tool, workflow } from 'counterfoil'
import { z } from 'zod'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value }) } }

const now = () => Number(process.hrtime.bigint()) / 1_000
/** @param {number[]} values */
export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const payload = 2_048

/** Two kilobytes that no compression would shorten, the same for every run. */
function text(/** @type {number} */ i) {
  let out = ''
  for (let x = i + 1; out.length < payload; out += x.toString(36)) {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0
  }
  return out.slice(0, payload)
}

const think = tool({
  name: 'think',
  replayClass: 'pure',
  input: any,
  run: (/** @type {{ i: number }} */ { i }) => ({ role: 'assistant', content: text(i) }),
})
const act = tool({ name: 'act', replayClass: 'unsafe_on_replay', input: any, run: () => 1 })

/** @type {number[]} */
let marks = []

const Message = z.object({ role: z.string(), content: z.string() })
const chat = graph({
  id: 'chat@1.0.0',
  state: z.object({ n: z.number(), steps: z.number(), messages: z.array(Message).default([]) }),
  tools: [think],
  start: 'step',
  nodes: {
    step: async (state, ctx) => {
      marks.push(now())
      if (state.n === state.steps) return ctx.done(null)
      const message = await ctx.call(think, { i: state.n })
      return ctx.go('step', { n: state.n + 1, messages: [...state.messages, message] })
    },
  },
})

const talk = workflow({
  id: 'talk@1.0.0',
  input: any,
  tools: [think],
  run: async (/** @type {{ steps: number }} */ { steps }, ctx) => {
    for (let i = 0; i < steps; i++) {
      marks.push(now())
      await ctx.call(think, { i })
    }
    marks.push(now())
  },
})

/** A list that grows by 2 KB a step: time a step early and late, and bytes against the payload. */
export async function growth(/** @type {string} */ dir, /** @type {'state' | 'workflow'} */ kind) {
  const steps = 1_600
  const cf = await open({ store: `sqlite:${dir}/${kind}.db`, graphs: [chat, talk] })
  const worker = cf.worker({ concurrency: 1 })
  await worker.start()
  marks = []
  const run =
    kind === 'state' ? await cf.start(chat, { n: 0, steps }) : await cf.start(talk, { steps })
  await run.result()
  await cf.close()
  const gaps = marks.slice(1).map((at, i) => at - (marks[i] ?? 0))
  const bytes = readdirSync(dir)
    .filter((name) => name.startsWith(`${kind}.db`) && !name.endsWith('.key'))
    .reduce((sum, name) => sum + statSync(`${dir}/${name}`).size, 0)
  return {
    early: median(gaps.slice(50, 150)),
    late: median(gaps.slice(-100)),
    bytes: bytes / (steps * payload),
  }
}

/** @type {number} */
let dispatchedAt = 0
const last = tool({
  name: 'last',
  replayClass: 'unsafe_on_replay',
  input: any,
  run: () => {
    dispatchedAt = now()
    return 1
  },
})

const long = graph({
  id: 'long@1.0.0',
  state: z.object({ visits: z.number(), calls: z.number() }),
  tools: [act, last],
  start: 'work',
  nodes: {
    work: async (state, ctx) => {
      const calls = Array.from({ length: state.calls }, (_, i) => ctx.call(act, { i }))
      await Promise.all(calls)
      return state.visits > 1 ? ctx.go('work', { visits: state.visits - 1 }) : ctx.go('wait')
    },
    wait: async (_, ctx) => {
      await ctx.approval({ title: 'go on?' })
      await ctx.call(last, {})
      return ctx.done(null)
    },
  },
})

const single = workflow({
  id: 'single@1.0.0',
  input: any,
  tools: [act, last],
  run: async (/** @type {{ calls: number }} */ { calls }, ctx) => {
    for (let i = 0; i < calls; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, k) => ctx.call(act, { i: i + k })))
    }
    await ctx.approval({ title: 'go on?' })
    await ctx.call(last, {})
  },
})

/** Milliseconds from the claim of a run that was woken to the dispatch of its next call. */
export async function resume(
  /** @type {string} */ dir,
  /** @type {'visits' | 'visit'} */ where,
  /** @type {number} */ calls,
) {
  const cf = await open({ store: `sqlite:${dir}/resume-${where}.db`, graphs: [long, single] })
  const worker = cf.worker({ concurrency: 1 })
  await worker.start()
  const run =
    where === 'visits'
      ? await cf.start(long, { visits: calls / 100, calls: 100 })
      : await cf.start(single, { calls })
  await run.until('waiting_human')
  const { items } = await cf.inbox.list({ runId: run.runId })
  const [item] = items
  if (item === undefined) throw new Error('nothing waits')
  const said = { by: 'bench', reason: 'bench', version: item.version }
  await cf.inbox.decide(item.itemId, { outcome: 'approve', ...said })
  const from = now() // the worker claims the run in the next turn
  await run.result()
  await cf.close()
  return (dispatchedAt - from) / 1_000
}

/** @type {number} */
let askedAt = 0
const asks = workflow({
  id: 'asks@1.0.0',
  input: any,
  run: async (_, ctx) => {
    askedAt = now()
    await ctx.approval({ title: 'may I?' })
  },
})

/**
 * Milliseconds from asking a person to a row that nobody holds; and bytes of memory a parked run.
 */
export async function waiting(/** @type {string} */ dir, /** @type {number} */ count) {
  const cf = await open({ store: `sqlite:${dir}/waiting.db`, graphs: [asks] })
  const worker = cf.worker({ concurrency: 1 })
  await worker.start()
  /** @type {number[]} */
  const released = []
  for (let i = 0; i < 50; i++) {
    const run = await cf.start(asks, {})
    for (;;) {
      const row = await cf.store.getRun({ namespace: 'default', runId: run.runId })
      if (row?.state === 'waiting_human' && row.workerId === null) break
      await new Promise((resolve) => setImmediate(resolve))
    }
    released.push((now() - askedAt) / 1_000)
  }
  await worker.stop()
  const many = cf.worker({ concurrency: 100 })
  await many.start()
  const used = () => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  const park = async (/** @type {number} */ n) => {
    for (let i = 0; i < n; i += 500) {
      await Promise.all(Array.from({ length: 500 }, () => cf.start(asks, {})))
    }
    for (;;) {
      const { items } = await cf.store.listRuns({ namespace: 'default', state: 'pending' })
      const { items: running } = await cf.store.listRuns({ namespace: 'default', state: 'running' })
      if (items.length + running.length === 0) return
      await sleep(20)
    }
  }
  await park(1_000)
  const before = used()
  await park(count)
  const bytes = (used() - before) / count
  await cf.close()
  return { releaseMs: median(released), bytes }
}

const slow = tool({
  name: 'slow',
  replayClass: 'unsafe_on_replay',
  input: any,
  run: () => sleep(100),
})
const steps = graph({
  id: 'steps@1.0.0',
  state: z.object({ n: z.number() }),
  tools: [slow],
  start: 'step',
  nodes: {
    step: async (state, ctx) => {
      if (state.n === 0) return ctx.done(null)
      await ctx.call(slow, { n: state.n })
      return ctx.go('step', { n: state.n - 1 })
    },
  },
})

/** What intent, receipt and checkpoint add to steps of 100 ms, as a share. */
export async function overhead(/** @type {string} */ dir) {
  const count = 30
  const cf = await open({ store: `sqlite:${dir}/overhead.db`, graphs: [steps] })
  const worker = cf.worker({ concurrency: 1 })
  await worker.start()
  const plain = now()
  for (let i = 0; i < count; i++) await sleep(100)
  const floor = now() - plain
  const from = now()
  await (await cf.start(steps, { n: count })).result()
  const share = (now() - from - floor) / floor
  await cf.close()
  return share
}
