// Resumed code that asks for something else than was recorded: nothing is sent, a person decides.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool, workflow } from '../../../src/index.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import { fake, flow, Lab, work } from '../../lab.ts'

/** Other waiting: what came before it is written by itself. */
function napOf(lab: Lab) {
  return fake(lab, 'nap', 'pure', { ms: 500 })
}

function mailer(lab: Lab) {
  const sent: string[] = []
  const send = tool({
    name: 'send_email',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string(), at: z.number().optional() }),
    run: async ({ to }) => {
      sent.push(to)
      await work(lab, 50)
      return { id: `m${sent.length}` }
    },
  })
  return { sent, send }
}

test('C2 a timestamp in the input: one send, one question, and its answer holds', async () => {
  const lab = new Lab()
  const { sent, send } = mailer(lab)
  const graph = workflow({
    id: 'w@1.0.0',
    input: z.null(),
    tools: [send],
    run: async (_, ctx) => {
      const first = await ctx.call(send, { to: 'ana', at: lab.clock.now() })
      const second = await ctx.call(send, { to: 'bob' })
      return [first.id, second.id]
    },
  }) as Graph
  expect(await lab.process(graph, null, { killWhen: () => sent.length === 1 })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  const item = await lab.item()
  expect(item.reason).toBe('drift')
  expect(item.body.unmatched).toHaveLength(1)
  expect(sent).toEqual(['ana'])
  await lab.decide({ outcome: 'use_record', result: { id: 'm1' } })
  expect(await lab.process(graph, null, { killWhen: () => sent.length === 2 })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).body.subject?.nth).toBe(1)
  await lab.decide({ outcome: 'happened', result: { id: 'm2' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['m1', 'm2'])
  expect(sent).toEqual(['ana', 'bob'])
})

test('C2 a changed prompt: a cache by input would send again; both inputs are shown', async () => {
  const lab = new Lab()
  const plan = fake<string>(lab, 'plan', 'pure', {
    ms: 5,
    does: (_n, input) => `draft for ${(input as { prompt: string }).prompt}`,
  })
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const version = (prompt: string) =>
    flow([plan.tool, send.tool], async (ctx) => {
      const body = await ctx.call(plan.tool, { prompt })
      return (await ctx.call(send.tool, { body })).id
    })
  await lab.process(version('old'), null, { killWhen: () => send.sent.length === 1 })
  expect(await lab.process(version('new'), null)).toBe('parked')
  const item = await lab.item()
  expect(item).toMatchObject({ reason: 'drift', body: { input: { body: 'draft for new' } } })
  expect(item.body.unmatched).toMatchObject([
    { tool: 'send', input: { body: 'draft for old' }, status: 'pending' },
  ])
  expect(send.sent).toHaveLength(1)
  expect(plan.sent).toHaveLength(2)
  await expect(lab.decide({ outcome: 'use_record' })).rejects.toMatchObject({
    code: 'DECISION_INVALID',
  })
  await lab.decide({ outcome: 'use_record', result: { id: 'seen' } })
  expect(await lab.process(version('newer'), null)).toBe('ended')
  expect(await lab.output()).toBe('seen')
  expect(send.sent).toHaveLength(1)
})

test('C2 a call dropped by new code: the run ends only when its record is retired', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const old = flow([a.tool, b.tool], async (ctx) => {
    await ctx.call(a.tool, 1)
    return (await ctx.call(b.tool, 1)).id
  })
  const dropped = flow([a.tool, b.tool], async (ctx) => (await ctx.call(b.tool, 1)).id)
  await lab.process(old, null, { killWhen: () => b.sent.length === 1 })
  expect(await lab.process(dropped, null)).toBe('parked')
  await lab.decide({ outcome: 'happened', result: { id: 'b1' } })
  expect(await lab.process(dropped, null)).toBe('parked')
  const item = await lab.item()
  expect(item).toMatchObject({ reason: 'drift', body: { subject: null } })
  expect(item.body.unmatched).toMatchObject([
    { tool: 'a', status: 'committed', result: { id: 'a1' } },
  ])
  for (const outcome of ['send', 'fail', 'use_record'] as const) {
    await expect(lab.decide({ outcome })).rejects.toMatchObject({ code: 'DECISION_INVALID' })
  }
  await lab.decide({ outcome: 'retire_record' })
  expect(await lab.process(dropped, null)).toBe('ended')
  expect(await lab.output()).toBe('b1')
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
})

test('C2 a retired record holds nothing up, and still answers its own call', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const c = fake(lab, 'c', 'unsafe_on_replay')
  const nap = napOf(lab)
  const tools = [a.tool, b.tool, c.tool, nap.tool]
  const old = flow(tools, async (ctx) => {
    await ctx.call(a.tool, 1)
    await ctx.call(nap.tool, 1)
    return (await ctx.call(b.tool, 1)).id
  })
  const changed = flow(tools, async (ctx) => (await ctx.call(c.tool, 1)).id)
  const back = flow(tools, async (ctx) => {
    const first = await ctx.call(a.tool, 1)
    return [first.id, (await ctx.call(c.tool, 1)).id]
  })
  await lab.process(old, null, { killWhen: () => lab.durable('a') })
  await lab.process(changed, null)
  expect((await lab.item()).body).toMatchObject({ subject: { tool: 'c' } })
  await lab.decide({ outcome: 'retire_record' })
  await lab.process(changed, null, { killWhen: () => lab.durable('c', 'pending') })
  expect(await lab.process(back, null)).toBe('parked')
  await lab.decide({ outcome: 'happened', result: { id: 'c!' } })
  expect(await lab.process(back, null)).toBe('ended')
  expect(await lab.output()).toEqual(['a1', 'c!'])
  expect(a.sent).toHaveLength(1)
})

