// DBOS Transact: a registered function, each step a DBOS.runStep. It has no setting that forbids a
// second attempt: maxRecoveryAttempts 0 means its default, and 1 allows one.
import { peer } from '../peer.mjs'
import { drive } from '../workload.mjs'

const pool = 20

/** @type {Record<string, import('../harness.mjs').System>} */
export const systems = {
  dbos: {
    about: `DBOS Transact on Postgres, pool of ${pool}`,
    floor: 'postgres',
    durable: true,
    packages: ['@dbos-inc/dbos-sdk'],
    createStore: ({ postgres, label }) => postgres.store(label),
    async open(env, work) {
      const { DBOS } = await peer('@dbos-inc/dbos-sdk')
      DBOS.setConfig({
        name: 'peers',
        systemDatabaseUrl: env.url,
        systemDatabasePoolSize: pool,
        applicationVersion: '1',
        executorID: 'local',
      })
      const run = (/** @type {string} */ id) =>
        drive(work, id, (name, step) => DBOS.runStep(step, { name }))
      const bench = DBOS.registerWorkflow(run, { name: 'bench' })
      // Documented: it recovers this executor's pending workflows by itself.
      await DBOS.launch()
      const start = async (/** @type {string} */ id) =>
        (await DBOS.startWorkflow(bench, { workflowID: id })(id)).getResult()
      return {
        start: (ids) => Promise.all(ids.map(start)).then(() => {}),
        resume: (ids) =>
          Promise.all(ids.map((id) => DBOS.retrieveWorkflow(id).getResult())).then(() => {}),
        close: () => DBOS.shutdown(),
      }
    },
  },
}
