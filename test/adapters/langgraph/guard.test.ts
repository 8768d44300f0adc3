// The real LangGraph with guarded tools: agents of every make, killed by errors instead of signals.

import { Command, MemorySaver } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { createAgent } from 'langchain'
import { describe, expect, test } from 'vitest'
import { CounterfoilSaver, guard } from '../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../src/index.ts'
import { asking, lastText, mailer, opens, pure, says, thread, unsafe, waitsFor } from './lab.ts'

const makes = {
  'createReactAgent v1': (cf: Counterfoil, llm: never, tools: never) =>
    createReactAgent({ llm, tools, version: 'v1', checkpointer: new CounterfoilSaver(cf) }),
  'createReactAgent v2': (cf: Counterfoil, llm: never, tools: never) =>
    createReactAgent({ llm, tools, version: 'v2', checkpointer: new CounterfoilSaver(cf) }),
  createAgent: (cf: Counterfoil, model: never, tools: never) =>
    createAgent({ model, tools, checkpointer: new CounterfoilSaver(cf) }),
}

describe.each(Object.entries(makes))('%s', (_, make) => {
  async function agent(...calls: Parameters<typeof asking>) {
    const cf = await opens()
    const { outbox, sendEmail, search } = mailer()
    const model = asking(...calls)
    const tools = guard(cf, [search, sendEmail], { search: pure, send_email: unsafe })
    const graph = make(cf, model as never, tools as never)
    return { cf, outbox, model, graph }
  }

  test('K1 the calls of an agent are answered and recorded', async () => {
    const { cf, outbox, graph } = await agent(
      { name: 'search', args: { q: 'ana' } },
      { name: 'send_email', args: { to: 'ana' } },
    )
    const result = await graph.invoke(says(), thread())
    expect(lastText(result)).toBe('done: found ana | sent to ana as m1')
    expect(outbox.sent).toEqual(['ana'])
    const { items } = await cf.store.listRecords({ namespace: 'default', runId: 't1' }, {})
    expect(items.map(({ tool, status, nodeId }) => [tool, status, nodeId]).sort()).toEqual([
      ['search', 'committed', 'tools'],
      ['send_email', 'committed', 'tools'],
    ])
    expect((await cf.run('t1').status()).state).toBe('waiting_tool')
  })

  test('K1 a doubt is an interrupt and an item; a command decides it', async () => {
    const { cf, outbox, graph, model } = await agent({ name: 'send_email', args: { to: 'ana' } })
    outbox.after = () => {
      throw new Error('socket hang up')
    }
    const stopped = await graph.invoke(says(), thread())
    const itemId = waitsFor(stopped)
    const { items } = await cf.inbox.list()
    expect(items.map((item) => item.itemId)).toEqual([itemId])
    const again = await graph.invoke(null, thread())
    expect(waitsFor(again)).toBe(itemId)
    const resume = { itemId, outcome: 'happened', result: 'it is there', by: 'ana', reason: 'seen' }
    const result = await graph.invoke(new Command({ resume }), thread())
    expect(lastText(result)).toBe('done: it is there')
    expect(outbox.sent).toEqual(['ana'])
    expect(model.asked).toBe(2)
    expect(await cf.inbox.get(itemId ?? '')).toMatchObject({ state: 'decided' })
  })

  test('K1 a doubt decided in the inbox continues with the next invocation', async () => {
    const { cf, outbox, graph } = await agent({ name: 'send_email', args: { to: 'ana' } })
    outbox.after = () => {
      throw new Error('socket hang up')
    }
    const itemId = waitsFor(await graph.invoke(says(), thread())) ?? ''
    const { version } = await cf.inbox.get(itemId)
    const said = { outcome: 'happened', result: 'm7', by: 'ana', reason: 'seen', version } as const
    await cf.inbox.decide(itemId, said)
    expect(lastText(await graph.invoke(null, thread()))).toBe('done: m7')
    expect(outbox.sent).toEqual(['ana'])
  })

  test('K1 one call in doubt does not stop its neighbours, nor is theirs made again', async () => {
    const { cf, outbox, graph } = await agent(
      { name: 'send_email', args: { to: 'ana' } },
      { name: 'send_email', args: { to: 'bob' } },
      { name: 'send_email', args: { to: 'cy' } },
    )
    outbox.after = async (to) => {
      if (to === 'bob') throw new Error('socket hang up')
    }
    const itemId = waitsFor(await graph.invoke(says(), thread())) ?? ''
    expect(outbox.sent.toSorted()).toEqual(['ana', 'bob', 'cy'])
    const resume = { itemId, outcome: 'happened', result: 'b', by: 'ana', reason: 'seen' }
    const result = await graph.invoke(new Command({ resume }), thread())
    expect(lastText(result)).toMatch(/^done: sent to ana as m\d \| b \| sent to cy as m\d$/)
    expect(outbox.sent).toHaveLength(3)
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K1 identical calls of one reply are one, and the event says so', async () => {
    const same = { name: 'send_email', args: { to: 'ana' } }
    const { cf, outbox, graph } = await agent(same, same, same)
    const result = await graph.invoke(says(), thread())
    expect(outbox.sent).toEqual(['ana'])
    expect(lastText(result)).toBe(`done: ${Array(3).fill('sent to ana as m1').join(' | ')}`)
    const ids = (result as { messages: { tool_call_id?: string }[] }).messages.flatMap(
      (each) => each.tool_call_id ?? [],
    )
    expect(new Set(ids).size).toBe(3)
    const { items } = await cf.store.listEvents({ namespace: 'default', runId: 't1' }, {})
    const collapsed = items.filter(({ kind }) => kind === 'collapsed')
    expect(collapsed.map(({ data }) => data)).toEqual([
      { tool: 'send_email', callId: ids[0], standsFor: ids.slice(1) },
    ])
  })

  test('K1 a refusal of ours fails the run, and the model is not told', async () => {
    const { outbox, graph, model } = await agent({ name: 'send_email', args: { to: 'ana' } })
    const stopped = graph.invoke(says(), { ...thread(), durability: 'exit' } as never)
    await expect(stopped).rejects.toMatchObject({ code: 'GUARD_NOT_DURABLE' })
    expect(outbox.sent).toEqual([])
    expect(model.asked).toBe(1)
  })
})

test('K1 a graph without our saver is refused before anything is sent', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  const tools = guard(cf, [sendEmail], { send_email: unsafe })
  const llm = asking({ name: 'send_email', args: { to: 'ana' } }) as never
  for (const checkpointer of [new MemorySaver(), new CounterfoilSaver(await opens())]) {
    const graph = createReactAgent({ llm, tools, checkpointer })
    const stopped = graph.invoke(says(), thread())
    await expect(stopped).rejects.toMatchObject({ code: 'GUARD_NO_SAVER' })
  }
  await expect(tools[0].invoke({ to: 'ana' })).rejects.toMatchObject({ code: 'GUARD_NO_SAVER' })
  expect(outbox.sent).toEqual([])
})
