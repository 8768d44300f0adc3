// Graphs for tests of the saver: real ones of LangGraph, with a model that follows a script.
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { createAgent } from 'langchain'
import { z } from 'zod'

export const textOf = (i: number) => `${i} `.padEnd(2_048, 'lorem ipsum dolor sit amet ')

/** Asks for the tool `rounds` times, twice at once, and then has done. */
export class Scripted extends BaseChatModel {
  readonly rounds: number

  constructor(rounds: number) {
    super({})
    this.rounds = rounds
  }

  override _llmType() {
    return 'scripted'
  }

  override bindTools() {
    return this as never
  }

  override async _generate(messages: BaseMessage[]) {
    const round = messages.filter((one) => one.type === 'ai').length
    const call = (n: number) => ({
      ...{ name: 'note', args: { z: round, a: n }, id: `call-${round}-${n}` },
      type: 'tool_call' as const,
    })
    const message = new AIMessage({
      ...{ content: textOf(round), id: `ai-${round}` },
      tool_calls: round < this.rounds ? [call(0), call(1)] : [],
    })
    return { generations: [{ text: '', message }] }
  }
}

const note = tool(({ z: round }) => textOf(round), {
  name: 'note',
  description: 'Takes a note.',
  schema: z.object({ z: z.number(), a: z.number() }),
})

interface Invokable {
  invoke(input: unknown, config: object): Promise<{ messages: BaseMessage[] }>
}

export type Agent = (rounds: number, checkpointer: BaseCheckpointSaver) => Invokable

export const agents: Readonly<Record<string, Agent>> = {
  StateGraph: (rounds, checkpointer) =>
    new StateGraph(MessagesAnnotation)
      .addNode('say', ({ messages }) => ({ messages: [new AIMessage(textOf(messages.length))] }))
      .addEdge(START, 'say')
      .addConditionalEdges('say', ({ messages }) => (messages.length <= 3 * rounds ? 'say' : END))
      .compile({ checkpointer }),
  createReactAgent: (rounds, checkpointer) =>
    createReactAgent({ llm: new Scripted(rounds), tools: [note], checkpointer, version: 'v2' }),
  createAgent: (rounds, checkpointer) =>
    createAgent({ model: new Scripted(rounds), tools: [note], checkpointer }) as never,
}

export const asked = () => ({
  messages: [new HumanMessage({ content: textOf(-1), id: 'human' })],
})

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  seen: Annotation<unknown>,
  steps: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
})

/** Values that only a serialisation of LangGraph's kind can keep. */
export const odd = () => ({
  z: new Set([1, 'b']),
  a: new Map<unknown, unknown>([['k', { z: 1, a: [undefined, null] }]]),
  bytes: new Uint8Array([0, 127, 255]),
  error: new Error('refused'),
  half: 'cut \ud83d',
  nothing: undefined,
})

/** Two tasks by `Send`, a subgraph that asks a person, and one more step. */
export function asking(checkpointer: BaseCheckpointSaver) {
  const sub = new StateGraph(State)
    .addNode('look', () => ({ steps: ['look'] }))
    .addNode('ask', () => ({ steps: [`answer ${interrupt({ question: 'Go on?' })}`] }))
    .addEdge(START, 'look')
    .addEdge('look', 'ask')
    .compile()
  return new StateGraph(State)
    .addNode(
      'plan',
      (state) => {
        const to = (n: number) => ({ ...state, seen: n })
        const call = { name: 'note', args: { z: 1, a: 2 }, id: 'call-1' }
        return new Command({
          update: {
            ...{ seen: odd(), steps: ['plan'] },
            messages: [new AIMessage({ content: textOf(1), id: 'ai-1', tool_calls: [call] })],
          },
          goto: [1, 2].map((n) => new Send('work', to(n))),
        })
      },
      { ends: ['work'] },
    )
    .addNode('work', ({ seen }) => ({ steps: [`work ${seen}`] }))
    .addNode('sub', sub)
    .addNode('last', () => ({ steps: ['last'] }))
    .addEdge(START, 'plan')
    .addEdge('work', 'sub')
    .addEdge('sub', 'last')
    .compile({ checkpointer })
}

/** An agent that stops before its tools, with packets for two of them to send. */
export function stopping(checkpointer: BaseCheckpointSaver) {
  const stops = { interruptBefore: ['tools' as const] }
  const model = new Scripted(2)
  return createReactAgent({ llm: model, tools: [note], checkpointer, version: 'v2', ...stops })
}
