// A LangGraph agent to be killed everywhere: it looks an invoice up, charges a card, sends a mail.
//
//   npx counterfoil chaos examples/chaos-langgraph.mjs --kills 12                nothing is wrong
//   GUARD=off npx counterfoil chaos examples/chaos-langgraph.mjs --kills 12      sends twice: exit 1
//   BANK=careless npx counterfoil chaos examples/chaos-langgraph.mjs --kills 12  charges twice: exit 1
//
// --every-boundary instead of --kills tries all of them. Nothing here is real: `mocks` stand for
// the upstreams, in a process that is not killed.
import { join } from 'node:path'
import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { CounterfoilSaver, guard } from 'counterfoil/langgraph'
import { z } from 'zod'

/**
 * The agent's tools, as they are without us; `post` is how they reach the world.
 * @param {(service: string, input: unknown) => Promise<unknown>} post
 */
const toolsOf = (post) => [
  tool((input) => post('find_invoice', input), {
    name: 'find_invoice',
    schema: z.object({ customer: z.string() }),
  }),
  tool((input) => post('charge_card', input), {
    name: 'charge_card',
    schema: z.object({ customer: z.string(), usd: z.number() }),
  }),
  tool((input) => post('send_email', input), {
    name: 'send_email',
    schema: z.object({ to: z.string(), text: z.string() }),
  }),
]

/** @type {Record<string, import('counterfoil/langgraph').GuardRules>} */
const classes = {
  find_invoice: { replayClass: 'pure' },
  charge_card: {
    replayClass: 'idempotent_with_key', // so it says; is it true of the bank?
    idempotencyKey: ({ customer }, { runId }) => `${runId}:${customer}`,
    keyTtlMs: 24 * 3_600_000,
  },
  send_email: { replayClass: 'unsafe_on_replay' },
}

/**
 * Stands in for the model: it reads what it was told so far, and says what is to be done next.
 * @param {typeof MessagesAnnotation.State} state
 */
function think({ messages }) {
  const last = messages.at(-1)
  /** @param {string} name @param {Record<string, unknown>} args */
  const call = (name, args) => {
    const id = `call_${Math.random().toString(36).slice(2, 10)}`
    return { messages: [new AIMessage({ content: '', tool_calls: [{ name, args, id }] })] }
  }
  if (last?.type === 'human') return call('find_invoice', { customer: 'acme' })
  const said = JSON.parse(String(last?.content))
  if ('usd' in said) return call('charge_card', { customer: 'acme', usd: said.usd })
  if ('charge' in said) return call('send_email', { to: 'acme', text: `paid: ${said.charge}` })
  return { messages: [new AIMessage(`Acme has ${said.mail}.`)] }
}

/** @param {typeof MessagesAnnotation.State} state */
function next({ messages }) {
  const last = /** @type {AIMessage} */ (messages.at(-1))
  return last.tool_calls?.length ? 'tools' : END
}

/**
 * Begins the thread, or goes on where it stands: called again after every death and every decision.
 * @type {import('counterfoil/testing').Agent}
 */
export async function agent(cf, { input, runId, dir, upstream }) {
  const guarded = process.env['GUARD'] !== 'off'
  // A guarded tool asks its mock by itself. Without guard() nobody knows that a lookup does no harm.
  const tools = toolsOf((service, request) =>
    upstream(service, request, service === 'find_invoice' ? { replayClass: 'pure' } : {}),
  )
  const saver = guarded
    ? new CounterfoilSaver(cf)
    : SqliteSaver.fromConnString(join(dir, 'threads.db')) // LangGraph's own
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('think', think)
    .addNode('tools', new ToolNode(guarded ? guard(cf, tools, classes) : tools))
    .addEdge(START, 'think')
    .addConditionalEdges('think', next)
    .addEdge('tools', 'think')
    .compile({ checkpointer: saver })
  const config = { configurable: { thread_id: runId } }
  const begun = await saver.getTuple(config)
  return graph.invoke(begun ? null : { messages: String(input) }, config)
}

export const input = 'Collect what acme owes, and tell them.'

/** @type {import('counterfoil/testing').Mocks} */
export const mocks = {
  find_invoice: () => ({ usd: 120 }),
  charge_card: (_, call) => {
    const charge = () => ({ charge: 'ch-1' })
    // `once` is a bank that honours its keys; without it, it charges whenever it is asked.
    return process.env['BANK'] === 'careless' ? charge() : call.once(charge)
  },
  send_email: () => ({ mail: 'm-1' }),
}
