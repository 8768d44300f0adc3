// One request to a thread that asks a person and then sends a and b, in a process of its own.
// clicks.mjs <store> <upstream port> <die at: name:n, or -> <request: JSON>
//   { does: 'begin' }                     until the thread asks
//   { does: 'click', checkpointId }       the answer, to the checkpoint that the person has seen
//   { does: 'branch', steady }            goes back to before the first reply of the model
//   { does: 'go' }                        goes on
// Prints how it ended, and the checkpoint that the thread is at.
import { randomUUID } from 'node:crypto'
import { tool } from '@langchain/core/tools'
import { Annotation, Command, interrupt, START, StateGraph } from '@langchain/langgraph'
import { open } from 'counterfoil'
import { CounterfoilSaver, callInfo, guard } from 'counterfoil/langgraph'
import { addFailpoints } from 'counterfoil/testing'
import { z } from 'zod'
import { post } from '../../../crash/programs/workload.mjs'

const [, , store = '', port = '0', dieAt = '-', given = '{}'] = process.argv
const { does, checkpointId, steady = false } = JSON.parse(given)
const [dieName, dieCount] = dieAt.split(':')
let hits = 0

function hit(/** @type {string} */ name) {
  if (name === dieName && ++hits === Number(dieCount)) process.kill(process.pid, 'SIGKILL')
}

const cf = await open({ store, settleMs: 60 })
addFailpoints(cf.store, hit)
// The note that a branch is in the store is one write among many.
const { putWrites } = cf.store
cf.store.putWrites = async (/** @type {Parameters<typeof putWrites>} */ ...args) => {
  const isNote = args[0].some(({ channel }) => channel === 'stored')
  if (isNote) hit('before stored')
  const value = await putWrites.apply(cf.store, args)
  if (isNote) hit('after stored')
  return value
}

const mail = tool(
  async ({ text }) => {
    const { attemptId = null } = callInfo() ?? {}
    const input = { what: text.split('/')[0] }
    const result = await post(Number(port), { tool: 'mail', key: null, input, attemptId })
    hit(`after ${input.what}`)
    return JSON.stringify(result)
  },
  { name: 'mail', schema: z.object({ text: z.string() }) },
)
const [send] = guard(cf, [mail], { mail: { replayClass: 'unsafe_on_replay' } })

const State = Annotation.Root({
  words: Annotation,
  sent: Annotation({
    reducer: (/** @type {string[]} */ a, /** @type {string[]} */ b) => a.concat(b),
    default: () => /** @type {string[]} */ ([]),
  }),
})
const say = (/** @type {string} */ what) => async () => ({
  words: steady ? what : `${what}/${randomUUID()}`,
})
const sends = async (/** @type {any} */ { words }) => ({
  sent: [await send.invoke({ text: words })],
})
const graph = new StateGraph(State)
  .addNode('ask', async () => {
    interrupt('go?')
    return {}
  })
  .addNode('sayA', say('a'))
  .addNode('sendA', sends)
  .addNode('sayB', say('b'))
  .addNode('sendB', sends)
  .addEdge(START, 'ask')
  .addEdge('ask', 'sayA')
  .addEdge('sayA', 'sendA')
  .addEdge('sendA', 'sayB')
  .addEdge('sayB', 'sendB')
  .compile({ checkpointer: new CounterfoilSaver(cf) })

const thread = { configurable: { thread_id: 't1' } }

async function beforeSayA() {
  for await (const state of graph.getStateHistory(thread)) {
    if (state.next.join() === 'sayA') return state.config
  }
  throw new Error('the thread was never there')
}

async function request() {
  if (does === 'begin') return graph.invoke({ words: '' }, thread)
  if (does === 'branch') return graph.invoke(null, await beforeSayA())
  if (does === 'go') return graph.invoke(null, thread)
  const config = { configurable: { ...thread.configurable, checkpoint_id: checkpointId } }
  return graph.invoke(new Command({ resume: 'yes' }), config)
}

const end = await request().then(
  () => 'done',
  (error) => error.code ?? error.message,
)
const { config, next } = await graph.getState(thread)
const at = config.configurable?.['checkpoint_id']
await cf.close()
process.stdout.write(JSON.stringify({ end, checkpointId: at, next }))
