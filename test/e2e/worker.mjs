// A worker as a program of its own, with a policy that holds large payments. Killed by the tests.
// worker.mjs <store>
import { open } from 'counterfoil'
import { desk, drifter, rota } from './agent.mjs'

const [, , store = ''] = process.argv
const cf = await open({
  store,
  graphs: [desk, drifter, rota],
  gate: ({ tool, amount }) =>
    tool === 'charge_card' && (amount ?? 0) > 1_000
      ? { ask: { why: 'more than 1000 EUR is for finance', queue: 'finance', deciders: ['cfo'] } }
      : 'run',
  onWarning: () => {},
})
await cf.worker().start()
process.stdout.write('at work\n')
process.on('SIGTERM', async () => {
  await cf.close()
  process.exit(0)
})
