// Guarded calls below subgraphs, in forks, after updates and under retry policies: wherever
// LangGraph runs something again, what was sent is not sent again.
import { tool } from '@langchain/core/tools'
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver, guard, guardNode } from '../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../src/index.ts'
import { asking, lastText, mailer, opens, pure, says, thread, unsafe, waitsFor } from './lab.ts'

const said = { by: 'ana', reason: 'seen' }

function agentOf(cf: Counterfoil, ...calls: Parameters<typeof asking>) {
  const { outbox, sendEmail } = mailer()
  const model = asking(...calls)
  const tools = guard(cf, [sendEmail], { send_email: unsafe })
  const of = (checkpointer?: false) =>
    createReactAgent({
      llm: model as never,
      tools,
      ...(checkpointer === false ? { checkpointer } : {}),
    })
  return { outbox, model, of }
}

const email = { name: 'send_email', args: { to: 'ana' } }

/** The agent below `depth` graphs, each with checkpoints of its own or, the innermost, without. */
async function nested(depth: number, checkpointer?: false) {
  const cf = await opens()
  const { outbox, model, of } = agentOf(cf, email)
  let inner = of(checkpointer) as never
  for (let level = 1; level < depth; level++) {
    const graph = new StateGraph(MessagesAnnotation).addNode('inner', inner)
    inner = graph.addEdge(START, 'inner').addEdge('inner', END).compile() as never
  }
  const saver = new CounterfoilSaver(cf)
  const outer = new StateGraph(MessagesAnnotation).addNode('agent', inner)
  const graph = outer.addEdge(START, 'agent').addEdge('agent', END).compile({ checkpointer: saver })
  return { cf, outbox, model, graph }
}

describe.each([
  ['a subgraph', 1, undefined],
  ['a subgraph of a subgraph', 2, undefined],
  ['a subgraph without checkpoints', 1, false],
  ['one without checkpoints in one with', 2, false],
] as const)('%s', (_, depth, checkpointer) => {
  test('K1 a doubt stops the thread, and a command continues it', async () => {
    const { cf, outbox, graph } = await nested(depth, checkpointer)
    outbox.after = () => {
      throw new Error('socket hang up')
    }
    const itemId = waitsFor(await graph.invoke(says(), thread()))
    expect(itemId).toBe((await cf.inbox.list()).items[0]?.itemId)
    expect(waitsFor(await graph.invoke(null, thread()))).toBe(itemId)
    const resume = { itemId, outcome: 'happened', result: 'm7', ...said }
    const result = await graph.invoke(new Command({ resume }), thread())
    expect(lastText(result)).toBe('done: m7')
    expect(outbox.sent).toEqual(['ana'])
  })
})

test('K1 a model that is asked again and says something else is put before a person', async () => {
  const { cf, outbox, model, graph } = await nested(1, false)
  outbox.after = () => {
    throw new Error('socket hang up')
  }
  await graph.invoke(says(), thread())
  Object.assign(model, { script: () => [{ name: 'send_email', args: { to: 'bob' } }] })
  await graph.invoke(null, thread())
  expect(outbox.sent).toEqual(['ana'])
  const reasons = (await cf.inbox.list()).items.map(({ reason }) => reason)
  expect(reasons).toContain('drift')
})

test('K1 a subgraph that a node calls twice makes two calls, and each once', async () => {
  const cf = await opens()
  const { outbox, of } = agentOf(cf, email)
  const agent = of()
  let broken = true
  const twice = async (state: typeof MessagesAnnotation.State) => {
    await agent.invoke(state)
    const second = await agent.invoke(state)
    if (broken) throw new Error('after both')
    return { messages: second.messages.slice(-1) }
  }
  const builder = new StateGraph(MessagesAnnotation).addNode('twice', twice)
  const checkpointer = new CounterfoilSaver(cf)
  const graph = builder.addEdge(START, 'twice').addEdge('twice', END).compile({ checkpointer })
  await expect(graph.invoke(says(), thread())).rejects.toThrow('after both')
  expect(outbox.sent).toEqual(['ana', 'ana'])
  broken = false
  await graph.invoke(null, thread())
  expect(outbox.sent).toEqual(['ana', 'ana'])
})

test('K1 a retry policy around a subgraph does not send again what was sent', async () => {
  const cf = await opens()
  const { outbox, model, of } = agentOf(cf, email)
  const { script } = model as unknown as { script: (messages: never, n: number) => unknown }
  const flaky = (messages: never, n: number) => {
    if (n === 2) throw new Error('model overloaded')
    return script(messages, n)
  }
  Object.assign(model, { script: flaky })
  const retryPolicy = { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false }
  const builder = new StateGraph(MessagesAnnotation).addNode('agent', of(), { retryPolicy })
  const checkpointer = new CounterfoilSaver(cf)
  const graph = builder.addEdge(START, 'agent').addEdge('agent', END).compile({ checkpointer })
  const stopped = graph.invoke(says(), thread())
  await expect(stopped).rejects.toMatchObject({ code: 'GUARD_RETRIED' })
  expect(outbox.sent).toEqual(['ana'])
  expect(lastText(await graph.invoke(null, thread()))).toBe('done: sent to ana as m1')
  expect(outbox.sent).toEqual(['ana'])
})

