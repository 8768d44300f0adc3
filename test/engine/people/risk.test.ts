// The risk policy: run, ask, refuse. What it holds is not sent before a person agrees, and not
// twice after, wherever the process dies.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { CallOptions, Context } from '../../../src/model/graph/context.ts'
import type { Item } from '../../../src/model/run/records.ts'
import type { RiskAnswer, RiskCall, RiskPolicy } from '../../../src/model/tool/risk.ts'
import { type Fake, fake, flow, Lab, type ProcessOptions, work } from '../../lab.ts'

const holds: RiskPolicy = () => ({ ask: true })

/** Sends one thing and says what came of it. */
function paying(pay: Fake<{ id: string }>, input: () => unknown = () => ({ eur: 5 })) {
  return flow([pay.tool], async (ctx) => {
    try {
      return (await ctx.call(pay.tool, input())).id
    } catch (error) {
      const { code, message } = error as { code: string; message: string }
      return [code, message]
    }
  })
}

function asked(policy: RiskPolicy) {
  const calls: RiskCall[] = []
  const noted: RiskPolicy = (call) => {
    calls.push(call)
    return policy(call)
  }
  return { calls, policy: noted }
}

async function held(lab: Lab): Promise<Item> {
  const item = await lab.item()
  expect(item).toMatchObject({ kind: 'approval', reason: null })
  return item
}

describe('E1 the three answers', () => {
  test('E1 run: sent, and the answer is on record', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const { calls, policy } = asked(() => 'run')
    expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
    expect(calls).toHaveLength(1)
    const [event] = await lab.events('gated')
    expect(event?.data).toMatchObject({ tool: 'pay', answer: 'run', why: null })
    expect(pay.sent).toHaveLength(1)
  })

  test('E1 refuse: nothing is sent, it is recorded, and a replay refuses it again', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const slow = fake(lab, 'slow', 'unsafe_on_replay', { ms: 1_000 })
    const graph = flow([pay.tool, slow.tool], async (ctx) => {
      const said = await ctx.call(pay.tool, 1).catch((error) => [error.code, error.message])
      await ctx.call(slow.tool, 1)
      return said
    })
    const { calls, policy } = asked(({ tool }) => (tool === 'pay' ? { refuse: 'too much' } : 'run'))
    await lab.process(graph, null, { policy, killWhen: () => slow.sent.length > 0 })
    expect(await lab.process(graph, null, { policy: () => 'run' })).toBe('parked')
    await lab.decide({ outcome: 'happened', result: 1 })
    expect(await lab.process(graph, null, { policy: () => 'run' })).toBe('ended')
    expect(await lab.output()).toEqual(['CALL_FAILED', expect.stringContaining('too much')])
    expect(calls.map((each) => each.tool)).toEqual(['pay', 'slow'])
    expect(pay.sent).toEqual([])
    const record = (await lab.records()).find((row) => row.tool === 'pay')
    expect(record).toMatchObject({ status: 'failed', attempt: 0 })
  })

  test('E1 ask: held with what is shown, nothing sent, the worker released', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const ask = { title: 'Pay?', queue: 'cfo', deciders: ['cfo'], slaMs: 500, why: 'much' }
    const policy: RiskPolicy = () => ({ ask: { ...ask, data: { balance: 3 } } })
    expect(await lab.process(paying(pay), null, { policy })).toBe('parked')
    const item = await held(lab)
    expect(item).toMatchObject({ title: 'Pay?', queue: 'cfo', dueAt: item.createdAt + 500 })
    expect(item.body).toMatchObject({
      data: { input: { eur: 5 }, data: { balance: 3 } },
      approval: { deciders: ['cfo'], why: 'much' },
    })
    expect(await lab.run()).toMatchObject({ state: 'waiting_human', workerId: null })
    const [record] = await lab.records()
    expect(record).toMatchObject({ status: 'pending', attempt: 0, idempotencyKey: null })
    expect(await lab.attempts()).toEqual([])
    expect(pay.sent).toEqual([])
  })

  test('E1 the policy sees tool, input, class, radius, tags, amount and confidence', async () => {
    const lab = new Lab()
    const rules = {
      blastRadius: 'money',
      tags: ['eu'],
      amount: (i: unknown) => (i as never)['eur'],
    }
    const pay = fake(lab, 'pay', 'unsafe_on_replay', rules)
    const look = fake(lab, 'look', 'pure')
    const call = (ctx: Context, options?: CallOptions) =>
      ctx.call(pay.tool, { eur: 5, n: options?.amount ?? 0 }, options)
    const graph = flow([pay.tool, look.tool], async (ctx) => {
      await ctx.call(look.tool, 1)
      await call(ctx)
      await call(ctx, { amount: 7, confidence: 0.3 })
    })
    const { calls, policy } = asked(() => 'run')
    await lab.process(graph, null, { policy })
    const same = { runId: 'lab', graph: 'w', node: 'run', tool: 'pay', tags: ['eu'] }
    expect(calls).toMatchObject([
      { ...same, input: { eur: 5 }, blastRadius: 'money', amount: 5, confidence: null },
      { ...same, replayClass: 'unsafe_on_replay', amount: 7, confidence: 0.3 },
    ])
  })
})

