// Graphs that are invoked twice at once: they ask a person, then a model that words things
// differently each time it is asked, and send what it says.
import { tool } from '@langchain/core/tools'
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  END,
  entrypoint,
  interrupt,
  Send,
  START,
  StateGraph,
  task,
} from '@langchain/langgraph'
import { z } from 'zod'
import { CounterfoilSaver, guard, guardTask } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { unsafe } from '../lab.ts'

let worded = 0

/** What a model says: the same thing, in other words. */
export const inOtherWords = (what: string) => (words.steady ? what : `${what}/${++worded}`)

/** A model that says the same again, for tests of what is then found on record. */
export const words = {
  steady: false,
  /** Waited for before something is sent. */
  gate: async () => {},
}

export const State = Annotation.Root({
  words: Annotation<string>,
  sent: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
})
type Node = (state: typeof State.State) => Promise<Partial<typeof State.State>>

export class Upstream {
  /** What was sent, without its wording. */
  readonly sent: string[] = []
  slow: (what: string) => Promise<void> = async () => {}
  /** The model's, not the tool's: what is asked of it breaks off. */
  down = false

  tool() {
    return tool(
      async ({ text }: { text: string }) => {
        this.sent.push(text.split('/')[0] ?? '')
        await this.slow(text)
        return text
      },
      { name: 'send', description: 'sends', schema: z.object({ text: z.string() }) },
    )
  }

  get sorted(): string[] {
    return [...this.sent].sort()
  }
}

export type Guarded = ReturnType<typeof guarded>

export function guarded(cf: Counterfoil, upstream: Upstream) {
  const [send] = guard(cf, [upstream.tool()], { send: unsafe })
  return send as unknown as { invoke(input: { text: string }, config?: unknown): Promise<string> }
}

const ask: Node = async () => {
  interrupt('go?')
  return {}
}
const say =
  (what: string, upstream?: Upstream): Node =>
  async () => {
    if (upstream?.down) throw new Error('the model does not answer')
    return { words: inOtherWords(what) }
  }
const sends =
  (send: Guarded): Node =>
  async ({ words: text }) => {
    await words.gate()
    return { sent: [await send.invoke({ text })] }
  }

export type Make = (cf: Counterfoil, upstream: Upstream, saver: BaseCheckpointSaver) => Invokable

// biome-ignore lint/suspicious/noExplicitAny: graphs of any state
export type Invokable = any

/** Asks, then says and sends a, then b. */
export const line: Make = (cf, upstream, checkpointer) => {
  const send = sends(guarded(cf, upstream))
  return new StateGraph(State)
    .addNode('ask', ask)
    .addNode('sayA', say('a'))
    .addNode('sendA', send)
    .addNode('sayB', say('b'))
    .addNode('sendB', send)
    .addEdge(START, 'ask')
    .addEdge('ask', 'sayA')
    .addEdge('sayA', 'sendA')
    .addEdge('sendA', 'sayB')
    .addEdge('sayB', 'sendB')
    .compile({ checkpointer })
}

/** The same, and nobody is asked. */
export const straight: Make = (cf, upstream, checkpointer) => {
  const send = sends(guarded(cf, upstream))
  return new StateGraph(State)
    .addNode('sayA', say('a', upstream))
    .addNode('sendA', send)
    .addNode('sayB', say('b'))
    .addNode('sendB', send)
    .addEdge(START, 'sayA')
    .addEdge('sayA', 'sendA')
    .addEdge('sendA', 'sayB')
    .addEdge('sayB', 'sendB')
    .compile({ checkpointer })
}

/** Asks and sends in the same node: a model's words, twice. */
const inNode: Make = (cf, upstream, checkpointer) => {
  const send = guarded(cf, upstream)
  return new StateGraph(State)
    .addNode('work', async () => {
      interrupt('go?')
      const a = await send.invoke({ text: inOtherWords('a') })
      return { sent: [a, await send.invoke({ text: inOtherWords('b') })] }
    })
    .addEdge(START, 'work')
    .compile({ checkpointer })
}

