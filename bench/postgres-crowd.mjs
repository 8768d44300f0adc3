// A million runs that wait: what claiming, waking and listing cost beside them, and ten thousand
// orphans after a mass crash.
import { open, workflow } from 'counterfoil'
import pg from 'pg'
import { any } from './fleet-graphs.mjs'

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
/** @param {number[]} values */
const p50 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

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
    const values = columns.map((name) => (name === 'run_id' ? `$2 || n` : `t.${name}`))
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
  const template = await cf.start(graph, { waits: true }, { runId: 'template' })
  await template.until('waiting_tool')
  await copy(client, schema, { from: 'template', prefix: 'p', first: 1, last: 1_000 })
  await client.query('analyze')
  const few = await measure(cf)
  const heapFew = process.memoryUsage().heapUsed
  const step = 100_000
  for (let first = 1_001; first <= manyMax; first += step) {
    const last = Math.min(first + step - 1, manyMax)
    await copy(client, schema, { from: 'template', prefix: 'p', first, last })
  }
  await client.query('analyze')
  globalThis.gc?.()
  const many = await measure(cf)
  globalThis.gc?.()
  const heapMany = process.memoryUsage().heapUsed
  const rows = Object.entries(few).map(([name, before]) => {
    const after = many[/** @type {keyof typeof many} */ (name)]
    const beside = `beside ${manyMax.toLocaleString('en')} parked`
    const got = `${after.toFixed(1)} ms`
    return {
      name: `${name}, ${beside}`,
      got,
      ratio: `${(after / before).toFixed(2)}×`,
      goal: '≤ 2 ×',
    }
  })
  const heap = `${((heapMany - heapFew) / 1e6).toFixed(1)} MB`
  rows.push({ name: 'memory of the worker, more by', got: heap, ratio: '', goal: 'unchanged' })
  await worker.stop()

  const orphans = 10_000
  const busy = await cf.start(graph, {}, { runId: 'busy' })
  await copy(client, schema, { from: 'busy', prefix: 'o', first: 1, last: orphans })
  await client.query(
    `update ${schema}.runs set state = 'running', worker_id = 'w_gone', fence = 1
     where run_id like 'o%' or run_id = 'busy'`,
  )
  await client.query('analyze')
  most = 0
  const from = nowMs()
  const saviour = cf.worker({ concurrency: 50 })
  await saviour.start()
  await busy.result()
  const left = `select count(*)::int as n from ${schema}.runs
    where run_id like 'o%' and state <> 'completed'`
  while ((await client.query(left)).rows[0].n > 0) {
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const seconds = (nowMs() - from) / 1_000
  rows.push({
    name: '10,000 orphans resumed, at most at once',
    got: `${seconds.toFixed(1)} s`,
    ratio: `${most}`,
    goal: '≤ 50 at once',
  })
  await saviour.stop()
  await client.end()
  await cf.close()
  return rows
}

/** Medians in milliseconds. */
async function measure(/** @type {import('counterfoil').Counterfoil} */ cf) {
  /** @type {Record<'start to end of a run' | 'wake by signal' | 'list', number[]>} */
  const taken = { 'start to end of a run': [], 'wake by signal': [], list: [] }
  for (let i = 0; i < 30; i++) {
    let from = nowMs()
    await (await cf.start(graph, {})).result()
    taken['start to end of a run'].push(nowMs() - from)
    const waits = await cf.start(graph, { waits: true })
    await waits.until('waiting_tool')
    from = nowMs()
    await waits.signal('go')
    await waits.result()
    taken['wake by signal'].push(nowMs() - from)
    from = nowMs()
    await cf.store.listRuns({ namespace: 'default', newestFirst: true, countMax: 50 })
    taken.list.push(nowMs() - from)
  }
  return {
    'start to end of a run': p50(taken['start to end of a run']),
    'wake by signal': p50(taken['wake by signal']),
    list: p50(taken.list),
  }
}
