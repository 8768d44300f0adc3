// Answers that are wrong, come again, or do not fit; and tools that are shared with other graphs.
import { tool } from '@langchain/core/tools'
import {
  Annotation,
  Command,
  END,
  MemorySaver,
  type MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { createReactAgent, ToolNode } from '@langchain/langgraph/prebuilt'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Asked,
  CounterfoilSaver,
  type GuardRules,
  guard,
  guardNode,
  watch,
} from '../../../src/adapters/langgraph/index.ts'
import { asking, lastText, mailer, opens, pure, says, thread, unsafe, waitsFor } from './lab.ts'

const said = { by: 'ana', reason: 'looked' }

/** An agent whose mail went out, and no answer came. */
async function doubting(rules: Partial<GuardRules> = {}) {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  outbox.after = () => {
    throw new Error('socket hang up')
  }
  const tools = guard(cf, [sendEmail], { send_email: { ...unsafe, ...rules } as GuardRules })
  const llm = asking({ name: 'send_email', args: { to: 'ana' } }) as never
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  const stopped = await graph.invoke(says(), thread())
  const [{ id = '' } = {}] = (stopped as { __interrupt__?: { id: string }[] }).__interrupt__ ?? []
  return { cf, outbox, graph, id, itemId: waitsFor(stopped) ?? '' }
}

test.each(['with its id', 'without an id'])(
  'K1 the third answer %s counts, after two that were refused',
  async (how) => {
    const { outbox, graph, id, itemId } = await doubting()
    const decide = (answer: object) => {
      const given = { itemId, ...said, ...answer }
      const resume = how === 'with its id' ? { [id]: given } : given
      return graph.invoke(new Command({ resume }), thread())
    }
    for (let n = 0; n < 3; n++) {
      const refused = decide({ outcome: 'approve' })
      await expect(refused).rejects.toMatchObject({ code: 'DECISION_INVALID' })
    }
    const result = await decide({ outcome: 'happened', result: 'm1' })
    expect(lastText(result)).toBe('done: m1')
    expect(outbox.sent).toEqual(['ana'])
  },
)

test.each([
  ['a response', { type: 'response', args: 'do it differently' }],
  ['a decision that cannot be made', { outcome: 'approve' }],
])('K1 %s without an id is refused once, and does not come back', async (_, wrong) => {
  const { graph, itemId } = await doubting()
  const answer = 'outcome' in wrong ? { itemId, ...said, ...wrong } : wrong
  const refused = graph.invoke(new Command({ resume: answer }), thread())
  await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/INVALID/) })
  for (let n = 0; n < 2; n++) expect(waitsFor(await graph.invoke(null, thread()))).toBe(itemId)
  const resume = { itemId, outcome: 'happened', result: 'm1', ...said }
  expect(lastText(await graph.invoke(new Command({ resume }), thread()))).toBe('done: m1')
})

test('I5 "did not happen" that was too early is not said again by going on', async () => {
  const { outbox, graph, itemId } = await doubting()
  const resume = { itemId, outcome: 'did_not_happen', ...said }
  const early = graph.invoke(new Command({ resume }), thread())
  await expect(early).rejects.toMatchObject({ code: 'DECISION_TOO_EARLY' })
  expect(waitsFor(await graph.invoke(null, thread()))).toBe(itemId)
  expect(outbox.sent).toEqual(['ana'])
})

test('E2 guardNode: a result that is no update of the state is asked for again', async () => {
  const cf = await opens()
  let sent = 0
  const State = Annotation.Root({ poId: Annotation<string> })
  const book = guardNode(cf, { ...unsafe, name: 'book' }, (): Partial<typeof State.State> => {
    sent++
    throw new Error('socket hang up')
  })
  const graph = new StateGraph(State)
    .addNode('book', book)
    .addEdge(START, 'book')
    .addEdge('book', END)
    .compile({ checkpointer: new CounterfoilSaver(cf) })
  const first = waitsFor(await graph.invoke({ poId: '' }, thread())) ?? ''
  const answer = (itemId: string, result: unknown) =>
    new Command({ resume: { itemId, outcome: 'happened', result, ...said } }) as never
  const again = waitsFor(await graph.invoke(answer(first, 'PO-1'), thread())) ?? ''
  expect(again).toMatch(/^item_/)
  expect(again).not.toBe(first)
  expect((await cf.inbox.list()).items.map(({ itemId }) => itemId)).toEqual([again])
  expect(await graph.invoke(answer(again, { poId: 'PO-1' }), thread())).toEqual({ poId: 'PO-1' })
  expect(sent).toBe(1)
})

