// An agent of the AI SDK in a scope: replies and results are read back, a doubt stops it, and it
// goes on after the decision. With both majors of the real package.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { callInfo, guardAgent, type ToolReport } from '../../../src/adapters/ai-sdk/index.ts'
import { NotSentError, RefusedError } from '../../../src/index.ts'
import {
  call,
  eventsOf,
  ids,
  listRecords,
  type Major,
  majors,
  onlyItem,
  opens,
  type Script,
  scripted,
  text,
} from './sdk.ts'

const mails: Script = [
  [call('c1', 'search', { q: 'ana' })],
  [call('c2', 'send', { to: 'ana' })],
  [text('Sent to Ana.')],
]

/** Tools whose upstream remembers what it was asked. */
function upstream({ sdk }: Major, fate: { send?: () => unknown } = {}) {
  const sent: string[] = []
  const tools = {
    search: sdk.tool({
      inputSchema: z.object({ q: z.string() }),
      execute: async ({ q }) => {
        sent.push(`search ${q}`)
        return { found: q, at: new Date(0) }
      },
    }),
    send: sdk.tool({
      description: 'Sends a mail.',
      inputSchema: z.object({ to: z.string() }),
      execute: async ({ to }) => {
        sent.push(`send ${to}`)
        return fate.send ? fate.send() : { id: `m-${sent.length}` }
      },
    }),
  }
  const classes = {
    search: { replayClass: 'pure' },
    send: { replayClass: 'unsafe_on_replay', externalId: (result: unknown) => String(result) },
  } as const
  return { sent, tools, classes }
}

