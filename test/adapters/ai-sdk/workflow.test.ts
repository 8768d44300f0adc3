// An agent of the AI SDK inside runs of ours: its tools are declared, a doubt parks the run, and
// nothing of it stays behind in the process. And approvals, in the AI SDK's way and in ours.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import { type Counterfoil, type Graph, graph, riskPolicy, workflow } from '../../../src/index.ts'
import {
  call,
  eventsOf,
  ids,
  listRecords,
  type Major,
  majors,
  onlyItem,
  opens,
  scripted,
  text,
} from './sdk.ts'

const script = [[call('c1', 'send', { to: 'ana' })], [text('Sent it.')]]

function sender({ sdk }: Major, fails: () => boolean = () => false) {
  const sent: unknown[] = []
  const send = sdk.tool({
    inputSchema: z.object({ to: z.string() }),
    execute: async (input) => {
      sent.push(input)
      if (fails()) throw new Error('socket hang up')
      return { id: `m-${sent.length}` }
    },
  })
  return { sent, tools: { send }, classes: { send: { replayClass: 'unsafe_on_replay' } } as const }
}

function decide(cf: Counterfoil, item: { itemId: string; version: number }, said: object) {
  const by = { by: 'ana', reason: 'seen in its log', version: item.version }
  return cf.inbox.decide(item.itemId, { ...by, ...said } as never)
}

async function runs<Out>(graphs: Graph<{ to: string }, Out>) {
  const cf = await opens({ graphs: [graphs as Graph] })
  const worker = cf.worker()
  worker.start()
  const run = await cf.start(graphs, { to: 'ana' }, { runId: ids.workflowId })
  return { cf, run }
}