test('C2 I11 a call added before recorded ones: `send` sends it once for all resumes', async () => {
  const lab = new Lab()
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const added = fake(lab, 'added', 'unsafe_on_replay')
  const tools = [added.tool, b.tool]
  const old = flow(tools, async (ctx) => (await ctx.call(b.tool, 1)).id)
  const next = flow(tools, async (ctx) => {
    // Its input moves at every resume: the answer has to bind to the place.
    const first = await ctx.call(added.tool, { at: lab.clock.now() })
    return [first.id, (await ctx.call(b.tool, 1)).id]
  })
  await lab.process(old, null, { killWhen: () => b.sent.length === 1 })
  expect(await lab.process(next, null)).toBe('parked')
  expect(added.sent).toHaveLength(0)
  expect(await lab.item()).toMatchObject({ reason: 'drift', body: { subject: { tool: 'added' } } })
  await lab.decide({ outcome: 'send' })
  expect(await lab.process(next, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'unknown', body: { subject: { tool: 'b' } } })
  expect(added.sent).toHaveLength(1)
  await lab.decide({ outcome: 'happened', result: { id: 'b1' } })
  expect(await lab.process(next, null)).toBe('ended')
  expect(await lab.output()).toEqual(['added1', 'b1'])
  expect([added.sent.length, b.sent.length]).toEqual([1, 1])
})