describe('E1 what cannot be understood lets nothing pass', () => {
  const nonsense = [
    undefined,
    null,
    '',
    'RUN',
    'ask',
    true,
    {},
    { run: true },
    { ask: false },
    { ask: 'yes' },
    { refuse: '' },
    { ask: { deciders: [] } },
    { ask: { deciders: 'cfo' } },
    { ask: { slaMs: -1 } },
    { ask: { title: 7 } },
    { ask: { data: () => 1 } },
    { ask: { data: { at: new Date(0) } } },
    { ask: { title: '\ud800' } },
  ]

  test.each(nonsense.map((answer) => [answer]))('E1 %o', async (answer) => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const policy = (() => answer) as unknown as RiskPolicy
    expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
    const [code] = (await lab.output()) as string[]
    expect(['GATE_INVALID', 'NOT_PLAIN_DATA']).toContain(code)
    expect(await lab.records()).toEqual([])
    expect(await lab.items()).toEqual([])
    expect((await lab.events('gated')).at(-1)?.data['answer']).toBe('failed')
    expect(pay.sent).toEqual([])
  })

  const throwing: [string, RiskPolicy][] = [
    ['throws', () => Promise.reject(new Error('down'))],
    [
      'throws at once',
      () => {
        throw new Error('down')
      },
    ],
  ]
  test.each(throwing)('E1 a policy that %s', async (_, policy) => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'idempotent_with_key')
    expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
    expect(await lab.output()).toEqual(['GATE_FAILED', expect.stringContaining('down')])
    expect(pay.sent).toEqual([])
    const events = await lab.events('gated')
    expect(events.map(({ data }) => data['answer'])).toEqual(['failed'])
  })

  test('E1 a tool whose amount throws is not let pass', async () => {
    const lab = new Lab()
    const amount = () => {
      throw new Error('no eur')
    }
    const pay = fake(lab, 'pay', 'unsafe_on_replay', { amount })
    await lab.process(paying(pay), null, { policy: () => 'run' })
    expect(await lab.output()).toEqual(['GATE_FAILED', expect.stringContaining('no eur')])
    expect(pay.sent).toEqual([])
  })

  test('C3 E1 a policy that threw and passes later: what was done instead is drift', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
    const graph = flow([pay.tool, mail.tool], async (ctx) => {
      await ctx.call(pay.tool, 1).catch(() => ctx.call(mail.tool, 'it is down'))
    })
    let down = true
    const policy: RiskPolicy = ({ tool }) => {
      if (tool === 'pay' && down) throw new Error('down')
      return 'run'
    }
    await lab.process(graph, null, { policy, killWhen: () => mail.sent.length > 0 })
    down = false
    expect(await lab.process(graph, null, { policy })).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'drift' })
    expect(pay.sent).toEqual([])
  })
})