describe.each(majors)('$name', (major) => {
  const { sdk } = major
  const stopWhen = sdk.stepCountIs(10)

  test('K2, C9 the same work again asks no model and sends nothing', async () => {
    const cf = await opens()
    const { sent, tools, classes } = upstream(major)
    const model = scripted(major, mails)
    const reports: ToolReport[] = []
    const onCall = (report: ToolReport) => reports.push(report)
    const agent = guardAgent({ model, tools, classes, onCall })
    const work = () =>
      agent.run(cf, ids, async (bound) => {
        const { model: m, tools: t } = bound
        return sdk.generateText({ model: m, tools: t, stopWhen, prompt: 'Tell Ana.' })
      })
    const first = await work()
    expect(first.text).toBe('Sent to Ana.')
    expect(sent).toEqual(['search ana', 'send ana'])
    const again = await work()
    expect(again.text).toBe('Sent to Ana.')
    expect(sent).toEqual(['search ana', 'send ana'])
    expect(model.doGenerateCalls).toHaveLength(3)
    const outline = (steps: typeof first.steps) =>
      steps.map(({ content, usage, finishReason, warnings, response: { timestamp } }) => ({
        ...{ content, usage, finishReason, warnings, timestamp },
      }))
    expect(outline(again.steps)).toEqual(outline(first.steps))
    expect(again.steps[0]?.response.timestamp).toEqual(new Date(86_400_000))
    expect(again.steps[0]?.toolResults[0]?.output).toEqual({ found: 'ana', at: new Date(0) })
    const told = (steps: typeof first.steps) =>
      steps.map(({ providerMetadata }) => providerMetadata?.['counterfoil'])
    expect(told(first.steps)).toEqual(Array(3).fill({ replayed: false }))
    expect(told(again.steps)).toEqual(Array(3).fill({ replayed: true }))
    const outlines = reports.map(({ tool, callId, replayed }) => [tool, callId, replayed])
    expect(outlines).toEqual([
      ['search', 'c1', false],
      ['send', 'c2', false],
      ['search', 'c1', true],
      ['send', 'c2', true],
    ])
  })

  test('K2 other ids are other work', async () => {
    const cf = await opens()
    const { sent, tools, classes } = upstream(major)
    const model = scripted(major, mails)
    const agent = guardAgent({ model, tools, classes })
    for (const checkpointId of ['turn-1', 'turn-2']) {
      await agent.run(cf, { ...ids, checkpointId }, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' }),
      )
    }
    expect(sent.filter((line) => line === 'send ana')).toHaveLength(2)
  })

  test('K2, C2 a doubt stops the agent; the decision answers the call and it goes on', async () => {
    const cf = await opens()
    const fate = {
      send: () => {
        throw new Error('socket hang up')
      },
    }
    const { sent, tools, classes } = upstream(major, fate)
    const model = scripted(major, mails)
    const agent = guardAgent({ model, tools, classes })
    const seen: unknown[] = []
    const work = () =>
      agent.run(cf, ids, async ({ model, tools }) => {
        const result = sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' })
        return result.catch((error) => {
          seen.push(error)
          throw error
        })
      })
    await expect(work()).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    const item = await onlyItem(cf)
    expect(seen).toMatchObject([{ code: 'REPLAY_UNSAFE', itemId: item.itemId }])
    expect(model.doGenerateCalls).toHaveLength(2)
    // As long as nobody has decided, the same again: no second item, nothing sent.
    await expect(work()).rejects.toMatchObject({ itemId: item.itemId })
    expect([sent.length, model.doGenerateCalls.length]).toEqual([2, 2])
    const decision = { outcome: 'happened', result: { id: 'm-7' }, by: 'ana', reason: 'seen' }
    await cf.inbox.decide(item.itemId, { ...decision, version: item.version } as never)
    const { steps, text: said } = await work()
    expect(said).toBe('Sent to Ana.')
    expect(steps[1]?.toolResults[0]?.output).toEqual({ id: 'm-7' })
    expect([sent.length, model.doGenerateCalls.length]).toEqual([2, 3])
  })

  test('K2, E2 a call that a person fails is told to the model as unknown', async () => {
    const cf = await opens()
    const fate = { send: () => Promise.reject(new Error('socket hang up')) }
    const { sent, tools, classes } = upstream(major, fate)
    const model = scripted(major, [[call('c1', 'send', { to: 'ana' })], [text('I cannot say.')]])
    const agent = guardAgent({ model, tools, classes })
    const work = () =>
      agent.run(cf, ids, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' }),
      )
    await expect(work()).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    const { itemId, version } = await onlyItem(cf)
    const by = { by: 'ana', reason: 'nobody knows', madeSure: true }
    await cf.inbox.decide(itemId, { outcome: 'fail', ...by, version })
    const { text: said, steps } = await work()
    expect(said).toBe('I cannot say.')
    const told = { type: 'tool-error', error: { code: 'OUTCOME_UNKNOWN' } }
    expect(steps[0]?.content[1]).toMatchObject(told)
    expect([sent.length, model.doGenerateCalls.length]).toEqual([1, 2])
  })

  test('K2, C2 a doubt rejects also where the agent would have stopped by itself', async () => {
    const cf = await opens()
    const fate = { send: () => Promise.reject(new Error('socket hang up')) }
    const { tools, classes } = upstream(major, fate)
    const model = scripted(major, [[call('c1', 'send', { to: 'ana' })]])
    const agent = guardAgent({ model, tools, classes })
    const work = agent.run(cf, ids, ({ model, tools }) =>
      sdk.generateText({ model, tools, prompt: 'Tell Ana.' }),
    )
    await expect(work).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
  })

  test('K2, C2 beside a doubt: what was under way is recorded, nothing new is sent', async () => {
    const cf = await opens()
    const fate = { send: () => Promise.reject(new Error('socket hang up')) }
    const { sent, tools, classes } = upstream(major, fate)
    const two = [call('c1', 'send', { to: 'ana' }), call('c2', 'search', { q: 'bob' })]
    const model = scripted(major, [two])
    const agent = guardAgent({ model, tools, classes })
    const seen: unknown[] = []
    const work = agent.run(cf, ids, async ({ model, tools }) => {
      await sdk.generateText({ model, tools, stopWhen, prompt: 'x' }).catch(() => {})
      const late = tools.search.execute?.({ q: 'late' }, { toolCallId: 'c9', messages: [] })
      await Promise.resolve(late).catch((error) => seen.push(error))
      return 'fallback'
    })
    await expect(work).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    expect(seen).toMatchObject([{ code: 'REPLAY_UNSAFE' }])
    expect(sent.sort()).toEqual(['search bob', 'send ana'])
    expect(model.doGenerateCalls).toHaveLength(1)
  })

  test('K2, G2 what failed for certain is told to the model, and told again', async () => {
    const cf = await opens()
    const fate = { send: () => Promise.reject(new RefusedError('no such person')) }
    const { sent, tools, classes } = upstream(major, fate)
    const model = scripted(major, [[call('c1', 'send', { to: 'ana' })], [text('No such Ana.')]])
    const agent = guardAgent({ model, tools, classes })
    for (let i = 0; i < 2; i++) {
      const { text: said, steps } = await agent.run(cf, ids, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' }),
      )
      expect(said).toBe('No such Ana.')
      expect(steps[0]?.content).toMatchObject([{}, { type: 'tool-error', toolCallId: 'c1' }])
    }
    expect([sent.length, model.doGenerateCalls.length]).toEqual([1, 2])
  })

  test('K2 the key and the attempt reach the tool; a key is sent again', async () => {
    const cf = await opens()
    const seen: unknown[] = []
    const pay = sdk.tool({
      inputSchema: z.object({ invoice: z.string() }),
      execute: async ({ invoice }, options) => {
        const info = callInfo(options)
        seen.push([info?.idempotencyKey, info?.attempt, options.toolCallId])
        if (seen.length === 1) throw new NotSentError('no connection')
        return `paid ${invoice}`
      },
    })
    const model = scripted(major, [[call('c1', 'pay', { invoice: 'i-7' })], [text('Paid.')]])
    const agent = guardAgent({
      model,
      tools: { pay },
      classes: {
        pay: {
          replayClass: 'idempotent_with_key',
          idempotencyKey: ({ invoice }) => `pay:${invoice}`,
          keyTtlMs: 60_000,
          retry: { backoffMs: 1 },
        },
      },
    })
    const { text: said } = await agent.run(cf, ids, ({ model, tools }) =>
      sdk.generateText({ model, tools, stopWhen, prompt: 'Pay.' }),
    )
    expect(said).toBe('Paid.')
    expect(seen).toEqual([
      ['pay:i-7', 1, 'c1'],
      ['pay:i-7', 2, 'c1'],
    ])
    expect(callInfo({})).toBeNull()
  })

  test('K2, H1 identical calls of one reply are one call of an unsafe tool', async () => {
    const cf = await opens()
    const { sent, tools, classes } = upstream(major)
    const reply = [
      call('c1', 'send', { to: 'ana' }),
      call('c2', 'send', { to: 'bob' }),
      { ...call('c3', 'send', {}), input: '{ "to": "ana" }' },
      call('c4', 'search', { q: 'x' }),
      call('c5', 'search', { q: 'x' }),
    ]
    const model = scripted(major, [reply, [text('Done.')]])
    const reports: ToolReport[] = []
    const agent = guardAgent({ model, tools, classes, onCall: (r) => void reports.push(r) })
    for (let i = 0; i < 2; i++) {
      const { steps } = await agent.run(cf, ids, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana twice.' }),
      )
      const results = steps[0]?.toolResults ?? []
      const byId = new Map(results.map((r) => [r.toolCallId, r.output]))
      expect(byId.get('c3')).toEqual(byId.get('c1'))
      expect(byId.get('c2')).not.toEqual(byId.get('c1'))
      expect(byId.size).toBe(5)
    }
    expect(sent.sort()).toEqual(['search x', 'search x', 'send ana', 'send bob'])
    expect(await eventsOf(cf, 'collapsed')).toEqual([
      { tool: 'send', callId: '0:c1', standsFor: ['c3'] },
    ])
    const third = reports.filter(({ callId }) => callId === 'c3').map(({ replayed }) => replayed)
    expect(third).toEqual([true, true])
  })

  test('K2, H1 identical calls that are allowed are all made', async () => {
    const cf = await opens()
    const { sent, tools, classes } = upstream(major)
    const reply = [call('c1', 'send', { to: 'ana' }), call('c2', 'send', { to: 'ana' })]
    const model = scripted(major, [reply, [text('Done.')]])
    const allowed = { ...classes, send: { ...classes.send, allowIdentical: true } }
    const agent = guardAgent({ model, tools, classes: allowed })
    for (let i = 0; i < 2; i++) {
      await agent.run(cf, ids, ({ model, tools }) =>
        sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana twice.' }),
      )
    }
    expect(sent).toEqual(['send ana', 'send ana'])
  })

  test('K2 an agent of the AI SDK is given the same model and tools', async () => {
    const cf = await opens()
    const { sent, tools, classes } = upstream(major)
    const agent = guardAgent({ model: scripted(major, mails), tools, classes })
    for (let i = 0; i < 2; i++) {
      const { text: said } = await agent.run(cf, ids, ({ model, tools }) =>
        new sdk.ToolLoopAgent({ model, tools }).generate({ prompt: 'Tell Ana.' }),
      )
      expect(said).toBe('Sent to Ana.')
    }
    expect(sent).toEqual(['search ana', 'send ana'])
  })

  test('K2 a turn that is held elsewhere is waited for', async () => {
    const cf = await opens()
    const { sent, tools, classes } = upstream(major)
    const agent = guardAgent({ model: scripted(major, mails), tools, classes })
    const first = await agent.open(cf, ids)
    const second = agent.run(cf, ids, ({ model, tools }) =>
      sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' }),
    )
    const { model: m, tools: t } = first
    await sdk.generateText({ model: m, tools: t, stopWhen, prompt: 'Tell Ana.' })
    await first.close()
    expect((await second).text).toBe('Sent to Ana.')
    expect(sent).toEqual(['search ana', 'send ana'])
  })

  test('I1, K2 the reply that asks for an unsafe tool is durable before it is sent', async () => {
    const cf = await opens()
    let atSend: string[] = []
    const fate = {
      send: async () => {
        atSend = (await listRecords(cf)).map(({ tool, status }) => `${tool} ${status}`)
        return 'ok'
      },
    }
    const { tools, classes } = upstream(major, fate)
    const agent = guardAgent({ model: scripted(major, mails), tools, classes })
    await agent.run(cf, ids, ({ model, tools }) =>
      sdk.generateText({ model, tools, stopWhen, prompt: 'Tell Ana.' }),
    )
    expect(atSend.sort()).toEqual([
      'model committed',
      'model committed',
      'search committed',
      'send pending',
    ])
  })
})