test('I11 `send` is consumed with the new intent: a crash right after it asks', async () => {
  const lab = new Lab()
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const added = fake(lab, 'added', 'unsafe_on_replay')
  const nap = napOf(lab)
  const tools = [added.tool, b.tool, nap.tool]
  const old = flow(tools, async (ctx) => {
    await ctx.call(b.tool, 1)
    await ctx.call(nap.tool, 1)
  })
  const next = flow(tools, async (ctx) => {
    const first = await ctx.call(added.tool, { at: lab.clock.now() })
    return [first.id, (await ctx.call(b.tool, 1)).id]
  })
  await lab.process(old, null, { killWhen: () => lab.durable('b') })
  await lab.process(next, null)
  await lab.decide({ outcome: 'send' })
  // The intent never reaches the store: the allowance is still there.
  let asked = false
  const lost = async () => {
    asked = true
    return new Promise<never>(() => {})
  }
  await lab.process(next, null, { commit: lost, killWhen: () => asked })
  expect((await lab.decisions())[0]?.usedBy).toBeNull()
  // Now it does, and the process dies before it could send.
  const killWhen = () => lab.durable('added', 'pending')
  expect(await lab.process(next, null, { killWhen })).toBe('crash')
  const commit = lab.commits.find((each) => each.changes.records?.some((r) => r.tool === 'added'))
  expect(commit?.changes.decisions?.[0]?.usedBy).toMatch(/added/)
  expect(added.sent).toHaveLength(0)
  expect(await lab.process(next, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({
    reason: 'unknown',
    body: { subject: { tool: 'added' } },
  })
  await lab.decide({ outcome: 'did_not_happen' })
  expect(await lab.process(next, null)).toBe('ended')
  expect(added.sent).toHaveLength(1)
  expect(b.sent).toHaveLength(1)
})

test('I11 a used `send` is no allowance for another call that comes to its place', async () => {
  const lab = new Lab()
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const x = fake(lab, 'x', 'unsafe_on_replay')
  const nap = napOf(lab)
  const tools = [b.tool, x.tool, nap.tool]
  const old = flow(tools, async (ctx) => {
    await ctx.call(b.tool, 1)
    await ctx.call(nap.tool, 1)
  })
  const version = (...inputs: string[]) =>
    flow(tools, async (ctx) => {
      for (const input of inputs) await ctx.call(x.tool, input)
      await ctx.call(nap.tool, 1)
    })
  await lab.process(old, null, { killWhen: () => lab.durable('b') })
  for (let n = 0; n < 2; n++) {
    expect(await lab.process(version('p', 'q'), null)).toBe('parked')
    await lab.decide({ outcome: 'send' })
  }
  const killWhen = () => lab.durable('x', 'committed', 2)
  expect(await lab.process(version('p', 'q'), null, { killWhen })).toBe('crash')
  expect(x.sent.map((each) => each.input)).toEqual(['p', 'q'])
  // The record of the second place now answers the first; the second asks for something new.
  expect(await lab.process(version('q', 'z'), null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'drift', body: { input: 'z' } })
  expect(x.sent).toHaveLength(2)
})

test('C2 reordered calls find their own records: nothing is sent or asked twice', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const order = (first: typeof a, second: typeof a) =>
    flow([a.tool, b.tool], async (ctx) => {
      const one = await ctx.call(first.tool, 1)
      return [one.id, (await ctx.call(second.tool, 1)).id]
    })
  await lab.process(order(a, b), null, { killWhen: () => b.sent.length === 1 })
  expect(await lab.process(order(b, a), null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'unknown', body: { subject: { tool: 'b' } } })
  await lab.decide({ outcome: 'happened', result: { id: 'b1' } })
  expect(await lab.process(order(b, a), null)).toBe('ended')
  expect(await lab.output()).toEqual(['b1', 'a1'])
  expect([a.sent.length, b.sent.length]).toEqual([1, 1])
})

test('C2 reordered before the second was sent: the call without a record asks', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const nap = napOf(lab)
  const old = flow([a.tool, b.tool, nap.tool], async (ctx) => {
    await ctx.call(a.tool, 1)
    await ctx.call(nap.tool, 1)
  })
  const next = flow([a.tool, b.tool], async (ctx) => {
    const one = await ctx.call(b.tool, 1)
    return [one.id, (await ctx.call(a.tool, 1)).id]
  })
  await lab.process(old, null, { killWhen: () => lab.durable('a') })
  expect(await lab.process(next, null)).toBe('parked')
  expect(b.sent).toHaveLength(0)
  await lab.decide({ outcome: 'send' })
  expect(await lab.process(next, null)).toBe('ended')
  expect(await lab.output()).toEqual(['b1', 'a1'])
  expect(a.sent).toHaveLength(1)
})

test('C2 use_record of a committed record answers its place from then on', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const b = fake(lab, 'b', 'unsafe_on_replay')
  const nap = napOf(lab)
  const graph = flow([a.tool, b.tool, nap.tool], async (ctx) => {
    const first = await ctx.call(a.tool, { at: lab.clock.now() })
    await ctx.call(nap.tool, 1)
    return [first.id, (await ctx.call(b.tool, first.id)).id]
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('a') })
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.decide({ outcome: 'use_record' })
  expect(await lab.process(graph, null, { killWhen: () => b.sent.length === 1 })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'unknown', body: { subject: { tool: 'b' } } })
  await lab.decide({ outcome: 'happened', result: { id: 'b1' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['a1', 'b1'])
  expect(a.sent).toHaveLength(1)
})

