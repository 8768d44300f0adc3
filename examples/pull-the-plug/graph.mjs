// The agent: a LangGraph graph as people write it. Nothing in this file knows of Counterfoil; it is
// used as it stands by plain.mjs and by guarded.mjs.
import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { z } from 'zod'

const erp = process.env['PLUG_ERP']

/**
 * @param {string} service
 * @param {unknown} body
 */
async function post(service, body) {
  const response = await fetch(`${erp}/${service}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${service}: ${response.status}`)
  return response.json()
}

export const tools = [
  tool(async ({ item }) => post('quote', { item }), {
    name: 'get_quote',
    description: 'What a vendor asks for an item.',
    schema: z.object({ item: z.string() }),
  }),
  tool(async (order) => post('orders', order), {
    name: 'place_order',
    description: 'Sends a purchase order to the vendor. It binds the company.',
    schema: z.object({ vendor: z.string(), item: z.string(), usd: z.number() }),
  }),
]

/**
 * Stands in for the model: it reads what it was told so far, and says what is to be done next. Its
 * ids are new every time, as a model's are.
 * @param {typeof MessagesAnnotation.State} state
 */
function think({ messages }) {
  const last = messages.at(-1)
  /** @param {string} name @param {Record<string, unknown>} args */
  const call = (name, args) => {
    const id = `call_${Math.random().toString(36).slice(2, 10)}`
    return { messages: [new AIMessage({ content: '', tool_calls: [{ name, args, id }] })] }
  }
  if (last?.type === 'human') return call('get_quote', { item: '12 servers' })
  const said = JSON.parse(String(last?.content))
  if ('usd' in said) return call('place_order', said)
  return { messages: [new AIMessage(`Ordered: ${said.order}.`)] }
}

/** @param {typeof MessagesAnnotation.State} state */
function next({ messages }) {
  const last = /** @type {AIMessage} */ (messages.at(-1))
  return last.tool_calls?.length ? 'tools' : END
}

/**
 * @param {import('@langchain/core/tools').StructuredToolInterface[]} itsTools
 * @param {import('@langchain/langgraph').BaseCheckpointSaver} checkpointer
 */
export function buyer(itsTools, checkpointer) {
  return new StateGraph(MessagesAnnotation)
    .addNode('think', think)
    .addNode('tools', new ToolNode(itsTools))
    .addEdge(START, 'think')
    .addConditionalEdges('think', next)
    .addEdge('tools', 'think')
    .compile({ checkpointer })
}

/** What the agent is asked for; null, to go on with a thread that was left. */
export const task = { messages: [{ role: 'user', content: 'Buy 12 servers.' }] }
