// A call that the risk policy holds, from the question to the receipt: killed at every event,
// edited, rejected, moved, and with its rows altered behind its back.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import { sha256 } from '../../../src/model/json/canonical.ts'
import type { DoubtReason, Item } from '../../../src/model/run/records.ts'
import type { RiskPolicy } from '../../../src/model/tool/risk.ts'
import type { ReplayClass } from '../../../src/model/tool/tool.ts'
import type { Loaded } from '../../../src/store/store.ts'
import { atEveryEvent, type Fake, fake, flow, Lab, type ProcessOptions } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }
const policy: RiskPolicy = () => ({ ask: true })
const classes = ['unsafe_on_replay', 'idempotent_with_key'] as const satisfies ReplayClass[]

function paying(pay: Fake<{ id: string }>, input: () => unknown = () => ({ eur: 5 })): Graph {
  return flow([pay.tool], async (ctx) => {
    try {
      return (await ctx.call(pay.tool, input())).id
    } catch (error) {
      return (error as { code: string }).code
    }
  })
}

/** Whoever can write to the database asks for more; the MAC is not right any more. */
function alterRecords(lab: Lab): void {
  const altered = (row: Loaded['records'][number]) => ({
    ...row,
    inputJson: '{"eur":5000}',
    verifies: false,
  })
  const { load } = lab.store
  lab.store.load = async (...args) => {
    const loaded = await load(...args)
    return loaded && { ...loaded, records: loaded.records.map(altered) }
  }
}

/** Goes on to the end; a doubt is decided by what was sent. */
async function toTheEnd(lab: Lab, flowing: Graph, pay: Fake<{ id: string }>): Promise<Item[]> {
  const doubts: Item[] = []
  for (let i = 0; i < 4; i++) {
    const end = await lab.process(flowing, null, { policy })
    if (end !== 'parked') return doubts
    const item = await lab.item()
    expect(item).toMatchObject({ kind: 'doubt', reason: 'unknown' })
    doubts.push(item)
    const { length } = pay.sent
    if (length > 0) await lab.decide({ outcome: 'happened', result: { id: `pay${length}` } })
    else await lab.decide({ outcome: 'did_not_happen' })
  }
  throw new Error('it does not end')
}

