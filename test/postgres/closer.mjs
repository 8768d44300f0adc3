// A program that does nothing but work on one run and close its store: closer.mjs <store>
import { open, workflow } from 'counterfoil'

/** @type {import('@standard-schema/spec').StandardSchemaV1<any, any>} */
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
const graph = workflow({ id: 'short@1.0.0', input: any, run: async () => 1 })

const cf = await open({ store: process.argv[2] ?? '', key: 'a'.repeat(64), graphs: [graph] })
await cf.worker().start()
await (await cf.start(graph, {})).result()
await cf.close()
process.stdout.write('closed\n')