/** The same, and nobody is asked. */
export const wordedInNode: Make = (cf, upstream, checkpointer) => {
  const send = guarded(cf, upstream)
  return new StateGraph(State)
    .addNode('begin', async () => ({}))
    .addNode('work', async () => {
      const a = await send.invoke({ text: inOtherWords('a') })
      return { sent: [a, await send.invoke({ text: inOtherWords('b') })] }
    })
    .addEdge(START, 'begin')
    .addEdge('begin', 'work')
    .compile({ checkpointer })
}

const loop: Make = (cf, upstream, checkpointer) => {
  const send = sends(guarded(cf, upstream))
  return new StateGraph(State)
    .addNode('ask', ask)
    .addNode('say', async ({ sent }) => ({ words: inOtherWords(sent.length === 0 ? 'a' : 'b') }))
    .addNode('send', send)
    .addEdge(START, 'ask')
    .addEdge('ask', 'say')
    .addEdge('say', 'send')
    .addConditionalEdges('send', ({ sent }) => (sent.length < 2 ? 'say' : END))
    .compile({ checkpointer })
}

const fanOut: Make = (cf, upstream, checkpointer) => {
  const send = sends(guarded(cf, upstream))
  return new StateGraph(State)
    .addNode(
      'ask',
      async () => {
        interrupt('go?')
        const to = (text: string) => new Send('send', { words: text })
        return new Command({ goto: [to('a'), to('a')] })
      },
      { ends: ['send'] },
    )
    .addNode('send', send)
    .addEdge(START, 'ask')
    .compile({ checkpointer })
}

const nested =
  (kind: boolean | undefined): Make =>
  (cf, upstream, checkpointer) => {
    const sub = straight(cf, upstream, kind as never)
    return new StateGraph(State)
      .addNode('ask', ask)
      .addNode('sub', sub)
      .addEdge(START, 'ask')
      .addEdge('ask', 'sub')
      .compile({ checkpointer })
  }

/** The person is asked inside the subgraph. */
const asking =
  (kind: boolean | undefined): Make =>
  (cf, upstream, checkpointer) => {
    const sub = line(cf, upstream, kind as never)
    return new StateGraph(State).addNode('sub', sub).addEdge(START, 'sub').compile({ checkpointer })
  }

const functional: Make = (cf, upstream, checkpointer) => {
  const charge = async (what: string) => {
    upstream.sent.push(what)
    await upstream.slow(what)
    return what
  }
  const sendA = task('sendA', guardTask(cf, unsafe, charge))
  const sendB = task('sendB', guardTask(cf, unsafe, charge))
  return entrypoint({ checkpointer, name: 'flow' }, async () => {
    interrupt('go?')
    return { sent: [await sendA('a'), await sendB('b')] }
  })
}

/** By name, with what is sent by one run of it. */
export const graphs: Readonly<Record<string, readonly [Make, string[]]>> = {
  'nodes in a row': [line, ['a', 'b']],
  'one node that asks and sends': [inNode, ['a', 'b']],
  'a loop': [loop, ['a', 'b']],
  'Send with identical inputs': [fanOut, ['a', 'a']],
  'a stateless subgraph': [nested(false), ['a', 'b']],
  'a subgraph with checkpointer: true': [nested(true), ['a', 'b']],
  'a subgraph that inherits its checkpointer': [nested(undefined), ['a', 'b']],
  'a subgraph with checkpointer: true that asks': [asking(true), ['a', 'b']],
  'a subgraph that inherits and asks': [asking(undefined), ['a', 'b']],
  'tasks of the functional API': [functional, ['a', 'b']],
}

export function built(cf: Counterfoil, make: Make, upstream = new Upstream()) {
  return { graph: make(cf, upstream, new CounterfoilSaver(cf)), upstream }
}
