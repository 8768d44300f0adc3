// Pauses, looks at, resumes and cancels a run, and says what state it is in then.
// stops.mjs <store> <run id>
import { open } from 'counterfoil'

const [, , store = '', runId = 't1'] = process.argv
const cf = await open({ store })
const run = cf.run(runId)
await run.pause()
await run.preview()
await run.resume()
await run.cancel()
process.stdout.write((await run.status()).state)
await cf.close()
