// The run document (D7): what the model's context is rebuilt from, as the state and the ledger say
// it; and the six beats, each said once however often its node is replayed.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readDocument } from '../../../src/client/run/document.ts'
import { RefusedError } from '../../../src/model/errors.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import type { RunDocument } from '../../../src/model/run/document.ts'
import type { Run } from '../../../src/model/run/records.ts'
import { beats } from '../../../src/model/tool/tool.ts'
import { type FakeOptions, fake, Lab, work } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }

async function documentOf(lab: Lab, made: Graph): Promise<RunDocument> {
  const run = (await lab.store.getRun(ref)) as Run
  return readDocument({ store: lab.store, graphs: new Map([[made.id, made]]) }, run)
}

const State = z.object({
  contract: z.object({ goal: z.string(), definitionOfDone: z.array(z.string()) }),
  plan: z.array(z.string()).default([]),
  messages: z.array(z.any()).default([]),
  memory: z.array(z.string()).default([]),
  threadId: z.string().optional(),
  promptHash: z.string().optional(),
})

const start = {
  contract: { goal: 'write to ana', definitionOfDone: ['she has answered'] },
  threadId: 'thread-7',
  promptHash: 'sha256:1',
}

const priced: FakeOptions = { usage: () => ({ tokensIn: 100, tokensOut: 20, usd: 0.25 }) }

function makeAgent(lab: Lab, assembleContext?: (document: unknown) => unknown) {
  const model = fake(lab, 'model', 'pure', { ...priced, beat: 'reason' })
  const mail = fake(lab, 'mail', 'unsafe_on_replay', {
    beat: 'act',
    externalId: (result: unknown) => (result as { id: string }).id,
  })
  const contexts: unknown[] = []
  const agent = graph({
    id: 'w@1.0.0',
    state: State,
    tools: [model.tool, mail.tool],
    start: 'plan',
    nodes: {
      plan: async (_, ctx) => {
        ctx.beat('plan', { steps: 2 })
        const { id } = await ctx.call(model.tool, { what: 'plan' })
        return ctx.go('act', { plan: [id], messages: [{ role: 'assistant', content: id }] })
      },
      act: async (state, ctx) => {
        contexts.push(await ctx.context())
        const { id } = await ctx.call(mail.tool, { to: 'ana' })
        ctx.beat('observe')
        return ctx.go('learn', { messages: [...state.messages, { role: 'tool', content: id }] })
      },
      learn: async (_, ctx) => {
        ctx.beat('learn')
        await ctx.call(model.tool, { what: 'sum up' })
        return ctx.go('ask', { memory: ['blob:1'] })
      },
      ask: async (_, ctx) => ctx.done((await ctx.approval({ title: 'Done?' })).message.outcome),
    },
    ...(assembleContext ? { assembleContext } : {}),
  }) as Graph
  return { agent, model, mail, contexts }
}

