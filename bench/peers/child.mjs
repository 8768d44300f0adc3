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
let startedAt = now()
let told
/** @type {number[] | undefined} */
let cold
for (let round = 0; round < (job.rounds ?? 1); round++) {
  if (round === 1) cold = [...begun]
  begun.length = 0
  startedAt = now()
  const ids = round === 0 ? job.ids : job.ids.map((id) => `${id}-${round}`)
  if (job.mode !== 'init') told = await opened[job.mode](ids)
}
await tell({ event: 'done', startedAt, doneAt: now(), begun, cold, told, facts: opened.facts })
// A pool that does not close must not hold up the others.
setTimeout(() => process.exit(0), 5_000).unref()
await opened.close?.()
process.exit(0)
