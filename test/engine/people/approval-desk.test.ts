// What people do at the desk beside deciding one item: comments, one decision about many, and the
// rounds of a repair loop.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import type { Item } from '../../../src/model/run/records.ts'
import { atEveryEvent, fake, flow, Lab } from '../../lab.ts'

const title = 'Send?'

async function code(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error) => error.code ?? error.message,
  )
}

describe('E1 comments', () => {
  test('E1 are kept with author and time, decide nothing, and raise no version', async () => {
    const lab = new Lab()
    const asks = flow([], async (ctx) => (await ctx.approval({ title, data: 1 })).outcome)
    await lab.process(asks, null)
    const { itemId } = await lab.item()
    await lab.inbox.comment(itemId, { by: 'ana', text: 'is this the new price?' })
    await lab.pass(10)
    await lab.inbox.comment(itemId, { by: 'bo', text: 'yes' })
    expect((await lab.inbox.get(itemId)).comments).toMatchObject([
      { by: 'ana', text: 'is this the new price?' },
      { by: 'bo', text: 'yes' },
    ])
    expect(await lab.item()).toMatchObject({ version: 1, state: 'open' })
    expect(await lab.process(asks, null)).toBe('nothing to claim')
    await lab.decide({ outcome: 'approve', version: 1 })
    await lab.inbox.comment(itemId, { by: 'ana', text: 'thank you' })
    expect(await lab.process(asks, null)).toBe('ended')
    expect(await lab.output()).toBe('approve')
    expect((await lab.inbox.get(itemId)).comments).toHaveLength(3)
    expect(await lab.findings()).toEqual([])
  })

  test('E1 nobody speaks without a name, without words, or about what is not there', async () => {
    const lab = new Lab()
    await lab.process(
      flow([], (ctx) => ctx.approval({ title })),
      null,
    )
    const { itemId } = await lab.item()
    const say = (by: string, text: string, id = itemId) => code(lab.inbox.comment(id, { by, text }))
    expect(await say('', 'hello')).toBe('DECISION_INVALID')
    expect(await say('ana', ' ')).toBe('DECISION_INVALID')
    expect(await say('ana', 'x'.repeat(5_000))).toBe('DECISION_INVALID')
    expect(await say('ana', 'hello', 'item_none')).toBe('ITEM_NOT_FOUND')
    expect((await lab.inbox.get(itemId)).comments).toEqual([])
  })

  test('E1 C5 comments at every kill: the call they are about is matched as ever', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const send = fake(lab, 'send', 'unsafe_on_replay', { ms: 5 })
      const asks = flow([send.tool], async (ctx) => {
        const { data } = await ctx.approval({ title, data: 1 })
        return ctx.call(send.tool, data)
      })
      await lab.process(asks, null)
      const { itemId } = await lab.item()
      await lab.inbox.comment(itemId, { by: 'ana', text: 'hm' })
      await lab.decide({ outcome: 'approve' })
      await lab.inbox.comment(itemId, { by: 'ana', text: 'done' })
      await lab.process(asks, null, { killWhen: kill.in(lab) })
      const end = await lab.process(asks, null)
      if (end === 'parked') expect(await lab.item()).toMatchObject({ reason: 'unknown' })
      expect(send.sent.length).toBeLessThanOrEqual(1)
      expect(await lab.events('asked')).toHaveLength(1)
    })
  })
})