describe('D7 the document', () => {
  test('D7 says everything that the run is made of', async () => {
    const lab = new Lab()
    const { agent } = makeAgent(lab)
    await lab.process(agent, start)
    const document = await documentOf(lab, agent)
    const run = (await lab.store.getRun(ref)) as Run
    expect(document).toMatchObject({
      runId: 'lab',
      traceId: run.traceId,
      threadId: 'thread-7',
      agentVersion: 'w@1.0.0',
      promptHash: 'sha256:1',
      contract: start.contract,
      plan: ['model1'],
      cursor: { node: 'ask', visit: 4, state: 'waiting_human' },
      memory: ['blob:1'],
      messages: [
        { role: 'assistant', content: 'model1' },
        { role: 'tool', content: 'mail1' },
      ],
      pendingCalls: [],
      budget: { tokensIn: 200, tokensOut: 40, usd: 0.5, calls: 3 },
      decisions: [],
      waitingFor: { kind: 'approval', queue: 'default' },
    })
    expect(document.completed.map((step) => [step.node, step.tool])).toEqual([
      ['plan', 'model'],
      ['act', 'mail'],
      ['learn', 'model'],
    ])
    const spans = document.completed.map((step) => step.evidence.span)
    expect(new Set(spans).size).toBe(3)
    expect(document.sideEffects).toMatchObject([
      {
        tool: 'mail',
        input: { to: 'ana' },
        replayClass: 'unsafe_on_replay',
        evidence: { externalId: 'mail1' },
      },
    ])
    await lab.decide({ outcome: 'approve' })
    await lab.process(agent, start)
    const after = await documentOf(lab, agent)
    expect(after.decisions).toMatchObject([{ outcome: 'approve', by: 'tester', reason: 'looked' }])
    expect(after).toMatchObject({ waitingFor: null, cursor: { state: 'completed' } })
  })

  test('D7 a call that nobody knows the end of is pending, and counts for nothing', async () => {
    const lab = new Lab()
    const { agent, mail } = makeAgent(lab)
    await lab.process(agent, start, { killWhen: () => mail.sent.length === 1 })
    expect((await documentOf(lab, agent)).pendingCalls).toMatchObject([
      { node: 'act', tool: 'mail', status: 'pending', attempt: 1 },
    ])
    await lab.process(agent, start)
    const document = await documentOf(lab, agent)
    expect(document.pendingCalls).toMatchObject([{ tool: 'mail', status: 'in_doubt' }])
    expect(document.sideEffects).toEqual([])
    expect(document.budget.calls).toBe(1)
    expect(document.waitingFor).toMatchObject({ kind: 'doubt' })
  })

  test('D7 the usage of replayed calls is counted once, of refused ones not at all', async () => {
    const lab = new Lab()
    const does = (n: number) => {
      if (n === 2) throw new RefusedError('too long')
      return { id: `model${n}` }
    }
    const model = fake(lab, 'model', 'pure', { ...priced, does })
    const agent = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      tools: [model.tool],
      start: 'think',
      nodes: {
        think: async (_, ctx) => {
          for (const n of [1, 2, 3]) await ctx.call(model.tool, { n }).catch(() => {})
          await ctx.ask({ title: 'More?' })
          return ctx.done()
        },
      },
    }) as Graph
    await lab.process(agent, {})
    await lab.decide({ outcome: 'respond', result: 'yes' })
    await lab.process(agent, {})
    expect(model.sent.length).toBe(3)
    const { budget } = await documentOf(lab, agent)
    expect(budget).toEqual({ tokensIn: 200, tokensOut: 40, usd: 0.5, calls: 2 })
  })

  test('D7 a tool that cannot tell its cost, or tells nonsense, costs nothing', async () => {
    const lab = new Lab()
    const tells = [
      () => ({ tokensIn: Number.NaN, tokensOut: 3 }),
      () => {
        throw new Error('cannot tell')
      },
      () => undefined as never,
    ]
    const tools = tells.map((usage, i) => fake(lab, `t${i}`, 'pure', { usage: usage as never }))
    const agent = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      tools: tools.map((one) => one.tool),
      start: 'all',
      nodes: {
        all: async (_, ctx) => {
          for (const one of tools) await ctx.call(one.tool, {})
          return ctx.done()
        },
      },
    }) as Graph
    await lab.process(agent, {})
    const { budget } = await documentOf(lab, agent)
    expect(budget).toEqual({ tokensIn: 0, tokensOut: 3, usd: 0, calls: 3 })
  })

  test("B8 D7 rows that do not verify are nobody's evidence", async () => {
    const lab = new Lab()
    const { agent } = makeAgent(lab)
    await lab.process(agent, start)
    const { store } = lab
    const forged = {
      ...store,
      listRecords: async (...args: Parameters<typeof store.listRecords>) => {
        const page = await store.listRecords(...args)
        const items = page.items.map((row) => ({ ...row, verifies: row.tool !== 'mail' }))
        return { ...page, items }
      },
    }
    const run = (await store.getRun(ref)) as Run
    const document = await readDocument({ store: forged, graphs: new Map() }, run)
    expect(document.completed.map((step) => step.tool)).toEqual(['model', 'model'])
    expect(document.sideEffects).toEqual([])
  })

  test('D7 a graph may say itself what its state means', async () => {
    const lab = new Lab()
    const agent = graph({
      id: 'w@1.0.0',
      state: z.object({ todo: z.array(z.string()), chat: z.array(z.string()) }),
      start: 'end',
      nodes: { end: async (_, ctx) => ctx.done() },
      document: (state) => ({ plan: state.todo, messages: state.chat, contract: { goal: 'g' } }),
    }) as Graph
    await lab.process(agent, { todo: ['a'], chat: ['hello'] })
    expect(await documentOf(lab, agent)).toMatchObject({
      plan: ['a'],
      messages: ['hello'],
      contract: { goal: 'g', definitionOfDone: null },
      memory: null,
    })
  })

  test('D7 all records of a long run are in it', async () => {
    const lab = new Lab()
    const look = fake(lab, 'look', 'pure', { ms: 0 })
    const agent = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      tools: [look.tool],
      start: 'all',
      nodes: {
        all: async (_, ctx) => {
          const calls = Array.from({ length: 1_203 }, (_each, n) => ctx.call(look.tool, { n }))
          await Promise.all(calls)
          const { completed } = (await ctx.context()) as RunDocument
          return ctx.done(completed.length)
        },
      },
    }) as Graph
    await lab.process(agent, {})
    expect(await lab.output()).toBe(1_203)
    expect((await documentOf(lab, agent)).budget.calls).toBe(1_203)
  })
})

