// `npm run bench -- --store postgres`: the fleet's figures, as ratios to raw commits over the same
// driver and server, taken in the same run in alternating blocks; medians.
import { cpus } from 'node:os'
import { startPostgres } from '../test/postgres/server.mjs'
import { crowd } from './postgres-crowd.mjs'
import { latencies, processes } from './postgres-fleet.mjs'
import { openFloor } from './postgres-floor.mjs'
import { openBench } from './workloads.mjs'

const blocks = Number(process.argv[2] ?? 5)
const manyMax = Number(process.argv[3] ?? 1_000_000)
const key = 'b'.repeat(64)
const given = process.env['COUNTERFOIL_TEST_POSTGRES']
const server = given === undefined ? await startPostgres() : null
const base = given ?? server?.url ?? ''
/** A schema of its own for each part. */
const url = (/** @type {string} */ schema) =>
  `${base}${base.includes('?') ? '&' : '?'}schema=bench_${schema}_${process.pid}`

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const line = (
  /** @type {string} */ name,
  /** @type {string} */ got,
  /** @type {string} */ ratio,
  /** @type {string} */ goal,
) => console.log([name.padEnd(44), got.padStart(12), ratio.padStart(8), ` ${goal}`].join(' '))

try {
  const floor = await openFloor(base)
  const bench = await openBench(url('calls'), key)
  await bench.sequence('unsafe', 500)
  const rows = [
    {
      name: 'unsafe, back to back',
      goal: '≤ 2.0',
      measure: () => bench.sequence('unsafe', 200),
      floor: () => floor.one(200),
    },
    {
      name: 'keyed, back to back',
      goal: '≤ 2.0',
      measure: () => bench.sequence('keyed', 200),
      floor: () => floor.one(200),
    },
    {
      name: 'unsafe, then other waiting',
      goal: '≤ 2.9',
      measure: () => bench.sequence('unsafe', 200, 6),
      floor: () => floor.one(200),
    },
    {
      name: '50 runs × 20 unsafe calls',
      goal: '≥ 0.9 × rate over 50 connections',
      measure: () => bench.concurrent(50, 20),
      floor: () => floor.many(1_000),
    },
  ]
  /** @type {{ us: number, ratio: number, floor: number }[][]} */
  const taken = rows.map(() => [])
  for (let block = 0; block < blocks; block++) {
    for (const [i, row] of rows.entries()) {
      const before = await row.floor()
      const us = await row.measure()
      const after = await row.floor()
      taken[i]?.push({ us, floor: (before + after) / 2, ratio: us / ((before + after) / 2) })
    }
  }
  await bench.close()
  await floor.close()
  console.log(`Node ${process.version}, ${cpus().length} cores, ${blocks} blocks, medians`)
  for (const [i, row] of rows.entries()) {
    const us = median((taken[i] ?? []).map((each) => each.us))
    const ratio = median((taken[i] ?? []).map((each) => each.ratio))
    const raw = median((taken[i] ?? []).map((each) => each.floor))
    const shown = row.goal.includes('rate') ? `${(1 / ratio).toFixed(2)}×` : ratio.toFixed(2)
    line(`${row.name} (floor ${raw.toFixed(0)} µs)`, `${us.toFixed(0)} µs`, shown, row.goal)
  }

  const quick = await latencies(url('latency'), key)
  line('start to first line of the node, p50', `${quick.start.toFixed(1)} ms`, '', '< 10 ms')
  line('signal to the line after it, p50', `${quick.signal.toFixed(1)} ms`, '', '< 10 ms')
  line('timer due to the line after it, p50', `${quick.timer.toFixed(1)} ms`, '', '')

  const one = await processes(url('one'), key, 1)
  const two = await processes(url('two'), key, 2)
  line('two worker processes', `${two.toFixed(0)} calls/s`, `${(two / one).toFixed(2)}×`, '≥ 1.5 ×')

  for (const row of await crowd(url('crowd'), key, manyMax)) {
    line(row.name, row.got, row.ratio, row.goal)
  }
} finally {
  await server?.stop()
}
