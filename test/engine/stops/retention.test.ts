// Retention seen from the runs: a live one misses nothing, an ended one is never begun again (B6).
import { expect, test } from 'vitest'
import * as limits from '../../../src/model/limits.ts'
import { fake, flow, Lab } from '../../lab.ts'

const DAY = 24 * 3_600_000

test('B6 C8 of a run taken whole the id stays: a repeated start repeats nothing', async () => {
  const lab = new Lab()
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const graph = flow([mail.tool], (ctx) => ctx.call(mail.tool, {}))
  await lab.start(graph)
  await lab.serve([graph])
  expect((await lab.records()).length).toBe(1)
  await lab.pass(91 * DAY)
  expect(await lab.store.retain(limits.retention, limits.retainBatchMax)).toBe(1)
  expect(await lab.records()).toEqual([])
  // A queue that delivers three months later.
  await lab.start(graph)
  await lab.serve([graph])
  expect(await lab.state()).toBe('completed')
  expect(mail.sent.length).toBe(1)
})

test('B6 D3 asleep for longer than anything is kept, a run finds its records', async () => {
  const lab = new Lab()
  const read = fake(lab, 'read', 'pure')
  const mail = fake(lab, 'mail', 'unsafe_on_replay')
  const graph = flow([read.tool, mail.tool], async (ctx) => {
    const [first, sent] = [await ctx.call(read.tool, {}), await ctx.call(mail.tool, {})]
    await ctx.sleep(200 * DAY)
    return [first.id, sent.id]
  })
  await lab.start(graph)
  await lab.serve([graph])
  await lab.pass(199 * DAY)
  expect(await lab.store.retain(limits.retention, limits.retainBatchMax)).toBe(0)
  await lab.pass(DAY)
  await lab.serve([graph])
  expect(await lab.output()).toEqual(['read1', 'mail1'])
  expect([read.sent.length, mail.sent.length]).toEqual([1, 1])
})

test('B6 a callback after its run was taken is told so, and changes nothing', async () => {
  const lab = new Lab()
  const tokens: string[] = []
  const order = fake(lab, 'order', 'unsafe_on_replay', {
    callbackMs: DAY,
    does: (_n, _input, call) => void tokens.push(call.defer()),
  })
  const graph = flow([order.tool], (ctx) => ctx.call(order.tool, {}))
  await lab.start(graph)
  await lab.serve([graph])
  await lab.wish('cancel', { dead: true })
  await lab.pass(91 * DAY)
  expect(await lab.store.retain(limits.retention, limits.retainBatchMax)).toBe(1)
  const late = lab.callbacks().settle(tokens[0] ?? '', {})
  await expect(late).rejects.toMatchObject({ code: 'CALLBACK_UNKNOWN' })
  expect(await lab.state()).toBe('cancelled')
})

test('B6 a cancelled run keeps the record of a call whose outcome nobody knows', async () => {
  const lab = new Lab()
  const read = fake(lab, 'read', 'pure')
  const order = fake(lab, 'order', 'idempotent_with_key', {
    callbackMs: DAY,
    does: (_n, _input, call) => void call.defer(),
  })
  const graph = flow([read.tool, order.tool], async (ctx) => {
    await ctx.call(read.tool, {})
    return ctx.call(order.tool, {})
  })
  await lab.start(graph)
  await lab.serve([graph])
  await lab.wish('cancel', { dead: true })
  await lab.pass(20 * DAY)
  expect(await lab.store.retain(limits.retention, limits.retainBatchMax)).toBe(1)
  const left = (await lab.records()).map(({ tool, status }) => [tool, status])
  expect(left).toEqual([['order', 'pending']])
})
