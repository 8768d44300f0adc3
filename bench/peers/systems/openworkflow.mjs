// OpenWorkflow: a defined workflow and a worker; any worker takes over a run whose lease is over.
import { join } from 'node:path'
import { diskBytes } from '../disk.mjs'
import { peer } from '../peer.mjs'
import { drive } from '../workload.mjs'

/** @typedef {import('../harness.mjs').System} System */

const concurrency = 50
// WORKFLOW_STEP_LIMIT and DEFAULT_LEASE_DURATION_MS of the package; neither can be set.
const limits = { stepsMax: 1_000, leaseSeconds: 30 }

/**
 * @param {any} backend
 * @param {import('../workload.mjs').Work} work
 * @param {object} [facts]
 */
async function openOn(backend, work, facts) {
  const { OpenWorkflow } = await peer('openworkflow')
  const ow = new OpenWorkflow({ backend })
  const bench = ow.defineWorkflow(
    { name: 'bench' },
    (/** @type {{ input: { id: string }, step: any }} */ { input, step }) =>
      drive(work, input.id, (name, run) => step.run({ name }, run)),
  )
  const worker = ow.newWorker({ concurrency })
  await worker.start()
  const finish = async (/** @type {string} */ id) => {
    const run = await bench.run({ id }, { idempotencyKey: id })
    return run.result({ timeoutMs: 550_000 })
  }
  const all = (/** @type {string[]} */ ids) => Promise.all(ids.map(finish)).then(() => {})
  const close = async () => {
    await worker.stop()
    await backend.stop()
  }
  return { start: all, resume: all, close, facts }
}

/** @type {Record<string, System>} */
export const systems = {
  'openworkflow-sqlite': {
    about: `OpenWorkflow on SQLite (node:sqlite), worker concurrency ${concurrency}`,
    floor: 'sqlite',
    durable: true,
    packages: ['openworkflow'],
    node: '22',
    ...limits,
    createStore: async ({ dir }) => ({
      env: { file: join(dir, 'openworkflow.db') },
      bytes: async () => diskBytes(dir),
    }),
    async open(env, work) {
      const { BackendSqlite } = await peer('openworkflow/sqlite')
      const backend = BackendSqlite.connect(env.file)
      return openOn(backend, work, backend.db?.prepare?.('PRAGMA synchronous').get())
    },
  },
  'openworkflow-postgres': {
    about: `OpenWorkflow on Postgres, its own pool, worker concurrency ${concurrency}`,
    floor: 'postgres',
    durable: true,
    packages: ['openworkflow'],
    ...limits,
    createStore: ({ postgres, label }) => postgres.store(label),
    async open(env, work) {
      const { BackendPostgres } = await peer('openworkflow/postgres')
      return openOn(await BackendPostgres.connect(env.url), work)
    },
  },
}
