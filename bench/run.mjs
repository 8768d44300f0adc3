// `npm run bench`: every figure as a ratio to the raw floor taken in the same run, in five
// alternating blocks; medians. These machines are noisy: a ratio is worth something, a time is not.
import { mkdirSync, rmSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { openFloor } from './floor.mjs'
import { openBench } from './workloads.mjs'

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** @param {number} blocks */
export async function benchSqlite(blocks) {
  const dir = fileURLToPath(new URL('./.data/', import.meta.url))
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })

  const floor = openFloor(`${dir}floor.db`)
  const bench = await openBench(`sqlite:${dir}bench.db`)
  await bench.sequence('unsafe', 1_000) // warms up, and fills the WAL past its first checkpoints

  const rows = [
    { name: 'unsafe, back to back', goal: '≤ 2.0', measure: () => bench.sequence('unsafe', 300) },
    { name: 'keyed, back to back', goal: '≤ 2.0', measure: () => bench.sequence('keyed', 300) },
    {
      name: 'unsafe, then other waiting',
      goal: '≤ 3.0',
      measure: () => bench.sequence('unsafe', 300, 6),
    },
    { name: 'pure', goal: '≤ 0.15', measure: () => bench.sequence('pure', 3_000) },
    {
      name: '50 runs × 20 unsafe calls',
      goal: '≥ 3.5 × rate',
      measure: () => bench.concurrent(50, 20),
    },
  ]
  /** @type {{ us: number, ratio: number }[][]} */
  const taken = rows.map(() => [])
  /** @type {number[]} */
  const floors = []
  for (let block = 0; block < blocks; block++) {
    for (const [i, row] of rows.entries()) {
      const before = floor.measure(300)
      const us = await row.measure()
      const after = floor.measure(300)
      floors.push(before, after)
      taken[i]?.push({ us, ratio: us / ((before + after) / 2) })
    }
  }
  await bench.close()
  floor.close()
  rmSync(dir, { recursive: true, force: true })

  console.log(`Node ${process.version}, ${cpus().length} cores, SQLite, ${blocks} blocks, medians`)
  console.log(`floor: one single-row insert commit ${median(floors).toFixed(0)} µs\n`)
  console.log(
    ['workload'.padEnd(28), 'µs/call'.padStart(8), 'ratio'.padStart(7), ' goal'].join(' '),
  )
  for (const [i, row] of rows.entries()) {
    const us = median((taken[i] ?? []).map((each) => each.us))
    const ratio = median((taken[i] ?? []).map((each) => each.ratio))
    const rate = row.goal.includes('rate')
    const shown = rate ? `${(1 / ratio).toFixed(2)}×` : ratio.toFixed(2)
    console.log(
      [row.name.padEnd(28), us.toFixed(1).padStart(8), shown.padStart(7), ` ${row.goal}`].join(' '),
    )
  }
}