describe.each(majors)('$name', (major) => {
  const { sdk } = major
  const stopWhen = sdk.stepCountIs(10)

  test('K2, C2 in a workflow a doubt parks the run; the decision lets it go on', async () => {
    const { sent, tools, classes } = sender(major, () => sent.length === 1)
    const model = scripted(major, script)
    const agent = guardAgent({ model, tools, classes })
    const loose: unknown[] = []
    const note = (error: unknown) => loose.push(error)
    process.on('unhandledRejection', note)
    process.on('warning', note)
    const answer = workflow({
      id: 'answer@1.0.0',
      input: z.object({ to: z.string() }),
      tools: agent.declared,
      run: async ({ to }, ctx) => {
        const { text } = await sdk.generateText({ ...agent.at(ctx), stopWhen, prompt: to })
        return text
      },
    })
    const { cf, run } = await runs(answer)
    await run.until('waiting_human')
    await pause(50)
    expect([sent.length, model.doGenerateCalls.length]).toEqual([1, 1])
    const said = { outcome: 'did_not_happen', madeSure: true }
    await decide(cf, await onlyItem(cf), said)
    expect(await run.result()).toBe('Sent it.')
    expect([sent.length, model.doGenerateCalls.length]).toEqual([2, 2])
    process.off('unhandledRejection', note)
    process.off('warning', note)
    expect(loose).toEqual([])
  })

  test('K2 in a workflow a stream is replayed as well', async () => {
    const { sent, tools, classes } = sender(major, () => sent.length === 1)
    const model = scripted(major, script)
    const agent = guardAgent({ model, tools, classes })
    const words: string[] = []
    const answer = workflow({
      id: 'answer@1.0.0',
      input: z.object({ to: z.string() }),
      tools: agent.declared,
      run: async ({ to }, ctx) => {
        const { model, tools } = agent.at(ctx)
        const result = sdk.streamText({ model, tools, stopWhen, prompt: to })
        for await (const word of result.textStream) words.push(word)
        return words.join('')
      },
    })
    const { cf, run } = await runs(answer)
    await run.until('waiting_human')
    await decide(cf, await onlyItem(cf), { outcome: 'happened', result: { id: 'm-1' } })
    expect(await run.result()).toBe('Sent it.')
    expect([sent.length, model.doStreamCalls.length]).toEqual([1, 2])
  })

  test('K2 an agent in a node of a graph; without its tools declared it is refused', async () => {
    const { sent, tools, classes } = sender(major)
    const agent = guardAgent({ model: scripted(major, script), tools, classes })
    const make = (id: string, declared: typeof agent.declared) =>
      graph({
        id,
        state: z.object({ to: z.string(), said: z.string().default('') }),
        output: z.string(),
        tools: declared,
        start: 'work',
        nodes: {
          work: async (state, ctx) => {
            const { model, tools } = agent.at(ctx)
            const { text } = await sdk.generateText({ model, tools, stopWhen, prompt: state.to })
            return ctx.go('end', { said: text })
          },
          end: async (state, ctx) => ctx.done(state.said),
        },
      })
    const { run } = await runs(make('good@1.0.0', agent.declared))
    expect(await run.result()).toBe('Sent it.')
    const bad = await runs(make('bad@1.0.0', []))
    await expect(bad.run.result()).rejects.toThrow(/declaring/)
    expect(sent).toHaveLength(1)
  })

  test('K2 a node may call a declared tool by itself, but not the model', async () => {
    const { sent, tools, classes } = sender(major)
    const agent = guardAgent({ model: scripted(major, script), tools, classes })
    const [model, send] = agent.declared
    const answer = workflow({
      id: 'answer@1.0.0',
      input: z.object({ to: z.string() }),
      tools: agent.declared,
      run: async ({ to }, ctx) => {
        const code = (error: { code?: string }) => error.code
        const refused = await ctx.call(model as never, {} as never).catch(code)
        return [refused, await ctx.call(send as never, { to } as never)]
      },
    })
    const { run } = await runs(answer)
    expect(await run.result()).toEqual(['CALL_FAILED', { id: 'm-1' }])
    expect(sent).toEqual([{ to: 'ana' }])
  })

  test('K2, C10 a model that failed is asked again when a person retries the run', async () => {
    const model = scripted(major, [[text('Hello.')]])
    const { doGenerate } = model
    let down = true
    model.doGenerate = async (options) => {
      if (!down) return doGenerate(options)
      const [url, message] = ['https://model.example', 'down']
      throw new sdk.APICallError({ message, url, requestBodyValues: {}, statusCode: 400 })
    }
    const agent = guardAgent({ model })
    const answer = workflow({
      id: 'answer@1.0.0',
      input: z.object({ to: z.string() }),
      tools: agent.declared,
      run: async ({ to }, ctx) =>
        (await sdk.generateText({ model: agent.at(ctx).model, prompt: to })).text,
    })
    const { run } = await runs(answer)
    await expect(run.result()).rejects.toThrow('down')
    down = false
    await run.retry({ by: 'ana', reason: 'it is back' })
    expect(await run.result()).toBe('Hello.')
  })

  test('K2 tries of the AI SDK replay without their waits', async () => {
    // The AI SDK waits 2 s after the first, and 4 s after the second.
    let failures = 2
    const { sent, tools, classes } = sender(major, () => sent.length === 1)
    const model = scripted(major, script)
    const { doGenerate } = model
    let asked = 0
    model.doGenerate = async (options) => {
      asked++
      if (failures-- <= 0) return doGenerate(options)
      const [url, message] = ['https://model.example', 'busy']
      throw new sdk.APICallError({ message, url, requestBodyValues: {}, statusCode: 529 })
    }
    const agent = guardAgent({ model, tools, classes })
    const answer = workflow({
      id: 'answer@1.0.0',
      input: z.object({ to: z.string() }),
      tools: agent.declared,
      run: async ({ to }, ctx) => {
        const { model, tools } = agent.at(ctx)
        return (await sdk.generateText({ model, tools, stopWhen, prompt: to })).text
      },
    })
    const begun = performance.now()
    const { cf, run } = await runs(answer)
    await run.until('waiting_human')
    expect(asked).toBe(3)
    const from = performance.now()
    await decide(cf, await onlyItem(cf), { outcome: 'happened', result: { id: 'm-1' } })
    expect(await run.result()).toBe('Sent it.')
    // The same work without the waits: on a slow machine both take longer.
    expect(performance.now() - from).toBeLessThan(from - begun)
    expect([asked, sent.length]).toEqual([4, 1])
  })

  test('K2, H1 in a workflow identical calls of one reply are one', async () => {
    const { sent, tools, classes } = sender(major)
    const twice = [call('c1', 'send', { to: 'ana' }), call('c2', 'send', { to: 'ana' })]
    const agent = guardAgent({ model: scripted(major, [twice, [text('Ok.')]]), tools, classes })
    const answer = workflow({
      id: 'answer@1.0.0',
      input: z.object({ to: z.string() }),
      tools: agent.declared,
      run: async ({ to }, ctx) => {
        const { model, tools } = agent.at(ctx)
        const { steps } = await sdk.generateText({ model, tools, stopWhen, prompt: to })
        return steps[0]?.toolResults.length ?? 0
      },
    })
    const { cf, run } = await runs(answer)
    expect(await run.result()).toBe(2)
    expect(sent).toHaveLength(1)
    expect(await eventsOf(cf, 'collapsed')).toMatchObject([{ tool: 'send', standsFor: ['c2'] }])
  })

  test('K2 needsApproval is kept: the AI SDK asks, the answer’s turn makes the call', async () => {
    const cf = await opens()
    const { sent, tools: plain, classes } = sender(major)
    const tools = { send: { ...plain.send, needsApproval: true } }
    const twice = [call('c1', 'send', { to: 'ana' }), call('c2', 'send', { to: 'ana' })]
    const model = scripted(major, [twice, [text('Sent it.')]])
    const agent = guardAgent({ model, tools, classes })
    const messages = [{ role: 'user' as const, content: 'Tell Ana.' }]
    const turn = (checkpointId: string, more: readonly object[]) =>
      agent.run(cf, { ...ids, checkpointId }, ({ model, tools }) =>
        sdk.generateText({
          ...{ model, tools, stopWhen },
          messages: [...messages, ...more] as never,
        }),
      )
    const first = await turn('turn-1', [])
    expect(sent).toEqual([])
    const asks = first.content.filter((part) => part.type === 'tool-approval-request')
    expect(asks).toHaveLength(2)
    const answers = asks.map(({ approvalId }) => ({
      ...{ type: 'tool-approval-response', approvalId, approved: true },
    }))
    const more = [...first.response.messages, { role: 'tool', content: answers }]
    for (let i = 0; i < 2; i++) expect((await turn('turn-2', more)).text).toBe('Sent it.')
    // Both were approved, and both ask for the same.
    expect(sent).toEqual([{ to: 'ana' }])
    expect(model.doGenerateCalls).toHaveLength(2)
  })

  test('K2, E6 what the gate holds waits for a person, who may edit it', async () => {
    const gate = riskPolicy({ rules: [{ when: { tool: 'send' }, do: { ask: {} } }] })
    const cf = await opens({ gate })
    const { sent, tools, classes } = sender(major)
    const agent = guardAgent({ model: scripted(major, script), tools, classes })
    const work = () =>
      agent.run(cf, ids, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' }),
      )
    await expect(work()).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect(sent).toEqual([])
    await decide(cf, await onlyItem(cf), { outcome: 'edit', result: { to: 'bob' } })
    expect((await work()).text).toBe('Sent it.')
    expect(sent).toEqual([{ to: 'bob' }])
    expect((await listRecords(cf)).map(({ tool }) => tool).sort()).toEqual([
      'model',
      'model',
      'send',
    ])
  })
})
