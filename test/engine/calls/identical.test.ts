// Two intended identical calls are two calls, each with its own record.
import { expect, test } from 'vitest'
import { RefusedError } from '../../../src/index.ts'
import { fake, flow, Lab } from '../../lab.ts'

test('B1 C5 an identical call twice sends twice; each has its own fate', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const graph = flow([send.tool], async (ctx) => {
    const first = await ctx.call(send.tool, { to: 'ana' })
    const second = await ctx.call(send.tool, { to: 'ana' })
    return [first.id, second.id]
  })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 2 })
  expect(await lab.process(graph, null)).toBe('parked')
  const items = await lab.items()
  expect(items).toHaveLength(1)
  expect(items[0]?.body.subject).toMatchObject({ occurrence: 1, nth: 1 })
  await lab.decide({ outcome: 'happened', result: { id: 'seen' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['send1', 'seen'])
  expect(send.sent).toHaveLength(2)
  expect((await lab.records()).map((row) => [row.occurrence, row.status])).toEqual([
    [0, 'committed'],
    [1, 'committed'],
  ])
})

test('B1 identical calls in parallel keep their own results over a crash', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { ms: (n) => [0, 90, 10, 50][n] ?? 0 })
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const seen: string[][] = []
  const graph = flow([send.tool, nap.tool], async (ctx) => {
    const results = await Promise.all([1, 2, 3].map(() => ctx.call(send.tool, 'same')))
    seen.push(results.map((each) => each.id))
    await ctx.call(nap.tool, 1)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('send', 'committed', 3) })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(seen).toEqual([
    ['send1', 'send2', 'send3'],
    ['send1', 'send2', 'send3'],
  ])
  expect(send.sent).toHaveLength(3)
})

test('B1 oncePerVisit: a second identical call is a hit, at once or later', async () => {
  const lab = new Lab()
  const send = fake(lab, 'send', 'unsafe_on_replay', { oncePerVisit: true })
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const graph = flow([send.tool, nap.tool], async (ctx) => {
    const both = [ctx.call(send.tool, 1), ctx.call(send.tool, 1)]
    const ids = (await Promise.all(both)).map((each) => each.id)
    await ctx.call(nap.tool, 1)
    const third = await ctx.call(send.tool, 1)
    const other = await ctx.call(send.tool, 2)
    return [...ids, third.id, other.id, both.map((each) => each.replayed)]
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('send') })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['send1', 'send1', 'send1', 'send2', [true, true]])
  expect(send.sent.map((each) => each.input)).toEqual([1, 2])
  expect((await lab.records()).filter((row) => row.tool === 'send')).toHaveLength(2)
})

test('B1 oncePerVisit: the hit of a failed call fails alike', async () => {
  const lab = new Lab()
  const does = () => {
    throw new RefusedError('no such address')
  }
  const send = fake(lab, 'send', 'unsafe_on_replay', { oncePerVisit: true, does })
  const graph = flow([send.tool], async (ctx) => {
    const both = await Promise.allSettled([ctx.call(send.tool, 1), ctx.call(send.tool, 1)])
    return both.map((each) => (each.status === 'rejected' ? each.reason.message : 'fine'))
  })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['send: no such address', 'send: no such address'])
  expect(send.sent).toHaveLength(1)
})

test('C9 node code can tell a replayed result from a fresh one, errors included', async () => {
  const lab = new Lab()
  const refusing = () => {
    throw new RefusedError('no')
  }
  const read = fake(lab, 'read', 'pure', { ms: 5 })
  const put = fake(lab, 'put', 'idempotent_with_key')
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const refused = fake(lab, 'refused', 'unsafe_on_replay', { does: refusing })
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const all = [read, put, send, refused, nap]
  const flags: (boolean | undefined)[][] = []
  const graph = flow(
    all.map((each) => each.tool),
    async (ctx) => {
      const seen: (boolean | undefined)[] = []
      flags.push(seen)
      for (const each of all) {
        const call = ctx.call(each.tool, 1)
        expect(call.replayed).toBeUndefined()
        await call.catch(() => {})
        seen.push(call.replayed)
      }
    },
  )
  await lab.process(graph, null, { killWhen: () => lab.durable('refused', 'failed') })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(flags).toEqual([
    [false, false, false, false],
    [true, true, true, true, false],
  ])
})

test('C9 C5 a tool that returns nothing: replayed and fresh the node sees the same', async () => {
  const lab = new Lab()
  const mute = fake<undefined>(lab, 'mute', 'unsafe_on_replay', { does: () => undefined })
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const seen: unknown[] = []
  const graph = flow([mute.tool, nap.tool], async (ctx) => {
    seen.push(await ctx.call(mute.tool, 1))
    await ctx.call(nap.tool, 1)
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('mute') })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(seen).toHaveLength(2)
  expect(seen[1]).toBe(seen[0])
})

test('C5 a result that the node changes is not changed for the replay', async () => {
  const lab = new Lab()
  const read = fake<{ list: number[] }>(lab, 'read', 'pure', { ms: 5, does: () => ({ list: [1] }) })
  const send = fake(lab, 'send', 'unsafe_on_replay')
  const graph = flow([read.tool, send.tool], async (ctx) => {
    const { list } = await ctx.call(read.tool, 1)
    list.push(2)
    return (await ctx.call(send.tool, { list })).id
  })
  await lab.process(graph, null, { killWhen: () => send.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'unknown', body: { input: { list: [1, 2] } } })
})
