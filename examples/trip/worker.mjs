// A process that does the work until it is killed: with Counterfoil, or without.
import { randomUUID } from 'node:crypto'
import { open } from 'counterfoil'
import { bookTrip, trip } from './agent.mjs'

const [, , how, argument = ''] = process.argv
process.on('disconnect', () => process.exit(0))

if (how === 'counterfoil') {
  const cf = await open({ store: argument, graphs: [trip] })
  await cf.worker().start()
} else {
  // Plain code calls the same functions, with a new key for every call, and remembers nothing.
  /** @type {any} */
  const plain = {
    /**
     * @param {import('counterfoil').Tool} tool
     * @param {unknown} input
     */
    call: (tool, input) => {
      const info = { idempotencyKey: randomUUID(), attemptId: randomUUID() }
      return tool.rules.run(input, /** @type {any} */ (info))
    },
  }
  process.send?.({ output: await bookTrip(JSON.parse(argument), plain) })
}
