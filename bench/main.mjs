// `npm run bench`: SQLite, then graphs and waiting. `npm run bench -- --store postgres`: the fleet.
// `--part` names one part of the fleet's figures, `--parked` how many runs wait in the last.
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    blocks: { type: 'string', default: '5' },
    part: { type: 'string', multiple: true },
    parked: { type: 'string', default: '1000000' },
  },
})
const blocks = Number(values.blocks)

if (values.store === 'postgres') {
  const { benchPostgres } = await import('./postgres-run.mjs')
  await benchPostgres({ blocks, parts: values.part ?? [], parked: Number(values.parked) })
} else if (values.store === 'sqlite') {
  const { benchSqlite } = await import('./run.mjs')
  await benchSqlite(blocks)
  await import('./kernel-run.mjs')
} else {
  throw new Error(`there is no bench for --store ${values.store}: sqlite, postgres`)
}
