// A graph on a store that fails, in a process that nobody saves from an unhandled rejection.
// failing.mjs <store> <putStep or putWrites> <from which call on> <how many> <send, pure or none>
import { tool } from '@langchain/core/tools'
import { Annotation, START, StateGraph } from '@langchain/langgraph'
import { open } from 'counterfoil'
import { CounterfoilSaver, guard } from 'counterfoil/langgraph'
import { z } from 'zod'

const [, , store = '', port = 'putStep', from = '1', count = '0', sends = 'send'] = process.argv
const cf = await open({ store, settleMs: 30 })
/** @type {string[]} */
const sent = []
const schema = z.object({ text: z.string() })
const run = async (/** @type {{ text: string }} */ { text }) => {
  sent.push(text)
  return text
}
const [send] = guard(cf, [tool(run, { name: 'send', schema })], {
  send: { replayClass: sends === 'send' ? 'unsafe_on_replay' : 'pure' },
})
const State = Annotation.Root({ said: Annotation() })
const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
const step = (/** @type {string} */ text) => async () => {
  await pause()
  return { said: sends === 'none' ? text : await send.invoke({ text }) }
}
const graph = new StateGraph(State)
  .addNode('a', step('a'))
  .addNode('b', step('b'))
  .addNode('c', async () => {
    await pause()
    return { said: 'c' }
  })
  .addEdge(START, 'a')
  .addEdge('a', 'b')
  .addEdge('b', 'c')
  .compile({ checkpointer: new CounterfoilSaver(cf) })

const name = /** @type {'putStep'} */ (port)
const real = cf.store[name].bind(cf.store)
let calls = 0
cf.store[name] = async (/** @type {Parameters<typeof real>} */ ...args) => {
  const n = ++calls
  if (n >= Number(from) && n < Number(from) + Number(count)) throw new Error('the disk is gone')
  return real(...args)
}
const config = { configurable: { thread_id: 't' } }
const end = async (/** @type {unknown} */ input) => {
  try {
    await graph.invoke(/** @type {any} */ (input), config)
    return 'done'
  } catch (error) {
    return String(/** @type {Error} */ (error).message)
  }
}
const first = await end({ said: '' })
const before = [...sent]
calls = Number.NEGATIVE_INFINITY
const { next, values } = await graph.getState(config)
const later =
  next.length === 0 && values.said === undefined ? await end({ said: '' }) : await end(null)
const { said } = (await graph.getState(config)).values
await cf.close()
process.stdout.write(JSON.stringify({ first, before, next, later, sent, said }))
