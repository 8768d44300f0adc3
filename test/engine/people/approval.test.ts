// ctx.approval: what is shown is what is answered, a decision is made once, and no resume asks
// again. Processes are killed at every event between the question and the end.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Approval, Context } from '../../../src/model/graph/context.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import { canonical, sha256 } from '../../../src/model/json/canonical.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import { atEveryEvent, fake, flow, Lab, work } from '../../lab.ts'

const title = 'Commit?'

/** Asks once and gives the whole answer out. */
function asking(request: object = {}): Graph {
  return flow([], (ctx) => ctx.approval({ title, data: { n: 1 }, ...request }))
}

async function code(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error) => error.code ?? error.message,
  )
}

describe('E1 the four answers', () => {
  const answers = [
    ['approve', undefined, true, { n: 1 }, null],
    ['edit', { n: 2 }, true, { n: 2 }, null],
    ['reject', undefined, false, { n: 1 }, null],
    ['respond', 'which one?', false, { n: 1 }, 'which one?'],
  ] as const

  test.each(answers)('E1 E4 %s', async (outcome, result, approved, data, answer) => {
    const lab = new Lab()
    expect(await lab.process(asking(), null)).toBe('parked')
    const item = await lab.item()
    await lab.decide({ outcome, ...(result === undefined ? {} : { result }) })
    expect(await lab.process(asking(), null)).toBe('ended')
    const said = (await lab.output()) as Approval
    expect(said).toMatchObject({ approved, outcome, data, answer, by: 'tester', reason: 'looked' })
    expect(said.message).toEqual({
      ...{ role: 'human', kind: 'decision', item: item.itemId, outcome, by: 'tester' },
      ...{ reason: 'looked', at: said.at, content: result ?? null },
    })
    expect(await lab.items()).toEqual([])
  })

  test('E1 abandon fails the run, and nothing after the question is done', async () => {
    const lab = new Lab()
    const send = fake(lab, 'send', 'unsafe_on_replay')
    const flowing = flow([send.tool], async (ctx) => {
      await ctx.approval({ title })
      return ctx.call(send.tool, 1)
    })
    await lab.process(flowing, null)
    await lab.decide({ outcome: 'abandon' })
    expect(await lab.state()).toBe('failed')
    expect((await lab.error()).code).toBe('RUN_ABANDONED')
    expect(await lab.process(flowing, null)).toBe('nothing to claim')
    expect(send.sent).toEqual([])
  })
})

