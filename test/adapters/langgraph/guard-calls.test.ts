// What guard() keeps as it was, what it refuses, and what tools get from it.
import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { DynamicTool, tool } from '@langchain/core/tools'
import {
  Command,
  END,
  entrypoint,
  MessagesAnnotation,
  START,
  StateGraph,
  task,
} from '@langchain/langgraph'
import { createReactAgent, ToolNode } from '@langchain/langgraph/prebuilt'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fromPlain, toPlain } from '../../../src/adapters/langgraph/guard/values.ts'
import {
  type AnsweredCall,
  CounterfoilSaver,
  callInfo,
  type GuardRules,
  guard,
  guardNode,
  guardTask,
} from '../../../src/adapters/langgraph/index.ts'
import { asking, lastText, mailer, opens, pure, says, thread, unsafe, waitsFor } from './lab.ts'

describe('declarations', () => {
  test('K1 every tool without a class is listed, with the lines to write', async () => {
    const cf = await opens('memory:')
    const { sendEmail, search } = mailer()
    const declare = () => guard(cf, [sendEmail, search], {})
    expect(declare).toThrow(/send_email: \{ replayClass: '…' \},\n {2}search: \{ replayClass/)
    expect(declare).toThrow(expect.objectContaining({ code: 'GUARD_INVALID' }))
  })

  test('K1 a class without a tool, and every wrong option, are named at once', async () => {
    const cf = await opens('memory:')
    const { sendEmail, search } = mailer()
    const classes = {
      ...{ send_email: { replayClass: 'idempotent_with_key' }, fax: pure },
      search: { ...pure, interrupts: true, callbackMs: 5 },
    } as unknown as Record<string, GuardRules>
    const faults = [
      /fax: there is no such tool/,
      /idempotencyKey/,
      /`interrupts`.*unsafe/,
      /callback/,
    ]
    for (const fault of faults) {
      expect(() => guard(cf, [sendEmail, search], classes)).toThrow(fault)
    }
    const provider = { type: 'web_search', name: 'web_search' } as never
    expect(() => guard(cf, [provider], {})).toThrow(/web_search.*cannot be called/)
    expect(() => guardNode(cf, {} as never, () => 1)).toThrow(/replayClass/)
  })

  test('K1 a guarded tool is what it was, but for its calls', async () => {
    const cf = await opens('memory:')
    const original = tool(async () => ['text', { a: 1 }], {
      ...{ name: 'search', description: 'Searches', responseFormat: 'content_and_artifact' },
      ...{ schema: z.object({ q: z.string() }), returnDirect: true, metadata: { m: 1 } },
      ...{ tags: ['t'], verboseParsingErrors: true },
    } as never)
    const [guarded] = guard(cf, [original], { search: pure })
    expect(guarded).toBeInstanceOf(original.constructor)
    const keys = ['name', 'description', 'schema', 'responseFormat', 'returnDirect'] as const
    const more = ['metadata', 'tags', 'verboseParsingErrors'] as const
    for (const key of [...keys, ...more]) {
      expect((guarded as never)[key], key).toBe((original as never)[key])
    }
    await expect(guarded.invoke({ q: 1 } as never)).rejects.toThrow(/did not match/)
  })
})

test.each([
  ['a text', 'found it'],
  ['nothing', undefined],
  ['an object with an order', { b: 1, a: [null, { d: 'x', c: true }] }],
  ['half a character', 'cut \ud83d'],
  ['a pair', ['content', { art: 'ifact' }]],
  ['bytes', new Uint8Array([1, 2, 250])],
  ['a map', new Map([['a', new Set([1])]])],
  ['a message', new ToolMessage({ content: 'x', tool_call_id: 'c1', artifact: { a: 1 } })],
  ['a command', new Command({ graph: Command.PARENT, goto: ['next'], update: { a: [1] } })],
  ['what looks like an envelope', { 'counterfoil/langgraph': 7 }],
])('K1 a result comes back as it was: %s', async (_, value) => {
  const { serde } = new CounterfoilSaver(await opens('memory:'))
  const plain = await toPlain(serde, value)
  const kept = plain === undefined ? undefined : JSON.parse(JSON.stringify(plain))
  const back = await fromPlain(serde, kept)
  expect(back).toEqual(value)
  expect(JSON.stringify(back)).toBe(JSON.stringify(value))
  expect(back?.constructor).toBe(value?.constructor)
})

test('K1 tools of every make answer as they did', async () => {
  const cf = await opens()
  const made = [
    tool(async () => ['shown', { kept: 1 }], {
      ...{ name: 'pair', description: '', schema: z.object({}) },
      responseFormat: 'content_and_artifact',
    }),
    new DynamicTool({ name: 'text', description: '', func: async (input) => `got ${input}` }),
    tool(
      ({ n }, config) => new ToolMessage({ content: `n${n}`, tool_call_id: config.toolCall.id }),
      {
        ...{ name: 'message', description: '', schema: z.object({ n: z.coerce.number() }) },
      },
    ),
    RunnableLambda.from(async ({ x }: { x: string }) => `ran ${x}`).asTool({
      ...{ name: 'runnable', description: '', schema: z.object({ x: z.string() }) },
    }),
  ]
  const classes = { pair: unsafe, text: unsafe, message: unsafe, runnable: unsafe }
  const calls = [
    { name: 'pair', args: {} },
    { name: 'text', args: { input: 'it' } },
    { name: 'message', args: { n: '4' } },
    { name: 'runnable', args: { x: 'y' } },
  ]
  const run = async (tools: never, id: string) => {
    const checkpointer = new CounterfoilSaver(cf)
    const graph = createReactAgent({ llm: asking(...calls) as never, tools, checkpointer })
    const { messages } = await graph.invoke(says(), thread(id))
    return messages.flatMap((each) =>
      each instanceof ToolMessage ? [[each.content, each.artifact]] : [],
    )
  }
  const guarded = await run(guard(cf, made as never, classes) as never, 'guarded')
  expect(guarded).toEqual(await run(made as never, 'plain'))
  expect(guarded).toEqual([
    ['shown', { kept: 1 }],
    ['got it', undefined],
    ['n4', undefined],
    ['ran y', undefined],
  ])
})

test('C9 onCall is told what was fresh and what came from the ledger', async () => {
  const cf = await opens()
  const { outbox, sendEmail, search } = mailer()
  const told: AnsweredCall[] = []
  const onCall = (call: AnsweredCall) => told.push(call)
  let broken = true
  const after = () => {
    if (broken) throw new Error('the process dies')
    return {}
  }
  const tools = guard(cf, [sendEmail, search], { send_email: unsafe, search: pure }, { onCall })
  const calls = [
    { ...{ name: 'send_email', args: { to: 'ana' } }, id: 'c1', type: 'tool_call' as const },
    { ...{ name: 'search', args: { q: 'x' } }, id: 'c2', type: 'tool_call' as const },
  ]
  const tooling = new ToolNode(tools as never)
  const both = async (state: typeof MessagesAnnotation.State, config: object) => {
    const done = (await tooling.invoke(state, config)) as { messages: never[] }
    after()
    return done
  }
  const builder = new StateGraph(MessagesAnnotation).addNode('tools', both)
  const checkpointer = new CounterfoilSaver(cf)
  const graph = builder.addEdge(START, 'tools').addEdge('tools', END).compile({ checkpointer })
  const reply = new AIMessage({ id: 'r1', content: '', tool_calls: calls })
  await expect(graph.invoke({ messages: [reply] }, thread())).rejects.toThrow('dies')
  broken = false
  await graph.invoke(null, thread())
  const lines = told.map(({ tool: name, callId, input, result, replayed }) => {
    return [name, callId, input, result, replayed]
  })
  const sent = ['send_email', 'c1', { to: 'ana' }, 'sent to ana as m1']
  const found = ['search', 'c2', { q: 'x' }, 'found x']
  expect(lines).toHaveLength(4)
  for (const line of [sent, found]) {
    expect(lines.filter(([name]) => name === line[0])).toEqual([
      [...line, false],
      [...line, true],
    ])
  }
  expect(outbox.sent).toEqual(['ana'])
})

test('K1 the key of a keyed tool reaches its body; an error is tried again with it', async () => {
  const cf = await opens()
  const seen: unknown[] = []
  const charge = tool(
    async () => {
      const { idempotencyKey, attempt, callId } = callInfo() ?? {}
      seen.push([idempotencyKey, attempt, callId !== null])
      if (seen.length === 1) throw new Error('socket hang up')
      return 'charged'
    },
    { name: 'charge', description: '', schema: z.object({ invoice: z.string() }) },
  )
  const idempotencyKey = ({ invoice }: { invoice: string }, { runId }: { runId: string }) =>
    `${runId}:${invoice}`
  const rules = { replayClass: 'idempotent_with_key', idempotencyKey, keyTtlMs: 60_000 } as const
  const tools = guard(cf, [charge], { charge: { ...rules, retry: { backoffMs: 1 } } })
  const llm = asking({ name: 'charge', args: { invoice: 'i7' } }) as never
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  expect(lastText(await graph.invoke(says(), thread()))).toBe('done: charged')
  expect(seen).toEqual([
    ['t1:i7', 1, true],
    ['t1:i7', 2, true],
  ])
})

test('K1 a retry policy runs a node again: receipts are read back, pure failures not', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  let looks = 0
  const look = tool(
    async () => {
      if (++looks < 3) throw new Error('not yet')
      return 'seen'
    },
    { name: 'look', description: '', schema: z.object({}) },
  )
  const [mail, see] = guard(cf, [sendEmail, look], { send_email: unsafe, look: pure })
  const node = async () => {
    // Without a model: the calls are counted as they come.
    const texts = [await mail.invoke({ to: 'ana' }), await mail.invoke({ to: 'bob' })]
    texts.push(await see.invoke({}))
    return { messages: [new AIMessage(texts.join(' | '))] }
  }
  const retryPolicy = { maxAttempts: 4, initialInterval: 1, jitter: false, logWarning: false }
  const builder = new StateGraph(MessagesAnnotation).addNode('node', node, { retryPolicy })
  const checkpointer = new CounterfoilSaver(cf)
  const graph = builder.addEdge(START, 'node').addEdge('node', END).compile({ checkpointer })
  const result = await graph.invoke(says(), thread())
  expect(lastText(result)).toBe('sent to ana as m1 | sent to bob as m2 | seen')
  expect(outbox.sent).toEqual(['ana', 'bob'])
  await graph.invoke(says('again'), thread())
  expect(outbox.sent).toEqual(['ana', 'bob', 'ana', 'bob'])
})

