// A million runs that wait: what claiming, waking and listing cost beside them, and ten thousand
// orphans after a mass crash.
import { open, workflow } from 'counterfoil'
import pg from 'pg'
import { any } from './fleet-graphs.mjs'

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
/** @param {number[]} values */
const p50 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** A bound to be seen at work; the sweeper takes 500 at a time. */
const wakeBatch = 100

let most = 0
let active = 0
const graph = workflow({
  id: 'crowd@1.0.0',
  input: any,
  run: async (/** @type {{ waits?: boolean }} */ { waits }, ctx) => {
    most = Math.max(most, ++active)
    try {
      if (waits) await ctx.signal('go')
      else await new Promise((resolve) => setImmediate(resolve))
    } finally {
      active--
    }
  },
})

/** Copies of one run, made by the server itself. */
async function copy(
  /** @type {pg.Client} */ client,
  /** @type {string} */ schema,
  /** @type {{ from: string, prefix: string, first: number, last: number }} */ of,
) {
  for (const table of ['runs', 'checkpoints']) {
    const { rows } = await client.query(
      `select column_name from information_schema.columns
       where table_schema = $1 and table_name = $2 and is_generated = 'NEVER'
         and coalesce(column_default, '') not like 'nextval%' and is_identity = 'NO'`,
      [schema, table],
    )
    const columns = rows.map((row) => row.column_name)
    // Each is to be woken some day: the index of what comes due is as large as it can be.
    /** @type {Record<string, string>} */
    const other = { run_id: '$2 || n', wake_at: `t.created_at + 1e10 + n` }
    const values = columns.map((name) => (name in other ? other[name] : `t.${name}`))
    await client.query(
      `insert into ${schema}.${table} (${columns.join(', ')})
       select ${values.join(', ')} from ${schema}.${table} t, generate_series($3::int, $4::int) n
       where t.run_id = $1`,
      [of.from, of.prefix, of.first, of.last],
    )
  }
}

export async function crowd(
  /** @type {string} */ store,
  /** @type {string} */ key,
  /** @type {number} */ manyMax,
) {
  const schema = new URL(store).searchParams.get('schema') ?? 'counterfoil'
  const cf = await open({ store, key, graphs: [graph] })
  const bare = new URL(store)
  bare.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: bare.href })
  await client.connect()
  const worker = cf.worker({ concurrency: 10 })
  await worker.start()
  const rows = await besideParked(cf, client, schema, manyMax)
  await worker.stop()
  rows.push(await passOverDue(cf, client, schema))
  rows.push(await orphans(cf, client, schema, 10_000))
  await client.end()
  await cf.close()
  return rows
}

/** What things cost beside so many parked runs, to what they cost beside 1,000. */
async function besideParked(
  /** @type {import('counterfoil').Counterfoil} */ cf,
  /** @type {pg.Client} */ client,
  /** @type {string} */ schema,
  /** @type {number} */ manyMax,
) {
  const template = await cf.start(graph, { waits: true }, { runId: 'template' })
  await template.until('waiting_tool')
  const park = (/** @type {number} */ first, /** @type {number} */ last) =>
    copy(client, schema, { from: 'template', prefix: 'p', first, last })
  await park(1, 1_000)
  await client.query('analyze')
  await measure(cf)
  const few = await measure(cf)
  globalThis.gc?.()
  const heapFew = process.memoryUsage().heapUsed
  const step = 100_000
  for (let first = 1_001; first <= manyMax; first += step) {
    await park(first, Math.min(first + step - 1, manyMax))
  }
  // Pages go to the disk now, not while something is measured.
  await client.query('vacuum analyze')
  await client.query('checkpoint')
  const many = await measure(cf)
  globalThis.gc?.()
  const heapMany = process.memoryUsage().heapUsed
  const rows = Object.entries(few).map(([name, before]) => {
    const after = many[/** @type {keyof typeof many} */ (name)]
    return {
      name: `${name}, ${manyMax.toLocaleString('en')} parked (1,000: ${before.toFixed(1)} ms)`,
      got: `${after.toFixed(1)} ms`,
      ratio: `${(after / before).toFixed(2)}×`,
      goal: '≤ 2 ×',
    }
  })
  const heap = `${((heapMany - heapFew) / 1e6).toFixed(1)} MB`
  return [...rows, { name: "the worker's heap, more by", got: heap, ratio: '', goal: 'unchanged' }]
}