describe('E1 what the inbox holds', () => {
  test('E1 E9 D3 queue, title, data, deciders, due time; the worker is released', async () => {
    const lab = new Lab()
    const request = { queue: 'legal', deciders: ['ana', 'bo'], slaMs: 72 * 3_600_000 }
    expect(await lab.process(asking(request), null)).toBe('parked')
    const item = await lab.item()
    expect(item).toMatchObject({ kind: 'approval', queue: 'legal', title, version: 1 })
    expect(item.body.data).toEqual({ n: 1 })
    expect(item.body.approval?.deciders).toEqual(['ana', 'bo'])
    expect(item.dueAt).toBe(item.createdAt + 72 * 3_600_000)
    const run = await lab.run()
    expect(run).toMatchObject({ state: 'waiting_human', workerId: null })
    expect(run.waitingFor).toMatchObject({ kind: 'approval', items: [item.itemId], queue: 'legal' })
  })

  test('E1 a decision is bound to the hash of exactly what was shown', async () => {
    const lab = new Lab()
    await lab.process(asking(), null)
    const { body } = await lab.item()
    const hash = sha256(canonical({ title, data: { n: 1 } }))
    expect(body.approval?.shownHash).toBe(hash)
    await lab.decide({ outcome: 'approve' })
    expect((await lab.decisions())[0]).toMatchObject({ shownHash: hash, outcome: 'approve' })
  })

  test('E1 who may not decide is refused, and the item stays open', async () => {
    const lab = new Lab()
    await lab.process(asking({ deciders: ['ana'] }), null)
    expect(await code(lab.decide({ outcome: 'approve', by: 'bo' }))).toBe('DECISION_FORBIDDEN')
    expect(await code(lab.decide({ outcome: 'abandon', by: 'bo' }))).toBe('DECISION_FORBIDDEN')
    expect(await lab.decisions()).toEqual([])
    await lab.decide({ outcome: 'approve', by: 'ana' })
    expect(await lab.process(asking({ deciders: ['ana'] }), null)).toBe('ended')
    expect(await lab.output()).toMatchObject({ by: 'ana' })
  })

  test('E1 a version that is not the present one is refused', async () => {
    const lab = new Lab()
    await lab.process(asking(), null)
    expect(await code(lab.decide({ outcome: 'approve', version: 2 }))).toBe('ITEM_CHANGED')
    expect(await code(lab.decide({ outcome: 'approve', version: 0 }))).toBe('ITEM_CHANGED')
    expect(await lab.decisions()).toEqual([])
  })

  test('E2 two people at once: one wins, one is told; the same again is no second', async () => {
    const lab = new Lab()
    await lab.process(asking(), null)
    const { itemId, version } = await lab.item()
    const says = (outcome: 'approve' | 'reject', by: string) =>
      lab.inbox.decide(itemId, { outcome, by, reason: 'r', version })
    const both = await Promise.allSettled([says('approve', 'ana'), says('reject', 'bo')])
    expect(both.map((each) => each.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await code(says('reject', 'bo'))).toBe('ITEM_CLOSED')
    expect(await code(says('approve', 'ana'))).toBe('accepted')
    expect(await lab.decisions()).toHaveLength(1)
    await lab.process(asking(), null)
    expect(await lab.output()).toMatchObject({ approved: true, by: 'ana' })
  })

  test('E1 no outcome that makes no sense, and none without what it needs', async () => {
    const lab = new Lab()
    await lab.process(asking(), null)
    for (const outcome of ['happened', 'did_not_happen', 'send', 'fail', 'pin'] as const) {
      expect(await code(lab.decide({ outcome }))).toBe('DECISION_INVALID')
    }
    expect(await code(lab.decide({ outcome: 'edit' }))).toBe('DECISION_INVALID')
    expect(await code(lab.decide({ outcome: 'respond' }))).toBe('DECISION_INVALID')
    expect(await code(lab.decide({ outcome: 'approve', result: 1 }))).toBe('DECISION_INVALID')
    expect(await code(lab.decide({ outcome: 'reject', result: 1 }))).toBe('DECISION_INVALID')
    expect(await lab.items()).toHaveLength(1)
  })
})

describe('E1 edits', () => {
  test('E1 an edit that does not fit is asked for again, with what is shown by then', async () => {
    const lab = new Lab()
    let shown = 0
    // What JSON Schema has no word for can only be checked by the program itself.
    const small = z.object({ n: z.number().refine((n) => n <= 10) })
    const graph = flow([], (ctx) => ctx.approval({ title, data: { n: ++shown }, schema: small }))
    await lab.process(graph, null)
    const first = await lab.item()
    const wrong = lab.decide({ outcome: 'edit', result: { n: 'many' } })
    await expect(wrong).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await lab.decide({ outcome: 'edit', result: { n: 11 } })
    expect(await lab.process(graph, null)).toBe('parked')
    const second = await lab.item()
    expect(second.itemId).not.toBe(first.itemId)
    expect(await lab.events('decision_unusable')).toHaveLength(1)
    await lab.decide({ outcome: 'approve' })
    expect(await lab.process(graph, null)).toBe('ended')
    // What is answered is what the second item showed, however often the code was run since.
    expect(await lab.output()).toMatchObject({ approved: true, data: second.body.data })
    const [, decision] = await lab.decisions()
    expect(await lab.events('decision_unusable')).toHaveLength(1)
    const { data } = (await lab.output()) as Approval
    expect(decision?.shownHash).toBe(sha256(canonical({ title, data })))
  })

  test('E1 what the schema makes of an edit is the answer, also at every replay', async () => {
    const lab = new Lab()
    const doubling = z.object({ n: z.number().transform((n) => n * 2) })
    const hold = fake(lab, 'hold', 'pure', { ms: 1_000 })
    const graph = flow([hold.tool], async (ctx) => {
      const { data, message } = await ctx.approval({ title, schema: doubling })
      for (const n of [1, 2]) await ctx.call(hold.tool, { n, data })
      return [data, message.content]
    })
    await lab.process(graph, null)
    await lab.decide({ outcome: 'edit', result: { n: 3 } })
    const killWhen = () => lab.durable('counterfoil.approval') && hold.sent.length > 1
    expect(await lab.process(graph, null, { killWhen })).toBe('crash')
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toEqual([{ n: 6 }, { n: 3 }])
    expect(hold.sent.map((each) => (each.input as { n: number }).n)).toEqual([1, 2, 2])
  })

  test('C5 an answer that was taken is not checked again by a stricter schema', async () => {
    const lab = new Lab()
    const hold = fake(lab, 'hold', 'pure', { ms: 1_000 })
    let max = 10
    const graph = flow([hold.tool], async (ctx) => {
      const limited = z.object({ n: z.number() }).refine(({ n }) => n <= max)
      const { data } = await ctx.approval({ title, schema: limited })
      for (const n of [1, 2]) await ctx.call(hold.tool, n)
      return data
    })
    await lab.process(graph, null)
    await lab.decide({ outcome: 'edit', result: { n: 7 } })
    const killWhen = () => lab.durable('counterfoil.approval') && hold.sent.length > 1
    expect(await lab.process(graph, null, { killWhen })).toBe('crash')
    max = 5
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toEqual({ n: 7 })
  })

  test('C5 E2 nor is a result that a person gave: what the node has seen stands', async () => {
    const lab = new Lab()
    const hold = fake(lab, 'hold', 'unsafe_on_replay', { ms: 1_000 })
    let max = 10
    const output = z.object({ n: z.number() }).refine(({ n }) => n <= max)
    const send = fake<{ n: number }>(lab, 'send', 'unsafe_on_replay', { ms: 1_000, output })
    const graph = flow([send.tool, hold.tool], async (ctx) => {
      const { n } = await ctx.call(send.tool, 1)
      await ctx.call(hold.tool, 1)
      return n
    })
    await lab.process(graph, null, { killWhen: () => send.sent.length === 1 })
    await lab.process(graph, null)
    await lab.decide({ outcome: 'happened', result: { n: 7 } })
    await lab.process(graph, null, { killWhen: () => hold.sent.length === 1 })
    max = 5
    expect(await lab.process(graph, null)).toBe('parked')
    expect((await lab.item()).body.subject?.tool).toBe('hold')
    await lab.decide({ outcome: 'happened', result: { id: 'h' } })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toBe(7)
  })

  test('I7 an answer whose schema takes its time is not overtaken by a park', async () => {
    const lab = new Lab()
    const send = fake(lab, 'send', 'unsafe_on_replay')
    const slow: Schema = {
      '~standard': {
        version: 1,
        vendor: 'lab',
        validate: async (value) => {
          await work(lab, 300)
          return { value }
        },
      },
    }
    const graph = flow([send.tool], async (ctx) => {
      const first = ctx.approval({ title: 'A?', schema: slow }).then(() => ctx.call(send.tool, 1))
      await Promise.all([first, ctx.approval({ title: 'B?' })])
    })
    await lab.process(graph, null)
    await lab.decide({ outcome: 'edit', result: 'a' })
    expect(await lab.process(graph, null)).toBe('parked')
    expect((await lab.items()).map((each) => each.title)).toEqual(['B?'])
    expect(send.sent).toHaveLength(1)
  })
})

describe('C5 no resume asks again', () => {
  /** Moves its data at every execution. */
  const moving = (lab: Lab, send: ReturnType<typeof fake>) =>
    flow([send.tool], async (ctx: Context) => {
      const { data } = await ctx.approval({ title, data: { at: lab.clock.now() } })
      await ctx.call(send.tool, data)
      return data
    })

  test('E1 C5 killed at every event before the decision: one item, answered as shown', async () => {
    const points = await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const send = fake(lab, 'send', 'unsafe_on_replay')
      const graph = moving(lab, send)
      await lab.process(graph, null, { killWhen: kill.in(lab) })
      await lab.process(graph, null)
      const item = await lab.item()
      expect(await lab.items()).toHaveLength(1)
      await lab.decide({ outcome: 'approve' })
      expect(await lab.process(graph, null)).toBe('ended')
      expect(await lab.output()).toEqual(item.body.data)
      expect(send.sent.map((each) => each.input)).toEqual([item.body.data])
      expect(await lab.events('asked')).toHaveLength(1)
    })
    expect(points).toBeGreaterThan(3)
  })

  test('E1 C5 killed at every event after the decision: not asked again, sent once', async () => {
    const points = await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const send = fake(lab, 'send', 'unsafe_on_replay')
      const graph = moving(lab, send)
      await lab.process(graph, null)
      const item = await lab.item()
      await lab.decide({ outcome: 'approve' })
      const killWhen = kill.in(lab)
      if ((await lab.process(graph, null, { killWhen })) === 'crash') {
        if ((await lab.process(graph, null)) === 'parked') {
          expect(await lab.item()).toMatchObject({ kind: 'doubt', reason: 'unknown' })
          expect((await lab.item()).body.input).toEqual(item.body.data)
          const landed = send.sent.length > 0
          const id = { id: 'send1' }
          await lab.decide(
            landed ? { outcome: 'happened', result: id } : { outcome: 'did_not_happen' },
          )
          expect(await lab.process(graph, null)).toBe('ended')
        }
      }
      expect(await lab.output()).toEqual(item.body.data)
      expect(send.sent.map((each) => each.input)).toEqual([item.body.data])
      expect(await lab.events('asked')).toHaveLength(1)
      expect((await lab.decisions()).filter((row) => row.kind === 'approval')).toHaveLength(1)
      expect(await lab.findings()).toEqual([])
    })
    expect(points).toBeGreaterThan(10)
  })

  test('E9 the wait counts from the first question, over resumes that decide nothing', async () => {
    const lab = new Lab()
    const graph = flow([], async (ctx) =>
      Promise.all([
        ctx.approval({ title: 'A?', slaMs: 1_000 }),
        ctx.approval({ title: 'B?', slaMs: 60_000 }),
      ]),
    )
    await lab.process(graph, null)
    const [a, b] = await lab.items()
    expect((await lab.run()).waitingFor?.since).toBe(a?.createdAt)
    await lab.pass(5_000)
    await lab.wish('pause')
    await lab.pass(5_000)
    await lab.wish('resume')
    expect(await lab.process(graph, null)).toBe('parked')
    expect(await lab.items()).toEqual([a, b])
    expect((await lab.run()).waitingFor?.since).toBe(a?.createdAt)
    expect(a?.dueAt).toBe((a?.createdAt ?? 0) + 1_000)
  })

  test('C3 another title is drift: the person sees what was asked before', async () => {
    const lab = new Lab()
    const hold = fake(lab, 'hold', 'pure', { ms: 1_000 })
    const version = (asked: string) =>
      flow([hold.tool], async (ctx) => {
        const answer = ctx.approval({ title: asked, data: 1 })
        await ctx.call(hold.tool, 1)
        return (await answer).outcome
      })
    const killWhen = () => lab.durable('counterfoil.approval', 'pending')
    expect(await lab.process(version('Old?'), null, { killWhen })).toBe('crash')
    expect(await lab.process(version('New?'), null)).toBe('parked')
    const drift = (await lab.items()).find((each) => each.reason === 'drift')
    expect(drift?.body.unmatched).toMatchObject([{ tool: 'counterfoil.approval' }])
    expect((await lab.items()).filter((each) => each.kind === 'approval')).toHaveLength(1)
  })

  test('I10 a question that a branch has not come to again is not closed by a park', async () => {
    const lab = new Lab()
    const long = fake(lab, 'long', 'unsafe_on_replay', { ms: 2_000 })
    const graph = flow([long.tool], async (ctx) => {
      const later = work(lab, 500).then(() => ctx.approval({ title: 'Late?' }))
      await Promise.all([ctx.approval({ title: 'First?' }), later, ctx.call(long.tool, 1)])
    })
    await lab.process(graph, null)
    const asked = await lab.items()
    expect(asked.map((each) => each.title)).toEqual(['First?', 'Late?'])
    await lab.wish('pause')
    await lab.wish('resume')
    // The long call is over: all that runs now waits, and one branch is behind a raw timer.
    expect(await lab.process(graph, null)).toBe('parked')
    expect(await lab.items()).toEqual(asked)
  })
})