test('K1 a time limit that passes leaves an unsafe call in doubt', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  let aborted = false
  outbox.after = () =>
    new Promise((_, reject) => {
      callInfo()?.abortSignal.addEventListener('abort', () => {
        aborted = true
        reject(new Error('aborted'))
      })
    })
  const tools = guard(cf, [sendEmail], { send_email: { ...unsafe, timeoutMs: 50 } })
  const llm = asking({ name: 'send_email', args: { to: 'ana' } }) as never
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  expect(waitsFor(await graph.invoke(says(), thread()))).toBeDefined()
  expect([aborted, outbox.sent]).toEqual([true, ['ana']])
})

test('K1 streamed invocations show the doubt as an interrupt too', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  outbox.after = () => {
    throw new Error('socket hang up')
  }
  const tools = guard(cf, [sendEmail], { send_email: unsafe })
  const llm = asking({ name: 'send_email', args: { to: 'ana' } }) as never
  const graph = createReactAgent({ llm, tools, checkpointer: new CounterfoilSaver(cf) })
  const shown: unknown[] = []
  const options = { ...thread(), streamMode: 'updates', durability: 'sync' } as const
  for await (const chunk of await graph.stream(says(), options)) shown.push(waitsFor(chunk))
  expect(shown.filter(Boolean)).toEqual([(await cf.inbox.list()).items[0]?.itemId])
})