describe('D7 the context', () => {
  test('D7 is the document itself where the graph has no hook', async () => {
    const lab = new Lab()
    const { agent, contexts } = makeAgent(lab)
    await lab.process(agent, start)
    expect(contexts).toMatchObject([
      {
        cursor: { node: 'act', visit: 2, state: 'running' },
        plan: ['model1'],
        completed: [{ tool: 'model' }],
        sideEffects: [],
      },
    ])
  })

  test('D7 is what the hook makes of it, and a replay gets the same again', async () => {
    const lab = new Lab()
    let asked = 0
    const { agent, mail, contexts } = makeAgent(lab, (document) => {
      const { contract, plan } = document as RunDocument
      return { prompt: `${contract.goal}: ${plan}`, asked: ++asked }
    })
    await lab.process(agent, start, { killWhen: () => mail.sent.length === 1 })
    await lab.process(agent, start)
    expect(asked).toBe(1)
    expect(contexts).toEqual([
      { prompt: 'write to ana: model1', asked: 1 },
      { prompt: 'write to ana: model1', asked: 1 },
    ])
  })

  test('D7 a hook that fails, fails the call and not the process', async () => {
    const lab = new Lab()
    const { agent } = makeAgent(lab, () => {
      throw new Error('no room')
    })
    await lab.process(agent, start)
    expect(await lab.state()).toBe('failed')
    expect((await lab.error()).message).toMatch(/counterfoil\.context: no room/)
    expect(await saidBeats(lab)).not.toContain('context')
  })
})

async function saidBeats(lab: Lab): Promise<unknown[]> {
  return (await lab.events('beat')).map((event) => event.data['beat'])
}

describe('D7 the six beats', () => {
  test('D7 are lines of the history, by call and by hand, each with its data', async () => {
    const lab = new Lab()
    const { agent } = makeAgent(lab)
    await lab.process(agent, start)
    const said = await saidBeats(lab)
    expect(said).toEqual(['plan', 'reason', 'context', 'act', 'observe', 'learn', 'reason'])
    expect(new Set(said)).toEqual(new Set(beats))
    const events = await lab.events('beat')
    expect(events[0]?.data).toEqual({ beat: 'plan', data: { steps: 2 } })
    expect(events[1]?.data).toEqual({ beat: 'reason', tool: 'model' })
  })

  test('D7 are said once, at whatever moment the process dies', async () => {
    const whole = new Lab()
    await whole.process(makeAgent(whole).agent, start)
    const beatsOf = async (lab: Lab) => (await saidBeats(lab)).sort()
    for (let moment = 1; moment <= whole.clock.events; moment++) {
      const lab = new Lab()
      // A hook that takes its time: the process may die while it thinks.
      const slow = async () => {
        await work(lab, 30)
        return 'context'
      }
      const { agent } = makeAgent(lab, slow)
      await lab.process(agent, start, { killWhen: () => lab.clock.events >= moment })
      await lab.process(agent, start)
      if ((await lab.items())[0]?.kind === 'doubt') {
        await lab.decide({ outcome: 'happened', result: { id: 'mail1' } })
        await lab.process(agent, start)
        // The act itself was in flight when the process died: its beat died with it.
        const rest = (await beatsOf(whole)).filter((beat) => beat !== 'act')
        expect(await beatsOf(lab), `killed at ${moment}`).toEqual(rest)
      } else expect(await beatsOf(lab), `killed at ${moment}`).toEqual(await beatsOf(whole))
    }
  })

  test('D7 one that is none is refused', async () => {
    const lab = new Lab()
    const agent = graph({
      id: 'w@1.0.0',
      state: z.object({}),
      start: 'a',
      nodes: {
        a: async (_, ctx) => {
          ctx.beat('rest' as 'plan')
          return ctx.done()
        },
      },
    }) as Graph
    await lab.process(agent, {})
    expect((await lab.error()).message).toMatch(/"rest" is not one of plan, context, reason, act/)
  })
})