describe('what people do to threads', () => {
  async function done() {
    const cf = await opens()
    const { outbox, sendEmail } = mailer()
    const llm = asking(email) as never
    const tools = guard(cf, [sendEmail], { send_email: unsafe })
    const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
    await graph.invoke(says(), thread())
    const history = []
    for await (const state of graph.getStateHistory(thread())) history.push(state)
    const before = history.find(({ next }) => next.includes('tools'))
    return { cf, outbox, graph, config: before?.config as never }
  }

  test('K1 a fork of the checkpoint before a call reads its receipt', async () => {
    const { outbox, graph, config } = await done()
    const result = await graph.invoke(null, config)
    expect(lastText(result)).toBe('done: sent to ana as m1')
    expect(outbox.sent).toEqual(['ana'])
  })

  test('K1 an update of the state before a call does not send it again', async () => {
    const { outbox, graph, config } = await done()
    const updated = await graph.updateState(config, { llmInputMessages: [] } as never, 'agent')
    await graph.invoke(null, updated as never)
    expect(outbox.sent).toEqual(['ana'])
  })
})

test('K1 a command that updates the state does not send a neighbour of a doubt again', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  outbox.after = (to) => {
    if (to === 'bob') throw new Error('socket hang up')
  }
  const bob = { name: 'send_email', args: { to: 'bob' } }
  const llm = asking(email, bob) as never
  const tools = guard(cf, [sendEmail], { send_email: unsafe })
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  await graph.invoke(says(), thread())
  expect(outbox.sent.toSorted()).toEqual(['ana', 'bob'])
  await graph.invoke(new Command({ update: { messages: [] } }), thread())
  expect(outbox.sent).toHaveLength(2)
})

test('K1 an agent as a tool finds its calls again though its neighbour has ended', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  const inner = (to: string) => {
    const llm = asking({ name: 'send_email', args: { to } }) as never
    const agent = createReactAgent({ llm, tools: guard(cf, [sendEmail], { send_email: unsafe }) })
    const run = async () => lastText(await agent.invoke(says(to)))
    return tool(run, { name: `ask_${to}`, description: '', schema: z.object({}) })
  }
  outbox.after = (to) => {
    if (to === 'bob') throw new Error('socket hang up')
  }
  const tools = guard(cf, [inner('ana'), inner('bob')], { ask_ana: pure, ask_bob: pure })
  const llm = asking({ name: 'ask_ana', args: {} }, { name: 'ask_bob', args: {} }) as never
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  await graph.invoke(says(), thread())
  const [item] = (await cf.inbox.list()).items
  const resume = { itemId: item?.itemId, outcome: 'happened', result: 'm9', ...said }
  const result = await graph.invoke(new Command({ resume }), thread())
  expect(lastText(result)).toMatch(/^done: done: sent to ana as m[12] \| done: m9$/)
  expect(outbox.sent.toSorted()).toEqual(['ana', 'bob'])
})

test('K1 a whole node is one call, and its update is read back', async () => {
  const cf = await opens()
  const State = Annotation.Root({
    amount: Annotation<number>,
    ids: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  })
  const booked: number[] = []
  let broken = true
  const book = guardNode(cf, unsafe, async ({ amount }: typeof State.State) => {
    booked.push(amount)
    return { ids: [`b${booked.length}`] }
  })
  const other = () => {
    if (broken) throw new Error('a neighbour fails')
    return {}
  }
  const builder = new StateGraph(State).addNode('book', book).addNode('other', other)
  const checkpointer = new CounterfoilSaver(cf)
  const graph = builder.addEdge(START, 'book').addEdge(START, 'other').compile({ checkpointer })
  await expect(graph.invoke({ amount: 5 }, thread())).rejects.toThrow('a neighbour fails')
  broken = false
  expect(await graph.invoke(null, thread())).toMatchObject({ amount: 5, ids: ['b1'] })
  expect(booked).toEqual([5])
  await graph.invoke({ amount: 7 }, thread())
  expect(booked).toEqual([5, 7])
})

/** An agent in a subgraph that asks its user once more after it has sent its mail. */
async function waitingInside() {
  const cf = await opens()
  const { outbox, of } = agentOf(cf, email)
  const inner = new StateGraph(MessagesAnnotation)
    .addNode('agent', of())
    .addNode('ask', () => {
      interrupt('ok?')
      return {}
    })
    .addEdge(START, 'agent')
    .addEdge('agent', 'ask')
    .addEdge('ask', END)
    .compile()
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('before', () => ({}))
    .addNode('inner', inner)
    .addEdge(START, 'before')
    .addEdge('before', 'inner')
    .addEdge('inner', END)
    .compile({ checkpointer: new CounterfoilSaver(cf) })
  return { outbox, graph }
}

test('K1 an update around a subgraph starts it anew, and sends nothing again', async () => {
  const { outbox, graph } = await waitingInside()
  await graph.invoke(says(), thread())
  expect(outbox.sent).toEqual(['ana'])
  await graph.updateState(thread(), { messages: [] }, 'before')
  await expect(graph.invoke(null, thread())).rejects.toMatchObject({ code: 'GUARD_RETRIED' })
  expect(outbox.sent).toEqual(['ana'])
})

test('K1 an update before a subgraph has begun stops nothing', async () => {
  const { outbox, graph } = await waitingInside()
  const before = { ...thread(), interruptBefore: ['inner' as const] }
  await graph.invoke(says(), before)
  await graph.updateState(thread(), { messages: [] }, 'before')
  await graph.invoke(null, thread())
  expect(outbox.sent).toEqual(['ana'])
})