test('K1 a task of the functional API is one call, replayed with its entrypoint', async () => {
  const cf = await opens()
  const charged: number[] = []
  let broken = true
  const fn = async (amount: number, { note }: { note: string }) => {
    charged.push(amount)
    return { id: `c${charged.length}`, note }
  }
  const charge = task('charge', guardTask(cf, unsafe, fn))
  const checkpointer = new CounterfoilSaver(cf)
  const run = entrypoint({ name: 'run', checkpointer }, async (amount: number) => {
    const first = await charge(amount, { note: 'a' })
    const second = await charge(amount, { note: 'a' })
    if (broken) throw new Error('the process dies')
    return [first.id, second.id]
  })
  await expect(run.invoke(5, thread())).rejects.toThrow('dies')
  broken = false
  expect(await run.invoke(null as never, thread())).toEqual(['c1', 'c2'])
  expect(charged).toEqual([5, 5])
})

test('I7, C2 a call under way in an invocation that is aborted ends, and is no doubt', async () => {
  const cf = await opens()
  const { outbox, sendEmail } = mailer()
  let land = () => {}
  const begun = new Promise<void>((resolve) => {
    outbox.after = () => {
      resolve()
      return new Promise((done) => {
        land = done
      })
    }
  })
  const agent = createReactAgent({
    llm: asking({ name: 'send_email', args: { to: 'a' } }),
    tools: guard(cf, [sendEmail], { send_email: unsafe }),
    checkpointer: new CounterfoilSaver(cf),
  })
  const stop = new AbortController()
  const first = agent.invoke(says(), { ...thread(), signal: stop.signal }).catch(() => 'aborted')
  await begun
  stop.abort(new Error('the user left'))
  expect(await first).toBe('aborted')
  const second = agent.invoke(null, thread())
  land()
  expect(lastText(await second)).toContain('sent to a as m1')
  expect(outbox.sent).toEqual(['a'])
  expect((await cf.inbox.list()).items).toEqual([])
})