/** One pass of the sweeper when far more is due than it takes. */
async function passOverDue(
  /** @type {import('counterfoil').Counterfoil} */ cf,
  /** @type {pg.Client} */ client,
  /** @type {string} */ schema,
) {
  const all = `update ${schema}.runs set state = 'waiting_tool', wake_at = `
  await client.query(`${all} 1 where run_id = any (select 'p' || generate_series(1, 900))`)
  const from = nowMs()
  const { woken } = await cf.store.wakeDue(wakeBatch)
  const took = nowMs() - from
  await client.query(`${all} created_at + 1e10 where wake_at = 1 or state = 'pending'`)
  return {
    name: `a pass of the sweeper, 900 runs due, wakes ${woken}`,
    got: `${took.toFixed(0)} ms`,
    ratio: '',
    goal: `≤ ${wakeBatch} woken`,
  }
}

/** Runs whose worker is gone, all at once: one worker takes them over. */
async function orphans(
  /** @type {import('counterfoil').Counterfoil} */ cf,
  /** @type {pg.Client} */ client,
  /** @type {string} */ schema,
  /** @type {number} */ count,
) {
  for (let i = 0; i < count; i += 100) {
    const some = Array.from({ length: 100 }, (_, k) => `orphan-${i + k}`)
    await Promise.all(some.map((runId) => cf.start(graph, {}, { runId })))
  }
  await client.query(
    `update ${schema}.runs set state = 'running', worker_id = 'w_gone', fence = 1
     where run_id like 'orphan-%'`,
  )
  await client.query('analyze')
  most = 0
  // What was parked above never came to its end here.
  active = 0
  const from = nowMs()
  const saviour = cf.worker({ concurrency: 50 })
  await saviour.start()
  const states = `select state, count(*)::int as n from ${schema}.runs
    where run_id like 'orphan-%' group by state`
  for (;;) {
    const { rows } = await client.query(states)
    if (rows.every(({ state }) => state !== 'running' && state !== 'pending')) {
      if (rows.length !== 1 || rows[0].state !== 'completed') throw new Error(JSON.stringify(rows))
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const seconds = (nowMs() - from) / 1_000
  await saviour.stop()
  return {
    name: `${count.toLocaleString('en')} orphans resumed; most at once`,
    got: `${seconds.toFixed(1)} s`,
    ratio: `${most}`,
    goal: '≤ 50 at once',
  }
}

/** Medians in milliseconds. */
async function measure(/** @type {import('counterfoil').Counterfoil} */ cf) {
  /** @type {Record<'a run from start to end' | 'signal to end' | 'a list' | 'a sweep',
   *   number[]>} */
  const taken = { 'a run from start to end': [], 'signal to end': [], 'a list': [], 'a sweep': [] }
  for (let i = 0; i < 30; i++) {
    let from = nowMs()
    await (await cf.start(graph, {})).result()
    taken['a run from start to end'].push(nowMs() - from)
    const waits = await cf.start(graph, { waits: true })
    await waits.until('waiting_tool')
    from = nowMs()
    await waits.signal('go')
    await waits.result()
    taken['signal to end'].push(nowMs() - from)
    from = nowMs()
    await cf.store.listRuns({ namespace: 'default', newestFirst: true, countMax: 50 })
    taken['a list'].push(nowMs() - from)
    from = nowMs()
    await cf.store.wakeDue(wakeBatch)
    taken['a sweep'].push(nowMs() - from)
  }
  return {
    'a run from start to end': p50(taken['a run from start to end']),
    'signal to end': p50(taken['signal to end']),
    'a list': p50(taken['a list']),
    'a sweep': p50(taken['a sweep']),
  }
}