test('C2 of two unmatched records the person names one; a stranger is refused', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const nap = napOf(lab)
  const old = flow([a.tool, nap.tool], async (ctx) => {
    await ctx.call(a.tool, 'x')
    await ctx.call(a.tool, 'y')
    await ctx.call(nap.tool, 1)
  })
  const next = flow([a.tool], async (ctx) => {
    const first = await ctx.call(a.tool, 'q')
    return [first.id, (await ctx.call(a.tool, 'x')).id]
  })
  await lab.process(old, null, { killWhen: () => lab.durable('a', 'committed', 2) })
  expect(await lab.process(next, null)).toBe('parked')
  const { body } = await lab.item()
  expect(body.unmatched.map((each) => each.input)).toEqual(['x', 'y'])
  await expect(lab.decide({ outcome: 'use_record' })).rejects.toThrow(/record/)
  const stranger = { tool: 'a', inputHash: 'no such', occurrence: 0 }
  await expect(lab.decide({ outcome: 'use_record', record: stranger })).rejects.toThrow(/record/)
  await lab.decide({ outcome: 'use_record', record: body.unmatched[1] as typeof stranger })
  expect(await lab.process(next, null)).toBe('ended')
  expect(await lab.output()).toEqual(['a2', 'a1'])
  expect(a.sent.map((each) => each.input).filter((input) => input === 'q')).toEqual([])
})

test('C2 fail of a drift throws, sends nothing; the record still needs a person', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const nap = napOf(lab)
  const graph = flow([a.tool, nap.tool], async (ctx) => {
    try {
      await ctx.call(a.tool, { at: lab.clock.now() })
      return await ctx.call(nap.tool, 1)
    } catch (error) {
      return (error as { code: string }).code
    }
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('a') })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'fail' })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'drift', body: { subject: null } })
  await lab.decide({ outcome: 'retire_record' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('CALL_FAILED')
  expect(a.sent).toHaveLength(1)
})

test('C2 D1 abandon of a drift fails the run; none of its code is executed again', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const nap = napOf(lab)
  let starts = 0
  const graph = flow([a.tool, nap.tool], async (ctx) => {
    starts++
    await ctx.call(a.tool, { at: lab.clock.now() })
    await ctx.call(nap.tool, 1)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('a') })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'abandon' })
  expect(await lab.state()).toBe('failed')
  expect(await lab.error()).toMatchObject({ code: 'RUN_ABANDONED' })
  expect(await lab.process(graph, null)).toBe('nothing to claim')
  expect([starts, a.sent.length]).toEqual([2, 1])
  expect(await lab.items()).toEqual([])
})

test('C2 an undecided drift is the same item again; a moved input raises its version', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const slow = fake(lab, 'slow', 'pure', { ms: 2_000 })
  const graph = flow([a.tool, slow.tool], async (ctx) => {
    const all = [ctx.call(a.tool, { at: lab.clock.now() }), ctx.call(slow.tool, 1)]
    return (await Promise.all(all)).map((each) => each.id)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('a') })
  // The item is durable while the slow call keeps the visit from parking; then the process dies.
  const itemDurable = () => lab.commits.some((commit) => commit.changes.items !== undefined)
  expect(await lab.process(graph, null, { killWhen: itemDurable })).toBe('crash')
  const first = await lab.item()
  expect(await lab.process(graph, null)).toBe('parked')
  const items = await lab.items()
  expect(items).toHaveLength(1)
  expect(items[0]?.itemId).toBe(first.itemId)
  expect(items[0]?.version).toBe(first.version + 1)
  expect(items[0]?.body.input).not.toEqual(first.body.input)
  const looked = { outcome: 'use_record' as const, version: first.version }
  await expect(lab.decide(looked)).rejects.toMatchObject({ code: 'ITEM_CHANGED' })
  await lab.decide({ outcome: 'use_record' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(a.sent).toHaveLength(1)
})

test('C2 a question added before a recorded call: `send` asks and answers nothing', async () => {
  const lab = new Lab()
  const a = fake(lab, 'a', 'unsafe_on_replay')
  const nap = napOf(lab)
  const old = flow([a.tool, nap.tool], async (ctx) => {
    await ctx.call(a.tool, 1)
    await ctx.call(nap.tool, 1)
  })
  const next = flow([a.tool], async (ctx) => {
    const said = await ctx.ask({ title: 'Shall I?' })
    return [said?.answer, (await ctx.call(a.tool, 1)).id]
  })
  await lab.process(old, null, { killWhen: () => lab.durable('a') })
  expect(await lab.process(next, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'drift' })
  await lab.decide({ outcome: 'send' })
  expect(await lab.process(next, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ kind: 'question', title: 'Shall I?' })
  await lab.decide({ outcome: 'respond', result: 'yes' })
  expect(await lab.process(next, null)).toBe('ended')
  expect(await lab.output()).toEqual(['yes', 'a1'])
})