test('E2 a result that does not fit the rule `output` is asked for again', async () => {
  const { cf, graph, itemId } = await doubting({ output: z.object({ order: z.string() }) })
  const answer = (id: string, result: unknown) =>
    graph.invoke(
      new Command({ resume: { itemId: id, outcome: 'happened', result, ...said } }),
      thread(),
    )
  const again = waitsFor(await answer(itemId, 'PO-1')) ?? ''
  expect(again).not.toBe(itemId)
  expect((await cf.inbox.list()).items.map((item) => item.itemId)).toEqual([again])
  expect(lastText(await answer(again, { order: 'PO-1' }))).toBe('done: {"order":"PO-1"}')
})

test('K1 watch() without onError says what went wrong, once for each cause', async () => {
  const { cf, itemId } = await doubting()
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  let tries = 0
  const broken = {
    getState: async () => {
      tries++
      throw new Error('a node that cannot go on')
    },
    invoke: async () => {},
  }
  const { version } = await cf.inbox.get(itemId)
  await cf.inbox.decide(itemId, { outcome: 'happened', result: 'm1', ...said, version })
  const watching = watch(cf, broken as never, { pollMs: 10 })
  await expect.poll(() => tries, { timeout: 30_000 }).toBeGreaterThan(2)
  await watching.stop()
  const messages = warned.mock.calls.map(([message]) => String(message))
  warned.mockRestore()
  expect(messages.filter((each) => each.includes('a node that cannot go on'))).toEqual([
    'watch(): thread t1 could not go on: Error: a node that cannot go on',
  ])
})

test('K1 a registry of tools serves a graph with another saver: its pure tools work', async () => {
  const cf = await opens()
  const { outbox, sendEmail, search } = mailer()
  const tools = guard(cf, [sendEmail, search], { send_email: unsafe, search: pure })
  const searching = asking({ name: 'search', args: { q: 'x' } }) as never
  const checkpointer = new MemorySaver()
  const other = createReactAgent({ llm: searching, tools, checkpointer })
  expect(lastText(await other.invoke(says(), thread()))).toBe('done: found x')
  expect(await tools[1].invoke({ q: 'y' })).toBe('found y')
  const mailing = asking({ name: 'send_email', args: { to: 'ana' } })
  const refused = createReactAgent({ llm: mailing as never, tools, checkpointer })
  const stopped = refused.invoke(says(), thread('t2'))
  await expect(stopped).rejects.toMatchObject({ code: 'GUARD_NO_SAVER' })
  expect(outbox.sent).toEqual([])
  expect(mailing.asked).toBe(1)
})

test('K1 GUARD_NO_SAVER is not told to the model outside of a graph either', async () => {
  const cf = await opens()
  const run = tool(async () => 'sent', { name: 'mail', schema: z.object({}) })
  const node = new ToolNode(guard(cf, [run], { mail: unsafe }))
  const reply = await asking({ name: 'mail', args: {} }).invoke('go')
  const state: typeof MessagesAnnotation.State = { messages: [reply] }
  await expect(node.invoke(state)).rejects.toMatchObject({ code: 'GUARD_NO_SAVER' })
})

test.each(['toString', '42', '__proto__', 'constructor', ''])(
  'K1, E2 an outcome that is none is refused by its name, and nothing is decided: %j',
  async (outcome) => {
    const { cf, outbox, graph, id, itemId } = await doubting()
    const decide = (answer: object) =>
      graph.invoke(new Command({ resume: { [id]: { itemId, ...said, ...answer } } }), thread())
    await expect(decide({ outcome })).rejects.toMatchObject({ code: 'DECISION_INVALID' })
    const { version } = await cf.inbox.get(itemId)
    const direct = cf.inbox.decide(itemId, { outcome, version, ...said } as never)
    await expect(direct).rejects.toMatchObject({ code: 'DECISION_INVALID' })
    expect((await cf.inbox.list()).items.map((item) => item.itemId)).toEqual([itemId])
    expect(lastText(await decide({ outcome: 'happened', result: 'm1' }))).toBe('done: m1')
    expect(outbox.sent).toEqual(['ana'])
  },
)

test('K1, E7 the interrupt says what each outcome leads to', async () => {
  const { cf, graph, itemId } = await doubting()
  const { tasks } = await graph.getState(thread())
  const [interrupted] = tasks.flatMap((task) => task.interrupts)
  const { counterfoil } = (interrupted as { value: { counterfoil: Asked } }).value
  const item = await cf.inbox.get(itemId)
  expect(counterfoil).toMatchObject({ itemId, version: item.version, outcomes: item.outcomes })
  expect(counterfoil.choices).toEqual(item.choices)
  expect(counterfoil.choices.map(({ outcome }) => outcome)).toEqual(item.outcomes)
  expect(counterfoil.records).toEqual([])
})