describe('E1 whom it is asked about', () => {
  test('E1 not about pure calls, questions, or what was sent or answered before', async () => {
    const lab = new Lab()
    const look = fake(lab, 'look', 'pure')
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const keyed = fake(lab, 'keyed', 'idempotent_with_key', { ms: 1_000 })
    const graph = flow([look.tool, pay.tool, keyed.tool], async (ctx) => {
      await ctx.now()
      await ctx.call(look.tool, 1)
      await ctx.call(pay.tool, 1)
      await ctx.call(keyed.tool, 1)
      await ctx.approval({ title: 'Go?' })
    })
    const { calls, policy } = asked(() => 'run')
    await lab.process(graph, null, { policy, killWhen: () => keyed.sent.length > 0 })
    expect(await lab.process(graph, null, { policy })).toBe('parked')
    expect(calls.map((each) => each.tool)).toEqual(['pay', 'keyed'])
    expect(keyed.sent.map((each) => each.key)).toEqual(['key-keyed', 'key-keyed'])
    await lab.decide({ outcome: 'approve' })
    expect(await lab.process(graph, null, { policy })).toBe('ended')
    expect(calls).toHaveLength(2)
  })

  test('E1 not about what a person has allowed once more: it passed the gate before', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay', { ms: 1_000 })
    const { calls, policy } = asked(() => 'run')
    await lab.process(paying(pay), null, { policy, killWhen: () => pay.sent.length > 0 })
    await lab.process(paying(pay), null, { policy })
    await lab.decide({ outcome: 'did_not_happen' })
    expect(await lab.process(paying(pay), null, { policy })).toBe('ended')
    expect(calls).toHaveLength(1)
    expect(pay.sent).toHaveLength(2)
  })

  test('E1 C3 about a call that a person sends after drift: held all the same', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay', { ms: 1_000 })
    let eur = 5
    const graph = paying(pay, () => ({ eur }))
    await lab.process(graph, null, { killWhen: () => pay.sent.length > 0 })
    eur = 6
    expect(await lab.process(graph, null, { policy: holds })).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'drift' })
    await lab.decide({ outcome: 'send' })
    expect(await lab.process(graph, null, { policy: holds })).toBe('parked')
    expect((await held(lab)).body.input).toEqual({ eur: 6 })
    expect(pay.sent).toHaveLength(1)
    await lab.decide({ outcome: 'approve' })
    await lab.process(graph, null, { policy: holds })
    expect(pay.sent.map((each) => each.input)).toEqual([{ eur: 5 }, { eur: 6 }])
    // What the first call left behind is still to be explained.
    expect(await lab.item()).toMatchObject({ reason: 'drift' })
    await lab.decide({ outcome: 'retire_record' })
    expect(await lab.process(graph, null, { policy: holds })).toBe('ended')
    expect(pay.sent).toHaveLength(2)
    expect(await lab.findings()).toEqual([])
  })

  test('E1 C3 a refusal of a call that a person sends after drift is replayed', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay', { ms: 1_000 })
    let eur = 5
    const graph = paying(pay, () => ({ eur }))
    await lab.process(graph, null, { killWhen: () => pay.sent.length > 0 })
    eur = 6
    const refuses: ProcessOptions = { policy: () => ({ refuse: 'frozen' }) }
    await lab.process(graph, null, refuses)
    await lab.decide({ outcome: 'send' })
    expect(await lab.process(graph, null, refuses)).toBe('parked')
    await lab.decide({ outcome: 'retire_record' })
    expect(await lab.process(graph, null, refuses)).toBe('ended')
    expect(await lab.output()).toEqual(['CALL_FAILED', expect.stringContaining('frozen')])
    expect(pay.sent).toHaveLength(1)
    const [send] = (await lab.decisions()).filter((row) => row.outcome === 'send')
    expect(send?.usedBy).toMatch(/\/0$/)
    expect(await lab.findings()).toEqual([])
  })

  test('I7 a policy that takes its time holds up no pause; nothing passes after it', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    let said: (answer: RiskAnswer) => void = () => {}
    const policy = () =>
      new Promise<RiskAnswer>((resolve) => {
        said = resolve
      })
    const graph = paying(pay)
    let asks = 0
    const leaveWhen = () => {
      if (asks++ === 3) void lab.wish('pause')
      return false
    }
    expect(await lab.process(graph, null, { policy, leaveWhen, obeysMs: 50 })).toBe('parked')
    expect(await lab.state()).toBe('paused')
    said('run')
    await lab.pass(5_000)
    expect(pay.sent).toEqual([])
    expect(await lab.records()).toEqual([])
  })
})

