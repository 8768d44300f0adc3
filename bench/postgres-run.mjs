// `npm run bench -- --store postgres`: the fleet's figures, as ratios to raw commits over the same
// driver and server, taken in the same run in alternating blocks; medians.
import { cpus } from 'node:os'
import pg from 'pg'
import { startPostgres } from '../test/postgres/server.mjs'
import { crowd } from './postgres-crowd.mjs'
import { latencies, processes } from './postgres-fleet.mjs'
import { openFloor } from './postgres-floor.mjs'
import { openBench } from './workloads.mjs'

/** @typedef {{ blocks: number, parts: string[], parked: number }} Options */
/** @typedef {(schema: string) => string} Url */

const key = 'b'.repeat(64)

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const line = (
  /** @type {string} */ name,
  /** @type {string} */ got,
  /** @type {string} */ ratio,
  /** @type {string} */ goal,
) => console.log([name.padEnd(52), got.padStart(12), ratio.padStart(8), ` ${goal}`].join(' '))

/** @param {Options} options */
export async function benchPostgres({ blocks, parts, parked }) {
  const given = process.env['COUNTERFOIL_TEST_POSTGRES']
  const server = given === undefined ? await startPostgres() : null
  const base = given ?? server?.url ?? ''
  /** A schema of its own for each part. */
  const url = (/** @type {string} */ schema) => {
    const at = new URL(base)
    at.searchParams.set('schema', `bench_${schema}_${process.pid}`)
    return at.href
  }
  const asked = (/** @type {string} */ part) => parts.length === 0 || parts.includes(part)
  try {
    console.log(await settings(base, blocks))
    if (asked('calls')) await calls(base, url, blocks)
    if (asked('latency')) await latency(url)
    if (asked('processes')) await fleet(url, Math.min(blocks, 3))
    if (asked('crowd')) {
      for (const row of await crowd(url('crowd'), key, parked)) {
        line(row.name, row.got, row.ratio, row.goal)
      }
    }
  } finally {
    await server?.stop()
  }
}

/** What the figures depend on. */
async function settings(/** @type {string} */ base, /** @type {number} */ blocks) {
  const client = new pg.Client({ connectionString: base })
  await client.connect()
  const names = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level']
  const values = names.map((name) => `current_setting('${name}') as ${name}`).join(', ')
  const [row] = (await client.query(`select ${values}`)).rows
  await client.end()
  const { server_version: version, ...rest } = row
  const said = Object.entries(rest).map(([name, value]) => `${name} ${value}`)
  return (
    `Node ${process.version}, ${cpus().length} cores, Postgres ${version} (${said.join(', ')}), ` +
    `${blocks} blocks, medians`
  )
}

async function calls(
  /** @type {string} */ base,
  /** @type {Url} */ url,
  /** @type {number} */ blocks,
) {
  const floor = await openFloor(base)
  const bench = await openBench(url('calls'), key)
  await bench.sequence('unsafe', 500)
  await bench.concurrent(50, 20)
  await floor.many(1_000)
  const one = () => floor.one(300)
  const rows = [
    {
      name: 'unsafe, back to back',
      goal: '≤ 2.0',
      measure: () => bench.sequence('unsafe', 300),
      floor: one,
    },
    {
      name: 'keyed, back to back',
      goal: '≤ 2.0',
      measure: () => bench.sequence('keyed', 300),
      floor: one,
    },
    {
      name: 'unsafe, then other waiting',
      goal: '≤ 2.9',
      measure: () => bench.sequence('unsafe', 300, 6),
      floor: one,
    },
    {
      name: '50 runs × 20 unsafe calls',
      goal: '≥ 0.9 × rate',
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
      const raw = (before + (await row.floor())) / 2
      taken[i]?.push({ us, floor: raw, ratio: us / raw })
    }
  }
  await bench.close()
  await floor.close()
  for (const [i, row] of rows.entries()) {
    const us = median((taken[i] ?? []).map((each) => each.us))
    const ratio = median((taken[i] ?? []).map((each) => each.ratio))
    const raw = median((taken[i] ?? []).map((each) => each.floor))
    const shown = row.goal.includes('rate') ? `${(1 / ratio).toFixed(2)}×` : ratio.toFixed(2)
    line(`${row.name} (floor ${raw.toFixed(0)} µs)`, `${us.toFixed(0)} µs`, shown, row.goal)
  }
}

async function latency(/** @type {Url} */ url) {
  const quick = await latencies(url('latency'), key)
  line('start to first line of the node, p50', `${quick.start.toFixed(1)} ms`, '', '< 10 ms')
  line('signal to the line after it, p50', `${quick.signal.toFixed(1)} ms`, '', '< 10 ms')
  line('timer due to the line after it, p50', `${quick.timer.toFixed(1)} ms`, '', '')
}

/** One process, two, one, two: a machine that slows down meanwhile slows both. */
async function fleet(/** @type {Url} */ url, /** @type {number} */ blocks) {
  /** @type {number[]} */
  const ratios = []
  /** @type {number[]} */
  const rates = []
  for (let block = 0; block < blocks; block++) {
    const one = await processes(url(`one_${block}`), key, 1)
    const two = await processes(url(`two_${block}`), key, 2)
    ratios.push(two / one)
    rates.push(two)
  }
  const ratio = `${median(ratios).toFixed(2)}×`
  line('two worker processes', `${median(rates).toFixed(0)} calls/s`, ratio, '≥ 1.5 × one')
}