describe.each(classes)('%s held', (replayClass) => {
  const make = (lab: Lab, more = {}) => fake(lab, 'pay', replayClass, more)
  const keyOf = (key: string) => (replayClass === 'idempotent_with_key' ? key : null)

  test('E1 C5 killed at every event before the decision: one item, nothing sent', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const pay = make(lab)
      await lab.process(paying(pay), null, { policy, killWhen: kill.in(lab) })
      await lab.process(paying(pay), null, { policy })
      expect(await lab.items()).toHaveLength(1)
      expect(pay.sent).toEqual([])
      await lab.decide({ outcome: 'approve' })
      expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
      expect(pay.sent).toEqual([expect.objectContaining({ key: keyOf('key-pay'), attempt: 1 })])
      expect(await lab.events('asked')).toHaveLength(1)
    })
  })

  test('I5 E1 killed at every event after the approval: sent once, or asked about', async () => {
    const points = await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const pay = make(lab)
      await lab.process(paying(pay), null, { policy })
      await lab.decide({ outcome: 'approve' })
      const killWhen = kill.in(lab)
      await lab.process(paying(pay), null, { policy, killWhen })
      const sentBefore = pay.sent.length
      if ((await lab.state()) !== 'completed') await toTheEnd(lab, paying(pay), pay)
      expect(await lab.state()).toBe('completed')
      if (replayClass === 'unsafe_on_replay') expect(pay.sent).toHaveLength(1)
      else expect(new Set(pay.sent.map((each) => each.key)).size).toBe(1)
      expect(pay.sent.length).toBeLessThanOrEqual(sentBefore + 1)
      expect(await lab.events('asked')).toHaveLength(1)
      const approvals = (await lab.decisions()).filter((row) => row.kind === 'approval')
      expect(approvals).toHaveLength(1)
      expect(approvals[0]?.usedBy).toMatch(/\/1~/)
      expect(await lab.findings()).toEqual([])
    })
    expect(points).toBeGreaterThan(8)
  })

  test('I4 an acknowledgement that is lost, whichever: asked once, sent once', async () => {
    for (let lose = 1; lose <= 6; lose++) {
      for (const applied of [true, false]) {
        const lab = new Lab()
        const pay = make(lab)
        let commits = 0
        const options: ProcessOptions = {
          policy,
          commit: async (_, apply) => {
            if (++commits !== lose) return apply()
            if (applied) await apply()
            throw new Error('the connection broke')
          },
        }
        expect(await lab.process(paying(pay), null, options)).toBe('parked')
        await lab.decide({ outcome: 'approve' })
        expect(await lab.process(paying(pay), null, options)).toBe('ended')
        expect(pay.sent).toHaveLength(1)
        expect(await lab.events('asked')).toHaveLength(1)
        expect(await lab.records()).toHaveLength(1)
      }
    }
  })

  test('E1 edit: sent and recorded is the edit, matched the original, at every kill', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const input = z.object({ eur: z.number().max(10) })
      const idempotencyKey = (of: unknown) => `for ${(of as { eur: number }).eur}`
      const more = replayClass === 'idempotent_with_key' ? { idempotencyKey } : {}
      const pay = make(lab, { input, ...more })
      await lab.process(paying(pay), null, { policy })
      await lab.decide({ outcome: 'edit', result: { eur: 3 } })
      const killWhen = kill.in(lab)
      await lab.process(paying(pay), null, { policy, killWhen })
      if ((await lab.state()) !== 'completed') {
        const doubts = await toTheEnd(lab, paying(pay), pay)
        for (const doubt of doubts) expect(doubt.body.input).toEqual({ eur: 3 })
      }
      expect(await lab.output()).toMatch(/^pay\d$/)
      for (const each of pay.sent) expect(each).toMatchObject({ input: { eur: 3 } })
      for (const each of pay.sent) expect(each.key).toBe(keyOf('for 3'))
      if (replayClass === 'unsafe_on_replay') expect(pay.sent).toHaveLength(1)
      const [record] = await lab.records()
      expect(record).toMatchObject({ inputJson: '{"eur":3}', status: 'committed' })
      expect(record?.inputHash).toBe(sha256('{"eur":5}'))
      expect(await lab.records()).toHaveLength(1)
      expect(await lab.findings()).toEqual([])
    })
  })

  test('E1 an edit that does not fit asks again, and never counts later', async () => {
    const lab = new Lab()
    let max = 10
    const input = z.object({ eur: z.number() }).refine(({ eur }) => eur <= max)
    const pay = make(lab, { input })
    await lab.process(paying(pay), null, { policy })
    const first = await lab.item()
    await lab.decide({ outcome: 'edit', result: { eur: 11 } })
    // Asked again, though the policy would let it pass by now: what is held waits for a person.
    expect(await lab.process(paying(pay), null, { policy: () => 'run' })).toBe('parked')
    const second = await lab.item()
    expect(second.itemId).not.toBe(first.itemId)
    expect(second.body.input).toEqual({ eur: 5 })
    max = 20
    await lab.wish('pause')
    await lab.wish('resume')
    expect(await lab.process(paying(pay), null, { policy })).toBe('parked')
    expect((await lab.item()).itemId).toBe(second.itemId)
    expect(pay.sent).toEqual([])
    await lab.decide({ outcome: 'edit', result: { eur: 20 } })
    expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
    expect(pay.sent.map((each) => each.input)).toEqual([{ eur: 20 }])
    expect(await lab.findings()).toEqual([])
  })

  test('E1 C5 reject: the call throws, it is recorded, and a replay throws the same', async () => {
    const lab = new Lab()
    const pay = make(lab)
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
    const flowing = flow([pay.tool, mail.tool], async (ctx) => {
      const said = await ctx.call(pay.tool, 1).catch((e) => [e.code, e.message, e.failure])
      await ctx.call(mail.tool, said)
      return said
    })
    const holds: RiskPolicy = ({ tool }) => (tool === 'pay' ? { ask: true } : 'run')
    await lab.process(flowing, null, { policy: holds })
    await lab.decide({ outcome: 'reject', reason: 'no budget' })
    const killWhen = () => mail.sent.length > 0
    expect(await lab.process(flowing, null, { policy: holds, killWhen })).toBe('crash')
    expect(await lab.process(flowing, null, { policy: () => 'run' })).toBe('parked')
    expect((await lab.item()).reason).toBe('unknown' satisfies DoubtReason)
    await lab.decide({ outcome: 'happened', result: { id: 'm' } })
    expect(await lab.process(flowing, null, { policy: () => 'run' })).toBe('ended')
    expect(await lab.output()).toEqual(mail.sent[0]?.input)
    const failure = { kind: 'decided', code: 'reject' }
    expect(await lab.output()).toMatchObject(['CALL_FAILED', 'pay: no budget', failure])
    expect([pay.sent.length, mail.sent.length]).toEqual([0, 1])
    expect(await lab.findings()).toEqual([])
    const record = (await lab.records()).find((row) => row.tool === 'pay')
    expect(record).toMatchObject({ status: 'failed', attempt: 0, unresolved: false })
  })

  test('E1 an input that moves voids the approval: asked anew, the old item closed', async () => {
    const lab = new Lab()
    const pay = make(lab)
    const moving = paying(pay, () => ({ at: lab.clock.now() }))
    await lab.process(moving, null, { policy })
    const first = await lab.item()
    await lab.decide({ outcome: 'approve' })
    await lab.pass(1_000)
    expect(await lab.process(moving, null, { policy })).toBe('parked')
    const second = await lab.item()
    expect(second.itemId).not.toBe(first.itemId)
    expect(second.body.input).not.toEqual(first.body.input)
    // And also if nobody has decided: nobody shall approve what is not asked for any more.
    await lab.wish('pause')
    await lab.pass(1_000)
    await lab.wish('resume')
    expect(await lab.process(moving, null, { policy })).toBe('parked')
    const [third, ...others] = await lab.items()
    expect(others).toEqual([])
    expect(third?.itemId).not.toBe(second.itemId)
    const closed = (await lab.inbox.list({ state: 'closed' })).items
    expect(closed.map((each) => each.itemId)).toEqual([second.itemId])
    expect(pay.sent).toEqual([])
  })

  test('E1 the policy removed while a call is held: it waits on', async () => {
    const lab = new Lab()
    const pay = make(lab)
    await lab.process(paying(pay), null, { policy })
    const item = await lab.item()
    await lab.wish('pause')
    await lab.wish('resume')
    expect(await lab.process(paying(pay), null)).toBe('parked')
    expect(await lab.items()).toEqual([item])
    await lab.decide({ outcome: 'edit', result: Number.MAX_SAFE_INTEGER })
    expect(await lab.process(paying(pay), null)).toBe('ended')
    expect(pay.sent.map((each) => each.input)).toEqual([Number.MAX_SAFE_INTEGER])
  })

  test('E1 B8 an item altered before the look: what is decided does not count', async () => {
    const lab = new Lab()
    const pay = make(lab)
    await lab.process(paying(pay), null, { policy })
    const item = await lab.item()
    const body = { ...item.body, data: { input: { eur: 1 } } }
    const put = (row: Item) =>
      lab.store.amend(ref, 'client', () => ({ changes: { items: [row] }, value: null }))
    await put({ ...item, body })
    await lab.decide({ outcome: 'approve' })
    const [decided] = (await lab.inbox.list({ state: 'decided' })).items
    // And made good again, so that nobody sees it: the decision knows what was looked at.
    if (decided) await put({ ...decided, body: item.body })
    expect(await lab.process(paying(pay), null, { policy })).toBe('parked')
    expect(pay.sent).toEqual([])
    expect(await lab.events('decision_unusable')).toHaveLength(1)
    expect((await lab.item()).body.data).toEqual({ input: { eur: 5 } })
  })

  test('B8 a held row that was altered is never sent, approved or not', async () => {
    const lab = new Lab()
    const pay = make(lab)
    await lab.process(paying(pay), null, { policy })
    await lab.decide({ outcome: 'approve' })
    alterRecords(lab)
    expect(await lab.process(paying(pay), null, { policy })).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'tampered' })
    expect(pay.sent).toEqual([])
  })

  test('B8 I5 nor is one that a person has allowed to be sent once more', async () => {
    const lab = new Lab()
    const probe = () => ({ landed: 'unknown' as const })
    const more = replayClass === 'idempotent_with_key' ? { keyTtlMs: 10, timeoutMs: 5 } : {}
    const pay = make(lab, { probe, ...more })
    await lab.process(paying(pay), null, { killWhen: () => pay.sent.length === 1 })
    expect(await lab.process(paying(pay), null)).toBe('parked')
    await lab.decide({ outcome: 'did_not_happen' })
    alterRecords(lab)
    expect(await lab.process(paying(pay), null)).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'tampered' })
    expect(pay.sent).toHaveLength(1)
  })
})