describe('E1 beside other calls', () => {
  test('I7 a held call and others in flight: those are recorded, then it parks', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 1_000 })
    const graph = flow([pay.tool, mail.tool], async (ctx) => {
      const both = await Promise.all([
        ctx.call(pay.tool, 1),
        ctx.call(mail.tool, 1),
        ctx.call(mail.tool, 2),
      ])
      return both.map((each) => each.id)
    })
    const policy: RiskPolicy = async ({ tool }) => {
      await work(lab, 10)
      return tool === 'pay' ? { ask: true } : 'run'
    }
    expect(await lab.process(graph, null, { policy })).toBe('parked')
    expect(mail.sent).toHaveLength(2)
    expect(lab.durable('mail', 'committed', 2)).toBe(true)
    await lab.decide({ outcome: 'approve' })
    expect(await lab.process(graph, null, { policy })).toBe('ended')
    expect(await lab.output()).toEqual(['pay1', 'mail1', 'mail2'])
    expect([pay.sent.length, mail.sent.length]).toEqual([1, 2])
  })

  test('E1 two calls held at once: each is decided for itself', async () => {
    const lab = new Lab()
    const pay = fake(lab, 'pay', 'unsafe_on_replay')
    const graph = flow([pay.tool], async (ctx) => {
      const one = (eur: number) => ctx.call(pay.tool, { eur }).catch((error) => error.code)
      return Promise.all([one(1), one(2), one(2)])
    })
    await lab.process(graph, null, { policy: holds })
    const items = await lab.items()
    expect(items.map((each) => each.body.input)).toEqual([{ eur: 1 }, { eur: 2 }, { eur: 2 }])
    for (const [i, { itemId, version }] of items.entries()) {
      const outcome = i === 1 ? 'reject' : 'approve'
      await lab.inbox.decide(itemId, { outcome, by: 'ana', reason: 'r', version })
    }
    expect(await lab.process(graph, null, { policy: holds })).toBe('ended')
    expect(await lab.output()).toEqual([{ id: 'pay1' }, 'CALL_FAILED', { id: 'pay2' }])
    expect(pay.sent.map((each) => each.input)).toEqual([{ eur: 1 }, { eur: 2 }])
  })

  test('E1 held calls whose schema takes its time: none is taken for a moved one', async () => {
    const lab = new Lab()
    const input = z.number().refine(async (n) => {
      await work(lab, n * 100)
      return true
    })
    const pay = fake(lab, 'pay', 'unsafe_on_replay', { input })
    const graph = flow([pay.tool], (ctx) => Promise.all([1, 4].map((n) => ctx.call(pay.tool, n))))
    await lab.process(graph, null, { policy: holds })
    const items = await lab.items()
    expect(items).toHaveLength(2)
    await lab.wish('pause')
    await lab.wish('resume')
    expect(await lab.process(graph, null, { policy: holds })).toBe('parked')
    expect(await lab.items()).toEqual(items)
  })
})
