// The same agent, with our few lines: a saver on the store that has the ledger, and a class for
// every tool. What nobody can know becomes an item in the inbox, and the thread goes on by itself
// when somebody has decided it, wherever that was.
import { isInterrupted } from '@langchain/langgraph'
import { open } from 'counterfoil'
import { CounterfoilSaver, guard, watch } from 'counterfoil/langgraph'
import { z } from 'zod'
import { buyer, task, tools } from './graph.mjs'

const [, , store = '', threadId = 'purchase-1'] = process.argv
// Nobody is left behind if whoever started it is gone.
process.on('disconnect', () => process.exit())

const cf = await open({ store })
const saver = new CounterfoilSaver(cf)
const guarded = guard(cf, tools, {
  get_quote: { replayClass: 'pure' },
  place_order: {
    ...{ replayClass: 'unsafe_on_replay', blastRadius: 'money' },
    // Whoever says that it happened says which order it is; else they are asked again.
    output: z.looseObject({ order: z.string() }),
  },
})
const graph = buyer(guarded, saver)

const config = { configurable: { thread_id: threadId } }
const begun = await saver.getTuple(config)
tell(await graph.invoke(begun ? null : task, config))
watch(cf, graph, {
  threads: (id) => id === threadId,
  onResult: (_, result) => tell(/** @type {any} */ (result)),
  onError: (error) => {
    console.error(String(error))
    process.exit(1)
  },
})

/** @param {{ messages: import('@langchain/core/messages').BaseMessage[] }} result */
function tell(result) {
  if (!isInterrupted(result)) {
    process.send?.({ kind: 'done', said: result.messages.at(-1)?.content }, () => process.exit())
    return
  }
  for (const { value } of result.__interrupt__) {
    const { itemId, title } = /** @type {any} */ (value).counterfoil
    process.send?.({ kind: 'doubt', itemId, title })
  }
}
