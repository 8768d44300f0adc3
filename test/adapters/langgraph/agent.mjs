// An agent of LangGraph against the upstream process, which dies at a failpoint or works until
// every thread is through or waits for a person.
// agent.mjs <store> <upstream port> <how> <die at: name:n, or -> <work: JSON>
//   guarded | plain   with us, or with LangGraph's own saver and the same tools as they are
//   work              { threads: […], answers: { thread: what it is resumed with }, watched: […],
//                     requests: so many invocations of each thread at once }
import { randomUUID } from 'node:crypto'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { Command } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { open } from 'counterfoil'
import { CounterfoilSaver, callInfo, guard, watch } from 'counterfoil/langgraph'
import { addFailpoints } from 'counterfoil/testing'
import { z } from 'zod'
import { post } from '../../crash/programs/workload.mjs'

const [, , store = '', port = '0', how = 'guarded', dieAt = '-', given = '{}'] = process.argv
const { threads = [], answers = {}, watched = [], requests = 1 } = JSON.parse(given)
const [dieName, dieCount] = dieAt.split(':')
let hits = 0

function hit(/** @type {string} */ name) {
  // SIGKILL to oneself: no handler, no flush, no exit code of our own.
  if (name === dieName && ++hits === Number(dieCount)) process.kill(process.pid, 'SIGKILL')
}

/** The calls of a reply, by how many came before it; their ids are others whenever it is asked. */
function callsOf(/** @type {string} */ to, /** @type {number} */ turn) {
  // Requests at once have a model that says the same in other words.
  const other = requests > 1 ? { words: randomUUID() } : {}
  const call = (/** @type {string} */ name, /** @type {any} */ args) => ({
    ...{ type: /** @type {const} */ ('tool_call'), id: randomUUID(), name },
    args: { ...args, ...other },
  })
  if (turn === 0) return [call('search', { q: to }), call('mail', { to, subject: 'hello' })]
  if (turn === 1) return [call('charge', { to, n: 1 }), call('mail', { to, subject: 'bye' })]
  return []
}

class Model extends BaseChatModel {
  /** @override */
  _llmType() {
    return 'scripted'
  }

  /** @override */
  bindTools() {
    return this
  }

  /**
   * @override
   * @param {import('@langchain/core/messages').BaseMessage[]} messages
   */
  async _generate(messages) {
    const to = String(messages[0]?.content)
    const turn = messages.filter((each) => each.getType() === 'ai').length
    hit('before model')
    // The upstream's log tells what came before what.
    await post(Number(port), { tool: 'model', key: null, input: { to, turn }, attemptId: null })
    hit('after model')
    const tool_calls = callsOf(to, turn)
    const content = tool_calls.length > 0 ? '' : 'All done.'
    const message = new AIMessage({ id: randomUUID(), content, tool_calls })
    return { generations: [{ text: content, message }] }
  }
}

/**
 * @param {string} name
 * @param {Record<string, unknown>} input
 */
async function send(name, { words: _, ...input }) {
  const { idempotencyKey: key = null, attemptId = null } = callInfo() ?? {}
  hit(`before ${name}`)
  const result = await post(Number(port), { tool: name, key, input, attemptId })
  hit(`after ${name}`)
  return result
}

const mailSchema = z.object({ to: z.string(), subject: z.string(), words: z.string().optional() })
const chargeSchema = z.object({ to: z.string(), n: z.number(), words: z.string().optional() })
const tools = [
  tool(async ({ q }) => `found ${q}`, { name: 'search', schema: z.object({ q: z.string() }) }),
  tool((input) => send('mail', input), { name: 'mail', schema: mailSchema }),
  tool((input) => send('charge', input), { name: 'charge', schema: chargeSchema }),
]

/** @param {import('counterfoil').Counterfoil} cf */
function guardedTools(cf) {
  return guard(cf, tools, {
    search: { replayClass: 'pure' },
    mail: { replayClass: 'unsafe_on_replay' },
    charge: {
      replayClass: 'idempotent_with_key',
      idempotencyKey: (/** @type {any} */ { to, n }) => `${to}:${n}`,
      keyTtlMs: Number.POSITIVE_INFINITY,
    },
  })
}

const cf = how === 'guarded' ? await open({ store, settleMs: 60 }) : null
if (cf) addFailpoints(cf.store, hit)

async function plainSaver() {
  const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite')
  return SqliteSaver.fromConnString(`${store.slice('sqlite:'.length)}.plain`)
}

const graph = createReactAgent({
  llm: new Model({}),
  tools: cf ? guardedTools(cf) : tools,
  checkpointer: cf ? new CounterfoilSaver(cf) : await plainSaver(),
})

/** @param {string} thread */
const configOf = (thread) => ({ configurable: { thread_id: thread } })

/**
 * With an id, as a client sends it: a second request may come when the first one's is on record.
 * @param {string} thread
 */
const asked = (thread) => new HumanMessage({ id: `asked-${thread}`, content: thread })

/** @param {string} thread */
async function inputOf(thread) {
  if (answers[thread]) return new Command({ resume: answers[thread] })
  const { values } = await graph.getState(configOf(thread))
  return values.messages ? null : { messages: [asked(thread)] }
}

/**
 * What a thread has come to, and what its tools have answered.
 * @param {string} thread
 */
async function endOf(thread) {
  const { tasks, values } = await graph.getState(configOf(thread))
  const messages = /** @type {import('@langchain/core/messages').BaseMessage[]} */ (values.messages)
  const said = messages.map((each) => `${each.getType()}: ${each.content}`)
  return { state: tasks.length === 0 ? 'done' : 'waiting', said }
}

/** Threads that go on by themselves when they are let. */
async function seeThrough() {
  if (cf === null || watched.length === 0) return
  const over = new Set()
  const seen = (/** @type {string} */ thread) => over.add(thread)
  const watching = watch(cf, graph, {
    ...{ pollMs: 50, threads: (thread) => watched.includes(thread), onResult: seen },
    onError: (error) => {
      throw error
    },
  })
  for (let n = 0; n < 200 && over.size < watched.length; n++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await watching.stop()
}

/** What a request is told that came second is no fault: another one goes on with the thread. */
const isSecond = (/** @type {any} */ error) => requests > 1 && error.code === 'THREAD_MOVED'

const atOnce = (/** @type {string} */ thread) =>
  Promise.all(
    Array.from({ length: requests }, () =>
      work(thread).catch((error) => {
        if (!isSecond(error)) throw error
      }),
    ),
  )

const work = async (/** @type {string} */ thread) => {
  const input = await inputOf(thread)
  // A task that is over is not among the next, though its step has not been taken yet.
  const { tasks } = await graph.getState(configOf(thread))
  if (input === null && tasks.length === 0) return
  await graph.invoke(/** @type {any} */ (input), configOf(thread))
}
await Promise.all([...threads.map(atOnce), seeThrough()])
const ends = await Promise.all([...threads, ...watched].map(endOf))
await cf?.close()
process.stdout.write(JSON.stringify(ends))
