// A process that opens one system and does one job with it. Tests D and E kill it.
import { now } from './numbers.mjs'
import { workOf } from './workload.mjs'

/** @type {import('./workload.mjs').Job & { file: string }} */
const job = JSON.parse(process.argv[2] ?? '{}')

const tell = (/** @type {object} */ event) =>
  new Promise((resolve) => process.send?.(event, () => resolve(null)))
const { work, begun } = workOf(job, tell)

const { systems } = await import(`./systems/${job.file}.mjs`)
const opened = await systems[job.system].open(job.env, work)
const startedAt = now()
const told = job.mode === 'init' ? undefined : await opened[job.mode](job.ids)
await tell({ event: 'done', startedAt, doneAt: now(), begun, told, facts: opened.facts })
// A pool that does not close must not hold up the others.
setTimeout(() => process.exit(0), 5_000).unref()
await opened.close?.()
process.exit(0)
