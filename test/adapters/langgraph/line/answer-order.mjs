// Answers "yes" to the interrupt of a thread, and is killed when the order is with the vendor.
// answer-order.mjs <store> <upstream port> <id of the interrupt>
// Without an id it begins the thread, and prints the id. Otherwise it prints how it ended.
import { tool } from '@langchain/core/tools'
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph'
import { open } from 'counterfoil'
import { CounterfoilSaver, guard } from 'counterfoil/langgraph'
import { z } from 'zod'
import { post } from '../../../crash/programs/workload.mjs'

const [, , store = '', port = '0', id = '', answer = 'yes'] = process.argv
const cf = await open({ store, settleMs: 60 })
const order = tool(
  async ({ text }) => {
    await post(Number(port), { tool: 'order', key: null, input: { text }, attemptId: null })
    process.kill(process.pid, 'SIGKILL')
    return text
  },
  { name: 'order', schema: z.object({ text: z.string() }) },
)
const [place] = guard(cf, [order], { order: { replayClass: 'unsafe_on_replay' } })
const graph = new StateGraph(Annotation.Root({ placed: Annotation }))
  .addNode('buy', async () => ({
    placed: interrupt('order?') === 'yes' ? await place?.invoke({ text: 'x' }) : 'nothing',
  }))
  .addEdge(START, 'buy')
  .addEdge('buy', END)
  .compile({ checkpointer: new CounterfoilSaver(cf) })

const thread = { configurable: { thread_id: 't1' } }
const input = id === '' ? {} : new Command({ resume: { [id]: answer } })
const result = /** @type {any} */ (await graph.invoke(/** @type {any} */ (input), thread))
await cf.askAboutLeft()
await cf.close()
process.stdout.write(JSON.stringify({ asks: result.__interrupt__?.[0]?.id, ...result }))