describe('E1 several questions', () => {
  test('E1 parallel branches ask side by side; each answer goes to its own', async () => {
    const lab = new Lab()
    const graph = flow([], async (ctx) => {
      const ask = (data: number) => ctx.approval({ title: 'Same?', data })
      const all = await Promise.all([ask(1), ask(2), ctx.approval({ title: 'Other?', data: 3 })])
      return all.map((each) => [each.data, each.outcome])
    })
    await lab.process(graph, null)
    const items = await lab.items()
    expect(items).toHaveLength(3)
    expect(new Set(items.map((each) => each.itemId)).size).toBe(3)
    for (const item of [...items].reverse()) {
      const outcome = item.body.data === 2 ? 'reject' : 'approve'
      const { itemId, version } = item
      await lab.inbox.decide(itemId, { outcome, by: 'ana', reason: 'r', version })
      await lab.process(graph, null)
    }
    expect(await lab.output()).toEqual([
      [1, 'approve'],
      [2, 'reject'],
      [3, 'approve'],
    ])
    expect(await lab.events('asked')).toHaveLength(3)
  })

  test('E3 the repair loop: rejected, drafted and asked again, at every kill', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const draft = fake(lab, 'draft', 'pure', { does: (_, input) => `draft ${String(input)}` })
      const repair = graph({
        id: 'w@1.0.0',
        state: z.object({ round: z.number(), draft: z.string(), notes: z.array(z.string()) }),
        output: z.object({ draft: z.string(), notes: z.array(z.string()) }),
        tools: [draft.tool],
        start: 'write',
        nodes: {
          write: async (state, ctx) => {
            const text = await ctx.call(draft.tool, state.round)
            return ctx.go('approve', { draft: text as unknown as string })
          },
          approve: async (state, ctx) => {
            const answer = await ctx.approval({ title, data: state.draft })
            if (answer.approved) {
              return ctx.done({ draft: String(answer.data), notes: [...state.notes] })
            }
            const notes = [...state.notes, answer.message.reason]
            return ctx.go('write', { round: state.round + 1, notes })
          },
        },
      }) as Graph
      const input = { round: 1, draft: '', notes: [] }
      await lab.process(repair, input)
      await lab.decide({ outcome: 'reject', reason: 'too long' })
      await lab.process(repair, input, { killWhen: kill.in(lab) })
      await lab.process(repair, input)
      expect((await lab.item()).body.data).toBe('draft 2')
      await lab.decide({ outcome: 'reject', reason: 'too short' })
      expect(await lab.process(repair, input)).toBe('parked')
      await lab.decide({ outcome: 'approve' })
      expect(await lab.process(repair, input)).toBe('ended')
      expect(await lab.output()).toEqual({ draft: 'draft 3', notes: ['too long', 'too short'] })
      expect(await lab.events('asked')).toHaveLength(3)
      expect(await lab.findings()).toEqual([])
      const items = (await lab.inbox.list({ state: 'decided' })).items
      expect(new Set(items.map((each) => each.itemId)).size).toBe(3)
    })
  })
})
