// How soon a run is taken up and woken, and what a second worker process adds.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { open, workflow } from 'counterfoil'
import { any, small } from './fleet-graphs.mjs'

/** @param {number[]} values */
const p50 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

/** Milliseconds, medians over single runs of an otherwise idle worker. */
export async function latencies(/** @type {string} */ store, /** @type {string} */ key) {
  /** @type {Map<string, number>} */
  const seen = new Map()
  const graph = workflow({
    id: 'quick@1.0.0',
    input: any,
    run: async (_, ctx) => {
      if (!seen.has(`${ctx.runId} start`)) seen.set(`${ctx.runId} start`, nowMs())
      await ctx.signal('go')
      if (!seen.has(`${ctx.runId} signal`)) seen.set(`${ctx.runId} signal`, nowMs())
      const due = await ctx.now()
      await ctx.sleep(400)
      seen.set(`${ctx.runId} timer`, Date.now() - due - 400)
    },
  })
  const cf = await open({ store, key, graphs: [graph] })
  await cf.worker().start()
  /** @type {{ start: number[], signal: number[], timer: number[] }} */
  const taken = { start: [], signal: [], timer: [] }
  for (let i = 0; i < 30; i++) {
    const runId = `quick-${i}`
    const run = await cf.start(graph, {}, { runId })
    const started = nowMs()
    await run.until('waiting_tool')
    taken.start.push((seen.get(`${runId} start`) ?? 0) - started)
    await run.signal('go')
    const signalled = nowMs()
    await run.result()
    taken.signal.push((seen.get(`${runId} signal`) ?? 0) - signalled)
    taken.timer.push(seen.get(`${runId} timer`) ?? 0)
  }
  await cf.close()
  return { start: p50(taken.start), signal: p50(taken.signal), timer: p50(taken.timer) }
}

const script = fileURLToPath(new URL('./fleet-worker.mjs', import.meta.url))
const runs = 200
const calls = 20

/** Calls a second of so many worker processes over the same backlog of runs. */
export async function processes(
  /** @type {string} */ store,
  /** @type {string} */ key,
  /** @type {number} */ count,
) {
  const cf = await open({ store, key, graphs: [small] })
  for (let i = 0; i < runs; i++) await cf.start(small, { count: calls }, { runId: `small-${i}` })
  const env = { ...process.env, BENCH_STORE: store, COUNTERFOIL_KEY: key }
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [script], { env, stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  await Promise.all(children.map((child) => once(child.stdout, 'data')))
  const from = nowMs()
  for (const child of children) child.stdin.write('go\n')
  for (let i = 0; i < runs; i++) await cf.run(`small-${i}`).result()
  const seconds = (nowMs() - from) / 1_000
  await Promise.all(
    children.map(async (child) => {
      const exit = once(child, 'exit')
      child.stdin.end()
      await exit
    }),
  )
  await cf.close()
  return (runs * calls) / seconds
}
