// The agent on LangGraph's own checkpoint saver, with its most careful setting. A second process
// goes on from the last checkpoint, as LangGraph's documentation says.
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { buyer, task, tools } from './graph.mjs'

const [, , file = ''] = process.argv
// Nobody is left behind if whoever started it is gone.
process.on('disconnect', () => process.exit())
const saver = SqliteSaver.fromConnString(file)
const graph = buyer(tools, saver)

const config = {
  configurable: { thread_id: 'purchase-1' },
  durability: /** @type {const} */ ('sync'),
}
const begun = await saver.getTuple(config)
const { messages } = await graph.invoke(begun ? null : task, config)
process.send?.({ kind: 'done', said: messages.at(-1)?.content }, () => process.disconnect())
