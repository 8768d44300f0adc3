// Absurd: tasks in Postgres functions. Its npm package holds no schema; that is Absurd's own file
// absurd.sql, and ABSURD_SQL says where it lies.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { peer } from '../peer.mjs'
import { drive } from '../workload.mjs'

const pool = 20
const concurrency = 50
// claimTimeout, as it comes. Test E sets 5 to keep the run short; it changes no count.
const leaseSeconds = 120
const leaseSecondsShort = 5

/** @type {Record<string, import('../harness.mjs').System>} */
export const systems = {
  absurd: {
    about: `Absurd on Postgres, pool of ${pool}, worker concurrency ${concurrency}`,
    floor: 'postgres',
    durable: true,
    packages: ['absurd-sdk'],
    leaseSeconds,
    once: 'maxAttempts: 1',
    unavailable: () =>
      process.env['ABSURD_SQL']
        ? null
        : 'no schema in its npm package: set ABSURD_SQL to absurd.sql',
    async createStore({ postgres, label, test }) {
      const { default: pg } = await peer('pg')
      const store = await postgres.store(label)
      const client = new pg.Client({ connectionString: store.env.url })
      await client.connect()
      await client.query(readFileSync(String(process.env['ABSURD_SQL']), 'utf8'))
      await client.query(`select absurd.create_queue('default')`)
      await client.end()
      store.env.claimTimeout = test.startsWith('E') ? leaseSecondsShort : leaseSeconds
      return store
    },
    async open(env, work) {
      const { default: pg } = await peer('pg')
      const { Absurd } = await peer('absurd-sdk')
      const clients = new pg.Pool({ connectionString: env.url, max: pool })
      const app = new Absurd({ db: clients })
      app.registerTask(
        { name: 'bench' },
        (/** @type {{ id: string }} */ { id }, /** @type {any} */ ctx) =>
          drive(work, id, (name, run) => ctx.step(name, run)),
      )
      // Documented: it tries a task again whose claim is over.
      const { claimTimeout } = env
      const worker = await app.startWorker({ concurrency, claimTimeout })
      const spawn = (/** @type {string} */ id) =>
        app.spawn('bench', { id }, { idempotencyKey: id, ...(env.once ? { maxAttempts: 1 } : {}) })
      const finish = async (/** @type {string} */ id) => {
        const { taskID } = await spawn(id)
        const { state, failure } = await app.awaitTaskResult(taskID, { timeout: 550 })
        if (state !== 'completed') throw new Error(`task ${state}: ${JSON.stringify(failure)}`)
      }
      const all = (/** @type {string[]} */ ids) => Promise.all(ids.map(finish)).then(() => {})
      return {
        start: all,
        resume: all,
        look: (ids) => Promise.all(ids.map(async (id) => endOf(app, (await spawn(id)).taskID))),
        async close() {
          await worker.close()
          await clients.end()
        },
      }
    },
  },
}

/**
 * @param {any} app
 * @param {string} taskId
 */
async function endOf(app, taskId) {
  for (let tries = 0; ; tries++) {
    const { state } = (await app.fetchTaskResult(taskId)) ?? {}
    if (['completed', 'failed', 'cancelled'].includes(state) || tries > 150) return String(state)
    await pause(100)
  }
}
