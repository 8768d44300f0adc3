// How many bytes a LangGraph thread takes with CounterfoilSaver and with LangGraph's SqliteSaver:
// `node bench/langgraph-bytes.mjs [--steps 100,400,1600] [--only ours]`. Every step adds a message
// of 2 KB; the ratio is to these messages.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { open } from 'counterfoil'
import { CounterfoilSaver } from 'counterfoil/langgraph'
import { createAgent } from 'langchain'
import { z } from 'zod'

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '100,400,1600' },
    only: { type: 'string' },
    graph: { type: 'string' },
  },
})

const bytes = 2_048
/** No two alike, and nothing that a database could make shorter. */
const text = (/** @type {number} */ i) => `${i} `.padEnd(bytes, 'lorem ipsum dolor sit amet ')

/** Asks for a tool again and again, and then has done. */
class Scripted extends BaseChatModel {
  /** @param {number} rounds */
  constructor(rounds) {
    super({})
    this.rounds = rounds
  }
  /** @override */
  _llmType() {
    return 'scripted'
  }
  /** @override @returns {any} */
  bindTools() {
    return this
  }
  /** @override @param {import('@langchain/core/messages').BaseMessage[]} messages */
  async _generate(messages) {
    const round = messages.filter((one) => one.type === 'ai').length
    const calls = [
      {
        name: 'note',
        args: { round },
        id: `call-${round}`,
        type: /** @type {const} */ ('tool_call'),
      },
    ]
    const message = new AIMessage({
      content: text(round),
      tool_calls: round < this.rounds ? calls : [],
    })
    return { generations: [{ text: '', message }] }
  }
}

const note = tool(({ round }) => text(round), {
  name: 'note',
  description: 'Takes a note.',
  schema: z.object({ round: z.number() }),
})

/** @type {Record<string, (steps: number, checkpointer: any) => any>} */
const graphs = {
  StateGraph: (steps, checkpointer) =>
    new StateGraph(MessagesAnnotation)
      .addNode('say', ({ messages }) => ({ messages: [new AIMessage(text(messages.length))] }))
      .addEdge('__start__', 'say')
      .addConditionalEdges('say', ({ messages }) => (messages.length <= steps ? 'say' : '__end__'))
      .compile({ checkpointer }),
  createReactAgent: (steps, checkpointer) =>
    createReactAgent({ llm: new Scripted(steps / 2), tools: [note], checkpointer }),
  createAgent: (steps, checkpointer) =>
    createAgent({ model: new Scripted(steps / 2), tools: [note], checkpointer }),
}

/** @type {Record<string, (path: string) => Promise<{ saver: any, close: () => unknown }>>} */
const savers = {
  ours: async (path) => {
    const cf = await open({ store: `sqlite:${path}` })
    return { saver: new CounterfoilSaver(cf), close: () => cf.close() }
  },
  theirs: async (path) => {
    const saver = SqliteSaver.fromConnString(path)
    return { saver, close: () => saver.db.close() }
  },
}

/** @param {string} dir @returns {number} */
const sizeOf = (dir) =>
  readdirSync(dir, { recursive: true }).reduce((sum, name) => {
    const found = statSync(join(dir, String(name)))
    return sum + (found.isFile() ? found.size : 0)
  }, 0)

for (const [name, graphOf] of Object.entries(graphs)) {
  if (values.graph !== undefined && values.graph !== name) continue
  for (const steps of values.steps.split(',').map(Number)) {
    for (const [whose, saverAt] of Object.entries(savers)) {
      if (values.only !== undefined && values.only !== whose) continue
      const dir = mkdtempSync(join(tmpdir(), 'counterfoil-bytes-'))
      try {
        const { saver, close } = await saverAt(join(dir, 'thread.db'))
        const config = { configurable: { thread_id: 't' }, recursionLimit: 2 * steps + 10 }
        const began = performance.now()
        const { messages } = await graphOf(steps, saver).invoke(
          { messages: [{ role: 'user', content: text(-1) }] },
          config,
        )
        const ms = performance.now() - began
        await close()
        const size = sizeOf(dir)
        const ratio = size / (messages.length * bytes)
        console.log(
          `${name}, ${steps} steps, ${whose}: ${(size / 1e6).toFixed(1)} MB, ` +
            `${ratio.toFixed(1)} × the messages, ${(ms / steps).toFixed(1)} ms a step`,
        )
      } finally {
        rmSync(dir, { recursive: true, force: true })
      }
    }
  }
}
