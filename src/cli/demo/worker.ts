// A process of its own: a Counterfoil worker that carries the demo's agent. It knows nothing of
// kills, and nothing of the worker before it: a start and a resume are the same.
import { open } from '../../index.ts'
import { outreach } from './agent.ts'
import { tellDemo } from './message.ts'
import { ownFolder, storeOf } from './world.ts'

const cf = await open({ store: storeOf(ownFolder()), graphs: [outreach] })
const worker = cf.worker()
await worker.start()
tellDemo({ kind: 'ready', workerId: worker.id })

process.on('message', async () => {
  await cf.close()
  process.exit(0)
})