describe('E2 one decision about many', () => {
  /** One run that asks several times; the queues make the items alike, or not. */
  async function desk(queues: readonly string[]) {
    const lab = new Lab()
    const asks = flow([], async (ctx) => {
      const all = queues.map((queue, n) => ctx.approval({ title: `Refund ${n}?`, data: n, queue }))
      return (await Promise.all(all)).map(({ outcome, data }) => [data, outcome])
    })
    await lab.process(asks, null)
    return { lab, asks, items: await lab.items() }
  }

  const seen = (items: readonly Item[]) => items.map(({ itemId, version }) => ({ itemId, version }))
  const said = { outcome: 'approve', by: 'ana', reason: 'all small' } as const

  test('E2 alike: each is decided by itself, and what became of each is told', async () => {
    const { lab, asks, items } = await desk(['a', 'a', 'a', 'a'])
    const [first, second] = seen(items)
    if (!first || !second) throw new Error('there are no items')
    await lab.inbox.decide(first.itemId, { ...said, outcome: 'reject', by: 'bo', version: 1 })
    const wanted = seen(items).map((one) =>
      one.itemId === second.itemId ? { ...one, version: 9 } : one,
    )
    const results = await lab.inbox.decideAll(wanted, said)
    expect(results.map((one) => ('error' in one ? one.error.code : one.decision.outcome))).toEqual([
      'ITEM_CLOSED',
      'ITEM_CHANGED',
      'approve',
      'approve',
    ])
    expect(await lab.items()).toHaveLength(1)
    await lab.inbox.decideAll([second], said)
    expect(await lab.process(asks, null)).toBe('ended')
    expect(await lab.output()).toEqual([
      [0, 'reject'],
      [1, 'approve'],
      [2, 'approve'],
      [3, 'approve'],
    ])
  })

  test('E2 not alike: nothing is decided, and what differs is said', async () => {
    const { lab, items } = await desk(['refunds', 'accounts'])
    const both = lab.inbox.decideAll(seen(items), said)
    await expect(both).rejects.toMatchObject({ code: 'ITEMS_DIFFER' })
    await expect(both).rejects.toThrow(/differ in queue;/)
    expect(await lab.decisions()).toEqual([])
  })

  test('E2 none, too many, one twice, one that is not there: refused whole', async () => {
    const { lab, items } = await desk(['refunds'])
    const [one] = seen(items)
    if (!one) throw new Error('there is no item')
    const many = Array.from({ length: 201 }, (_, n) => ({ itemId: `i${n}`, version: 1 }))
    expect(await code(lab.inbox.decideAll([], said))).toBe('DECISION_INVALID')
    expect(await code(lab.inbox.decideAll(many, said))).toBe('DECISION_INVALID')
    expect(await code(lab.inbox.decideAll([one, one], said))).toBe('DECISION_INVALID')
    const strange = { itemId: 'item_none', version: 1 }
    expect(await code(lab.inbox.decideAll([one, strange], said))).toBe('ITEM_NOT_FOUND')
    expect(await lab.items()).toHaveLength(1)
  })
})

test('E3 the rounds of a repair loop are linked, each to the one before', async () => {
  const lab = new Lab()
  const repair = graph({
    id: 'w@1.0.0',
    state: z.object({ round: z.number() }),
    output: z.number(),
    start: 'write',
    nodes: {
      write: async (_, ctx) => ctx.go('approve'),
      approve: async ({ round }, ctx) => {
        const other = await ctx.approval({ title: 'Other?', data: round })
        const answer = await ctx.approval({ title, data: round })
        if (answer.approved && other.approved) return ctx.done(round)
        return ctx.go('write', { round: round + 1 })
      },
    },
  }) as Graph
  const input = { round: 1 }
  const items: Item[] = []
  for (const outcome of ['approve', 'reject', 'approve', 'respond', 'approve'] as const) {
    await lab.process(repair, input)
    items.push(await lab.item())
    const result = outcome === 'respond' ? { result: 'which?' } : {}
    await lab.decide({ outcome, reason: `said ${outcome}`, ...result })
  }
  await lab.process(repair, input)
  items.push(await lab.item())
  const links = await Promise.all(items.map(async (item) => lab.inbox.get(item.itemId)))
  // Of the other question every round was approved: nothing is asked again.
  const [other1, ask1, other2, ask2, other3, ask3] = links
  for (const one of [other1, ask1, other2, other3]) expect(one?.previous).toBeNull()
  expect(ask2?.previous).toMatchObject({ itemId: ask1?.itemId, outcome: 'reject', by: 'tester' })
  expect(ask3?.previous).toMatchObject({ itemId: ask2?.itemId, reason: 'said respond' })
})
