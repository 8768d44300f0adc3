// A process that does the work until it is killed: with Counterfoil, or without.
import { randomUUID } from 'node:crypto'
import { open } from 'counterfoil'
import { bookTrip, trip } from './agent.mjs'

const [, , how, argument] = process.argv
process.on('disconnect', () => process.exit(0))

if (how === 'counterfoil') {
  const cf = await open({ store: argument, graphs: [trip] })
  await cf.worker().start()
} else {
  // Plain code calls the same functions, with a new key for every call, and remembers nothing.
  const call = (tool, input) =>
    tool.rules.run(input, { idempotencyKey: randomUUID(), attemptId: randomUUID() })
  process.send({ output: await bookTrip(JSON.parse(argument), { call }) })
}
