// A process of its own: a worker that carries the agents of the live demo, until it is killed.
import { open } from '../../../index.ts'
import { tellDemo } from '../message.ts'
import { ownFolder, storeOf } from '../world.ts'
import { loadAgents } from './agents.ts'

const cf = await open({
  store: storeOf(ownFolder()),
  graphs: Object.values(await loadAgents()),
})
const worker = cf.worker()
await worker.start()
tellDemo({ kind: 'ready', workerId: worker.id })

process.on('message', async () => {
  await cf.close()
  process.exit(0)
})