describe('keys of held calls', () => {
  test('G6 E1 the key window begins with the send, not with the question', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'idempotent_with_key', {
      keyTtlMs: 10_000,
      ms: 1_000,
      timeoutMs: 2_000,
    })
    await lab.process(paying(pay), null, { policy })
    await lab.pass(60_000)
    await lab.decide({ outcome: 'approve' })
    const at = lab.clock.now()
    await lab.process(paying(pay), null, { policy, killWhen: () => pay.sent.length > 0 })
    const [record] = await lab.records()
    expect(record?.expiresAt).toBeGreaterThanOrEqual(at + 10_000)
    expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
    expect(pay.sent.map((each) => each.key)).toEqual(['key-pay', 'key-pay'])
  })

  test('A3 a key in use for another input: asked about, and the answer ends it', async () => {
    for (const outcome of ['happened', 'fail'] as const) {
      const lab = new Lab()
      const pay = fake(lab, 'pay', 'idempotent_with_key')
      const flowing = flow([pay.tool], async (ctx) => {
        await ctx.call(pay.tool, 1)
        return ctx.call(pay.tool, 2).catch((error) => error.code)
      })
      const second: RiskPolicy = ({ input }) => (input === 2 ? { ask: true } : 'run')
      await lab.process(flowing, null, { policy: second })
      await lab.decide({ outcome: 'approve' })
      expect(await lab.process(flowing, null, { policy: second })).toBe('parked')
      expect(await lab.item()).toMatchObject({ reason: 'key_conflict' })
      const said = outcome === 'happened' ? { outcome, result: { id: 'x' } } : { outcome }
      await lab.decide(said)
      expect(await lab.process(flowing, null, { policy: second })).toBe('ended')
      expect(await lab.output()).toEqual(outcome === 'happened' ? { id: 'x' } : 'OUTCOME_UNKNOWN')
      expect(pay.sent).toHaveLength(1)
      expect((await lab.records()).filter((row) => row.status === 'pending')).toEqual([])
    }
  })
})

test('D10 E1 a held call in a later visit: its checkpoint comes with the question', async () => {
  await atEveryEvent(async (kill) => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const look = fake(lab, 'look', 'pure')
    const steps = graph({
      id: 'w@1.0.0',
      state: z.object({ n: z.number() }),
      output: z.string(),
      tools: [pay.tool, look.tool],
      start: 'first',
      nodes: {
        first: async (_state, ctx) => {
          await ctx.call(look.tool, 1)
          return ctx.go('second', { n: 1 })
        },
        second: {
          checkpoint: 'before_effects',
          run: async (state, ctx) => ctx.done((await ctx.call(pay.tool, state.n)).id),
        },
      },
    }) as Graph
    const input = { n: 0 }
    await lab.process(steps, input, { policy, killWhen: kill.in(lab) })
    await lab.process(steps, input, { policy })
    expect(await lab.items()).toHaveLength(1)
    expect(await lab.run()).toMatchObject({ visit: 2, node: 'second' })
    await lab.decide({ outcome: 'approve' })
    expect(await lab.process(steps, input, { policy })).toBe('ended')
    expect(pay.sent.map((each) => each.input)).toEqual([1])
  })
})
