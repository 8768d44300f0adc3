// chaos() of a LangGraph agent, in one process: what is guarded is safe at every boundary, and what
// is not is found out.
import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { tool as aiTool, generateText, stepCountIs } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import { CounterfoilSaver, type GuardRules, guard } from '../../../src/adapters/langgraph/index.ts'
import { type Agent, chaos, expectSafe, type MockCall } from '../../../src/testing/index.ts'
import { ScriptedModel } from './lab.ts'

const real = async (): Promise<string> => {
  throw new Error('nothing real may be sent')
}
const schema = z.object({ to: z.string() })
const tools = ['find', 'charge', 'mail'].map((name) => tool(real, { name, schema }))
const classes: Record<string, GuardRules> = {
  find: { replayClass: 'pure' },
  charge: {
    replayClass: 'idempotent_with_key',
    idempotencyKey: (input, { runId }) => `${runId}:${(input as { to: string }).to}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
  },
  mail: { replayClass: 'unsafe_on_replay' },
}
const mocks = {
  find: () => 'found',
  charge: (_: unknown, call: MockCall) => call.once(() => ({ id: 'c-1' })),
  mail: () => 'm-1',
}
const input = 'acme'

/** First a lookup, then a charge and two mails at once, then it is done. */
function model(): ScriptedModel {
  return new ScriptedModel((messages) => {
    const turn = messages.filter((each) => each instanceof AIMessage).length
    const call = (name: string, to = 'acme') => ({ name, args: { to } })
    if (turn === 0) return [call('find')]
    return turn === 1 ? [call('charge'), call('mail'), call('mail', 'boss')] : 'All done.'
  })
}

const thread = (runId: string) => ({ configurable: { thread_id: runId } })

const guarded: Agent = async (cf, given) => {
  const checkpointer = new CounterfoilSaver(cf)
  const graph = createReactAgent({ llm: model(), tools: guard(cf, tools, classes), checkpointer })
  const begun = await checkpointer.getTuple(thread(given.runId))
  return graph.invoke(begun ? null : { messages: String(given.input) }, thread(given.runId))
}

function toolOf<T extends { tool: string }>(tools: readonly T[], name: string): T | undefined {
  return tools.find((each) => each.tool === name)
}

test('J2, K1 a guarded agent is safe at every boundary, and asks for unsafe calls', async () => {
  const report = await chaos({ agent: guarded, input, mocks })
  expectSafe(report)
  expect(report).toMatchObject({ subject: 'guarded', store: 'memory' })
  // A boundary that did not come again is none of its business.
  expect(report.notes.filter((note) => !note.includes('killed nothing'))).toEqual([])
  expect(report.kills).toBeGreaterThan(report.boundaries * 0.9)
  // What differs by itself is named, the end is compared with all else.
  expect(report.moving.every((path) => path.endsWith('id'))).toBe(true)
  expect(toolOf(report.tools, 'find')).toMatchObject({ effectsMax: 0, doubts: 0, holds: 'assumed' })
  const charge = toolOf(report.tools, 'charge')
  expect(charge).toMatchObject({ replayClass: 'idempotent_with_key', calls: 1, effects: 1 })
  expect(charge).toMatchObject({ effectsMax: 1, duplicates: 0, doubts: 0, holds: 'yes' })
  expect(charge?.sentAgain).toBeGreaterThan(0)
  const mail = toolOf(report.tools, 'mail')
  expect(mail).toMatchObject({ calls: 2, effects: 2, effectsMax: 1, duplicates: 0, holds: 'yes' })
  expect(mail?.doubts).toBeGreaterThan(mail?.doubtsInVain ?? 0)
  const asking = report.points.filter(({ doubts }) => doubts.length > 0)
  expect(asking.map(({ deaths }) => deaths.join())).toContain('after mail')
  expect(asking.flatMap(({ doubts }) => doubts).every((doubt) => doubt.tool === 'mail')).toBe(true)
}, 120_000)

test('J2 a second death while a LangGraph agent recovers changes nothing', async () => {
  const report = await chaos({ agent: guarded, input, mocks, pairs: true, kills: 30, seed: 2 })
  expectSafe(report)
  expect(report.points.filter(({ deaths }) => deaths.length === 2).length).toBeGreaterThan(10)
}, 120_000)

test('J2 a keyed tool of an agent whose upstream ignores the key is found out', async () => {
  const report = await chaos({
    agent: guarded,
    input,
    mocks: { ...mocks, charge: () => 'c' },
    kills: 6,
  })
  expect(report.ok).toBe(false)
  expect(toolOf(report.tools, 'charge')).toMatchObject({ effectsMax: 2, holds: 'no' })
  expect(toolOf(report.tools, 'mail')).toMatchObject({ effectsMax: 1, holds: 'yes' })
})

test('J2 control: LangGraph with its own saver and no guard() sends twice', async () => {
  const unguarded =
    (saver: MemorySaver): Agent =>
    async (_, { runId, upstream }) => {
      const send = (to: unknown) => upstream('mail', to) as Promise<string>
      const plain = tool(send, { name: 'mail', schema })
      const llm = new ScriptedModel((messages) =>
        messages.some((each) => each instanceof AIMessage)
          ? 'Done.'
          : [{ name: 'mail', args: { to: 'acme' } }],
      )
      const graph = createReactAgent({ llm, tools: [plain], checkpointer: saver })
      const begun = await saver.getTuple(thread(runId))
      return graph.invoke(begun ? null : { messages: 'acme' }, thread(runId))
    }
  // It outlives its process, as a saver on a disk does; each crash point has a thread of its own.
  const savers = new Map<string, MemorySaver>()
  const agent: Agent = (cf, given) => {
    const saver = savers.get(given.dir) ?? new MemorySaver()
    savers.set(given.dir, saver)
    return unguarded(saver)(cf, given)
  }
  const report = await chaos({ agent, input, mocks: { mail: mocks.mail, find: mocks.find } })
  expect(report.ok).toBe(false)
  expect(toolOf(report.tools, 'mail')).toMatchObject({
    ...{ replayClass: null, effectsMax: 2, duplicates: 1, doubts: 0, holds: 'no' },
  })
  expect(report.notes).toEqual([expect.stringContaining('mocks.find was not asked')])
})

test('J2 an agent that begins its thread again after a death is found out', async () => {
  const again: Agent = (cf, { runId }) => {
    const checkpointer = new CounterfoilSaver(cf)
    const graph = createReactAgent({ llm: model(), tools: guard(cf, tools, classes), checkpointer })
    return graph.invoke({ messages: 'acme' }, thread(runId))
  }
  const report = await chaos({ agent: again, input, mocks, kills: 6 })
  expect(report.ok).toBe(false)
  const found = report.points.flatMap(({ findings }) => findings)
  expect(found.some(({ kind }) => kind === 'end')).toBe(true)
  expect(found.some(({ kind }) => kind === 'duplicate')).toBe(false)
})

test('J2 interrupts of the user’s own are theirs to answer: else it says so', async () => {
  const asks: Agent = async (cf, { runId, input: resume }) => {
    const confirm = tool(async () => String(interrupt('Really?')), { name: 'confirm', schema })
    const checkpointer = new CounterfoilSaver(cf)
    const llm = new ScriptedModel((messages) => {
      const turn = messages.filter((each) => each instanceof AIMessage).length
      if (turn === 0) return [{ name: 'mail', args: { to: 'acme' } }]
      return turn === 1 ? [{ name: 'confirm', args: { to: 'acme' } }] : 'Done.'
    })
    const own = [
      ...guard(cf, [tools[2] as never], { mail: classes['mail'] as GuardRules }),
      confirm,
    ]
    const graph = createReactAgent({ llm, tools: own, checkpointer })
    const begun = await checkpointer.getTuple(thread(runId))
    const first = await graph.invoke(begun ? null : { messages: 'acme' }, thread(runId))
    const { tasks } = await graph.getState(thread(runId))
    const waits = tasks.flatMap(({ interrupts }) => interrupts)
    const [id] = waits.filter(({ value }) => value === 'Really?').map((each) => each.id)
    if (resume === null || id === undefined) return first
    return graph.invoke(new Command({ resume: { [id]: resume } }), thread(runId))
  }
  const { mail } = mocks
  expectSafe(await chaos({ agent: asks, input: 'yes', mocks: { mail }, kills: 12 }))
  await expect(chaos({ agent: asks, input: null, mocks: { mail } })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining('interrupt("Really?"), and nobody answers'),
  })
})

test('J2 an agent whose calls nobody sees is refused, and not called safe', async () => {
  const deaf: Agent = async () => 'done'
  await expect(chaos({ agent: deaf, mocks })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining('give this cf to guard()'),
  })
  const wrong = chaos({ agent: 'agent' } as never)
  await expect(wrong).rejects.toMatchObject({ code: 'CHAOS_OPTIONS' })
})

test('J2, K2 a guarded agent of the AI SDK comes by the same entry', async () => {
  const script = [
    { type: 'tool-call', toolCallId: 'call_1', toolName: 'mail', input: '{"to":"acme"}' },
    { type: 'text', text: 'Acme knows.' },
  ] as const
  const agent: Agent = async (cf, { runId }) => {
    const llm = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        const part = script[prompt.filter(({ role }) => role === 'assistant').length]
        const unified = part?.type === 'text' ? 'stop' : 'tool-calls'
        const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
        return { content: [part], finishReason: { unified }, usage, warnings: [] } as never
      },
    })
    const support = guardAgent({
      model: llm,
      tools: { mail: aiTool({ inputSchema: schema, execute: real }) },
      classes: { mail: { replayClass: 'unsafe_on_replay' } },
    })
    const ids = { workflowId: runId, checkpointId: 'message-1' }
    const ended = await support.run(cf, ids, (own) =>
      generateText({ ...own, prompt: 'Tell acme.', stopWhen: stepCountIs(5) }),
    )
    return ended.text
  }
  const report = await chaos({ agent, mocks: { mail: mocks.mail }, real: ['model'] })
  expectSafe(report)
  expect(toolOf(report.tools, 'mail')).toMatchObject({ effectsMax: 1, holds: 'yes' })
  expect(toolOf(report.tools, 'mail')?.doubts).toBeGreaterThan(0)
  const sorry: Agent = async (cf, given) => {
    try {
      return await agent(cf, given)
    } catch {
      return 'sorry'
    }
  }
  const swallowed = await chaos({ agent: sorry, mocks: { mail: mocks.mail }, real: ['model'] })
  const found = swallowed.points.flatMap(({ findings }) => findings)
  expect(found.map(({ message }) => message.slice(0, 62))).toContain(
    'the agent came to its end while a person was being asked (mail',
  )
})
