// A failed run, tried again by a person (C10): the fate of each failed call is said, what succeeded
// is not repeated, and a send that was allowed happens once, wherever the process dies.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RefusedError } from '../../../src/model/errors.ts'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import type { RiskPolicy } from '../../../src/model/tool/risk.ts'
import { type ReplayClass, recordedKey } from '../../../src/model/tool/tool.ts'
import { atEveryEvent, type Fake, type FakeOptions, fake, flow, Lab, work } from '../../lab.ts'

type Mail = Fake<{ id: string }>

async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  return promise.then(
    () => ({ code: 'accepted', message: '' }),
    (error) => error,
  )
}

/** The first send of `mail` is refused. */
function failsOnce(lab: Lab, replayClass: ReplayClass, more: FakeOptions = {}): Mail {
  const does = (n: number) => {
    if (n === 1) throw new RefusedError('full')
    return { id: `mail${n}` }
  }
  return fake(lab, 'mail', replayClass, { does, ...more })
}

function scene(replayClass: ReplayClass = 'unsafe_on_replay', more: FakeOptions = {}) {
  const lab = new Lab()
  const before = fake(lab, 'before', 'unsafe_on_replay')
  const mail = failsOnce(lab, replayClass, more)
  const after = fake(lab, 'after', 'unsafe_on_replay')
  const flowing = flow([before.tool, mail.tool, after.tool], async (ctx) => {
    const first = await ctx.call(before.tool, 1)
    const second = await ctx.call(mail.tool, { to: 'ana' })
    const third = await ctx.call(after.tool, 1)
    return [first, second, third].map((each) => each.id)
  })
  return { lab, before, mail, after, flowing }
}

async function failed(lab: Lab, flowing: Graph): Promise<void> {
  expect(await lab.process(flowing, null)).toBe('ended')
  expect(await lab.state()).toBe('failed')
}

describe('C10 what has to be said', () => {
  test('C10 the failed calls are named with input and error', async () => {
    const { lab, flowing } = scene()
    await failed(lab, flowing)
    expect(await lab.failedCalls()).toMatchObject([
      { name: 'mail#0', tool: 'mail', input: { to: 'ana' }, unresolved: false },
    ])
  })

  test('C10 silence about one that is not pure is refused; so is a name that is none', async () => {
    const { lab, flowing } = scene()
    await failed(lab, flowing)
    const silent = await refusal(lab.retry())
    expect(silent.code).toBe('RETRY_INVALID')
    expect(silent.message).toContain('mail#0')
    const strange = await refusal(lab.retry({ calls: { 'mail#0': 'send', 'mail#1': 'send' } }))
    expect(strange).toMatchObject({ code: 'RETRY_INVALID' })
    expect(strange.message).toContain('mail#1')
    for (const request of [{ by: '' }, { reason: ' ' }, { by: 7 as never }]) {
      const bad = await refusal(lab.retry({ calls: { 'mail#0': 'send' }, ...request }))
      expect(bad.code).toBe('RETRY_INVALID')
    }
    expect(await lab.state()).toBe('failed')
    expect(await lab.decisions()).toEqual([])
  })

  test('C10 only a failed run; of two people at once one wins', async () => {
    const { lab, flowing } = scene()
    await failed(lab, flowing)
    const says = (by: string) => refusal(lab.retry({ by, calls: { 'mail#0': 'send' } }))
    const codes = (await Promise.all([says('ana'), says('bo')])).map((each) => each.code)
    expect(codes.sort()).toEqual(['RUN_NOT_FAILED', 'accepted'])
    expect(await lab.decisions()).toHaveLength(1)
    await lab.process(flowing, null)
    expect(await lab.state()).toBe('completed')
    expect((await refusal(lab.retry())).code).toBe('RUN_NOT_FAILED')
  })
})

const classes = ['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const satisfies ReplayClass[]

describe.each(classes)('C10 a failed %s call', (replayClass) => {
  test('C10 send: exactly once more, and nothing else is repeated', async () => {
    const { lab, before, mail, after, flowing } = scene(replayClass)
    await failed(lab, flowing)
    await lab.retry({ calls: { 'mail#0': 'send' } })
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(await lab.output()).toEqual(['before1', 'mail2', 'after1'])
    expect([before.sent.length, mail.sent.length, after.sent.length]).toEqual([1, 2, 1])
    // The failed row stays as it is; what was tried again has a row of its own.
    const rows = (await lab.records()).filter((row) => row.tool === 'mail')
    expect(rows.map((row) => [row.status, row.nth])).toEqual([
      ['failed', 0],
      ['committed', 0],
    ])
    const [send] = await lab.decisions()
    expect(send).toMatchObject({ outcome: 'send', reason: 'failed', by: 'tester' })
    expect(send?.usedBy).not.toBe(null)
  })

  test('I5 C10 send, killed at every event: never more often than was decided', async () => {
    await atEveryEvent(async (kill) => {
      const { lab, before, mail, after, flowing } = scene(replayClass)
      await failed(lab, flowing)
      await lab.retry({ calls: { 'mail#0': 'send' } })
      await lab.process(flowing, null, { killWhen: kill.in(lab) })
      for (let i = 0; i < 4 && (await lab.state()) !== 'completed'; i++) {
        if ((await lab.process(flowing, null)) !== 'parked') continue
        const item = await lab.item()
        expect(item).toMatchObject({ reason: 'unknown' })
        const tool = item.body.subject?.tool
        const did = tool === 'mail' ? mail.sent.length > 1 : after.sent.length > 0
        const id = tool === 'mail' ? 'mail2' : 'after1'
        await lab.decide(
          did ? { outcome: 'happened', result: { id } } : { outcome: 'did_not_happen' },
        )
      }
      expect(await lab.output()).toEqual(['before1', expect.stringMatching(/mail\d/), 'after1'])
      expect([before.sent.length, after.sent.length]).toEqual([1, 1])
      expect(await lab.findings()).toEqual([])
      if (replayClass === 'unsafe_on_replay') expect(mail.sent).toHaveLength(2)
      if (replayClass === 'idempotent_with_key') {
        expect(new Set(mail.sent.map((each) => each.key))).toEqual(new Set(['key-mail']))
      }
    })
  })

  test('C10 keep: it fails again the same way, and nothing is sent', async () => {
    const { lab, before, mail, flowing } = scene(replayClass)
    await failed(lab, flowing)
    const error = await lab.error()
    await lab.retry({ calls: { 'mail#0': 'keep' } })
    await failed(lab, flowing)
    expect(await lab.error()).toEqual(error)
    expect([before.sent.length, mail.sent.length]).toEqual([1, 1])
    expect(await lab.failedCalls()).toHaveLength(1)
  })

  test('C10 happened: what the person says answers, at every kill', async () => {
    await atEveryEvent(async (kill) => {
      const { lab, before, mail, after, flowing } = scene(replayClass)
      await failed(lab, flowing)
      await lab.retry({ calls: { 'mail#0': { happened: { id: 'seen' } } } })
      await lab.process(flowing, null, { killWhen: kill.in(lab) })
      for (let i = 0; i < 3 && (await lab.state()) !== 'completed'; i++) {
        if ((await lab.process(flowing, null)) !== 'parked') continue
        const did = after.sent.length > 0
        const result = { id: 'after1' }
        await lab.decide(did ? { outcome: 'happened', result } : { outcome: 'did_not_happen' })
      }
      expect(await lab.output()).toEqual(['before1', 'seen', 'after1'])
      expect(await lab.findings()).toEqual([])
      expect([before.sent.length, mail.sent.length, after.sent.length]).toEqual([1, 1, 1])
    })
  })

  test('C10 tried again twice: each time it is said anew, each send is one', async () => {
    const lab = new Lab()
    const does = (n: number) => {
      if (n < 3) throw new RefusedError(`full ${n}`)
      return { id: `mail${n}` }
    }
    const mail = fake(lab, 'mail', replayClass, { does })
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await failed(lab, flowing)
    for (const n of [1, 2]) {
      expect((await lab.failedCalls()).map((each) => each.name)).toEqual(['mail#0'])
      expect((await lab.error()).message).toContain(`full ${n}`)
      await lab.retry({ calls: { 'mail#0': 'send' } })
      await lab.process(flowing, null)
    }
    expect(await lab.output()).toEqual({ id: 'mail3' })
    expect(await lab.findings()).toEqual([])
    expect(mail.sent).toHaveLength(3)
  })
})

describe('C10 identical calls', () => {
  const twins = (mail: Mail) =>
    flow([mail.tool], async (ctx) => {
      const both = await Promise.allSettled([ctx.call(mail.tool, 1), ctx.call(mail.tool, 1)])
      if (both.some((each) => each.status === 'rejected')) throw new Error('one is missing')
      return both.map((each) => each.status === 'fulfilled' && each.value.id)
    })

  test('C10 I5 the twin of a failed call keeps its record: nothing is sent for it', async () => {
    for (const fate of ['send', { happened: { id: 'seen' } }] as const) {
      const lab = new Lab()
      const mail = failsOnce(lab, 'unsafe_on_replay')
      await failed(lab, twins(mail))
      expect(mail.sent).toHaveLength(2)
      await lab.retry({ calls: { 'mail#0': fate } })
      expect(await lab.process(twins(mail), null)).toBe('ended')
      expect(await lab.output()).toEqual([fate === 'send' ? 'mail3' : 'seen', 'mail2'])
      expect(mail.sent).toHaveLength(fate === 'send' ? 3 : 2)
    }
  })

  test('C10 I5 the same, killed at every event', async () => {
    await atEveryEvent(async (kill) => {
      const lab = new Lab()
      const mail = failsOnce(lab, 'unsafe_on_replay')
      await failed(lab, twins(mail))
      await lab.retry({ calls: { 'mail#0': 'send' } })
      await lab.process(twins(mail), null, { killWhen: kill.in(lab) })
      for (let i = 0; i < 3 && (await lab.state()) !== 'completed'; i++) {
        if ((await lab.process(twins(mail), null)) !== 'parked') continue
        const did = mail.sent.length > 2
        const result = { id: 'mail3' }
        await lab.decide(did ? { outcome: 'happened', result } : { outcome: 'did_not_happen' })
      }
      expect(await lab.output()).toEqual(['mail3', 'mail2'])
      expect(await lab.findings()).toEqual([])
      expect(mail.sent).toHaveLength(3)
    })
  })
})

describe('C10 calls that were failed without knowledge', () => {
  const unresolved = async (
    more: FakeOptions = {},
    replayClass: ReplayClass = 'unsafe_on_replay',
  ) => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', replayClass, { ms: 5_000, ...more })
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await lab.process(flowing, null, { killWhen: () => mail.sent.length === 1 })
    return { lab, mail, flowing }
  }

  test('I5 C10 it needs quiet, or that somebody made sure', async () => {
    const { lab, mail, flowing } = await unresolved()
    expect(await lab.process(flowing, null)).toBe('parked')
    await lab.decide({ outcome: 'fail' })
    await failed(lab, flowing)
    expect((await lab.failedCalls())[0]?.unresolved).toBe(true)
    const early = await refusal(lab.retry({ calls: { 'mail#0': 'send' } }))
    expect(early.code).toBe('DECISION_TOO_EARLY')
    await lab.pass(61_000)
    await lab.retry({ calls: { 'mail#0': 'send' } })
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(await lab.state()).toBe('completed')
    expect(mail.sent).toHaveLength(2)
    expect((await lab.decisions()).at(-1)).toMatchObject({ madeSure: false })
  })

  test('I5 C10 madeSure is on record under its name', async () => {
    const { lab, mail, flowing } = await unresolved()
    await lab.process(flowing, null)
    await lab.decide({ outcome: 'fail' })
    await failed(lab, flowing)
    await lab.retry({ by: 'ana', madeSure: true, calls: { 'mail#0': 'send' } })
    await lab.process(flowing, null)
    expect(mail.sent).toHaveLength(2)
    expect((await lab.decisions()).at(-1)).toMatchObject({ by: 'ana', madeSure: true })
  })

  test('I5 C10 kept unresolved, the same call later still goes to a person', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 5_000 })
    let gives = false
    const flowing = flow([mail.tool], async (ctx) => {
      const first = ctx.call(mail.tool, 1).catch(() => null)
      if ((await first) === null && !gives) throw new Error('no')
      return ctx.call(mail.tool, 1)
    })
    await lab.process(flowing, null, { killWhen: () => mail.sent.length === 1 })
    await lab.process(flowing, null)
    await lab.decide({ outcome: 'fail' })
    await failed(lab, flowing)
    gives = true
    await lab.retry({ calls: { 'mail#0': 'keep' } })
    expect(await lab.process(flowing, null)).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'unresolved' })
    expect(mail.sent).toHaveLength(1)
  })

  test('G1 C10 what is sent again has the recorded key, also a random one', async () => {
    const more = { idempotencyKey: recordedKey(), keyTtlMs: 1e9, retry: { attemptMax: 1 } }
    const { lab, mail, flowing } = await unresolved(
      { ...more, ms: 10, does: (n) => (n < 3 ? Promise.reject(new Error('lost')) : { id: 'm' }) },
      'idempotent_with_key',
    )
    expect(await lab.process(flowing, null)).toBe('parked')
    await lab.decide({ outcome: 'fail' })
    await failed(lab, flowing)
    await lab.retry({ madeSure: true, calls: { 'mail#0': 'send' } })
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(mail.sent).toHaveLength(3)
    expect(await lab.findings()).toEqual([])
    expect(new Set(mail.sent.map((each) => each.key)).size).toBe(1)
  })

  test('G1 C10 a key made of the occurrence is that of the call, not of the new row', async () => {
    const idempotencyKey = (_: unknown, { occurrence }: { occurrence: number }) => `k${occurrence}`
    const { lab, mail, flowing } = scene('idempotent_with_key', { idempotencyKey })
    await failed(lab, flowing)
    await lab.retry({ calls: { 'mail#0': 'send' } })
    const killWhen = () => mail.sent.length === 2
    await lab.process(flowing, null, { killWhen })
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(mail.sent.map((each) => each.key)).toEqual(['k0', 'k0', 'k0'])
    expect(await lab.events('key_moved')).toEqual([])
  })

  test('I11 C10 evidence that it had landed voids a send that was not used yet', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 5_000, timeoutMs: 1_000 })
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    // It times out, a person fails it, and somebody who made sure tries it again too early.
    expect(await lab.process(flowing, null)).toBe('parked')
    await lab.decide({ outcome: 'fail' })
    await failed(lab, flowing)
    await lab.retry({ madeSure: true, calls: { 'mail#0': 'send' } })
    await lab.pass(10_000)
    expect((await lab.attempts())[0]).toMatchObject({ outcome: 'landed' })
    await failed(lab, flowing)
    expect(mail.sent).toHaveLength(1)
    expect(await lab.events('evidence_conflict')).toHaveLength(1)
    // The word that was voided binds nobody: what became of the call can be said after all.
    expect((await lab.failedCalls()).map(({ name }) => name)).toEqual(['mail#0'])
    await lab.retry({ calls: { 'mail#0': { happened: { id: 'seen' } } } })
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(await lab.output()).toEqual({ id: 'seen' })
    expect(mail.sent).toHaveLength(1)
  })

  test('I5 C10 what was said of a call is its own, though its place has moved', async () => {
    for (const [fate, sends] of [
      [{ happened: { id: 'seen' } }, 1],
      ['send', 2],
    ] as const) {
      const lab = new Lab()
      const to = (input: unknown) => (input as { to: string }).to
      const does = async (_: number, input: unknown) => {
        if (to(input) === 'ana') await work(lab, 5_000)
        return { id: to(input) }
      }
      const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 10, does })
      let order = ['ana', 'bo']
      const flowing = flow([mail.tool], (ctx) =>
        Promise.all(order.map((to) => ctx.call(mail.tool, { to }))),
      )
      await lab.process(flowing, null, { killWhen: () => lab.durable('mail') })
      expect(await lab.process(flowing, null)).toBe('parked')
      await lab.decide({ outcome: 'fail' })
      await failed(lab, flowing)
      order = ['bo', 'ana']
      await lab.retry({ madeSure: true, calls: { 'mail#0': fate } })
      await lab.process(flowing, null)
      const sent = mail.sent.filter(({ input }) => to(input) === 'ana')
      expect([fate, sent.length]).toEqual([fate, sends])
      expect(mail.sent.filter(({ input }) => to(input) === 'bo')).toHaveLength(1)
    }
  })
})

describe('C10 runs that failed for other reasons', () => {
  test('C10 node code that threw: tried again, nothing to say, nothing repeated', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    let broken = true
    const flowing = flow([mail.tool], async (ctx) => {
      const { id } = await ctx.call(mail.tool, 1)
      if (broken) throw new Error('bug')
      return id
    })
    await failed(lab, flowing)
    await lab.retry()
    await failed(lab, flowing)
    broken = false
    await lab.retry()
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(await lab.output()).toBe('mail1')
    expect(mail.sent).toHaveLength(1)
    expect((await lab.run()).errorJson).toBe(null)
  })

  test('C10 an abandoned run is taken up where it was, and asks again', async () => {
    const lab = new Lab()
    const flowing = flow([], async (ctx) => (await ctx.approval({ title: 'Go?' })).outcome)
    await lab.process(flowing, null)
    const first = await lab.item()
    await lab.decide({ outcome: 'abandon' })
    await lab.retry()
    expect(await lab.process(flowing, null)).toBe('parked')
    expect((await lab.item()).itemId).not.toBe(first.itemId)
    await lab.decide({ outcome: 'approve' })
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(await lab.output()).toBe('approve')
  })

  test('C10 I5 an abandoned doubt is a doubt again', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await lab.process(flowing, null, { killWhen: () => mail.sent.length === 1 })
    await lab.process(flowing, null)
    await lab.decide({ outcome: 'abandon' })
    await lab.retry()
    expect(await lab.process(flowing, null)).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'unknown', state: 'open' })
    expect(mail.sent).toHaveLength(1)
  })

  test('C10 D10 a pure call that failed in a visit without checkpoint is sent again', async () => {
    const lab = new Lab()
    const look = failsOnce(lab, 'pure')
    const steps = graph({
      id: 'w@1.0.0',
      state: z.object({ n: z.number() }),
      output: z.string(),
      tools: [look.tool],
      start: 'first',
      nodes: {
        first: async (_state, ctx) => ctx.go('second', { n: 1 }),
        second: {
          checkpoint: 'before_effects',
          run: async (state, ctx) => ctx.done((await ctx.call(look.tool, state.n)).id),
        },
      },
    }) as Graph
    await lab.process(steps, { n: 0 })
    expect(await lab.state()).toBe('failed')
    expect((await lab.failedCalls()).map((each) => each.name)).toEqual(['mail#0'])
    await lab.retry({ calls: { 'mail#0': 'send' } })
    expect(await lab.process(steps, { n: 0 })).toBe('ended')
    expect(await lab.output()).toBe('mail2')
  })

  test('C10 an input that has moved since: the send goes to its place, and once', async () => {
    const lab = new Lab()
    const mail = failsOnce(lab, 'unsafe_on_replay')
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, { at: lab.clock.now() }))
    await failed(lab, flowing)
    await lab.retry({ calls: { 'mail#0': 'send' } })
    await lab.pass(1_000)
    expect(await lab.process(flowing, null)).toBe('ended')
    expect(await lab.output()).toEqual({ id: 'mail2' })
    expect(mail.sent).toHaveLength(2)
  })

  test('C10 a result that does not fit is asked for again; "fail" ends it', async () => {
    const lab = new Lab()
    const output = z.object({ id: z.string() })
    const mail = failsOnce(lab, 'unsafe_on_replay', { output })
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await failed(lab, flowing)
    await lab.retry({ calls: { 'mail#0': { happened: 'nonsense' } } })
    expect(await lab.process(flowing, null)).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'failed' })
    await lab.decide({ outcome: 'fail' })
    await failed(lab, flowing)
    expect(mail.sent).toHaveLength(1)
  })
})

describe('C10 E1 the risk policy is asked about what is sent again', () => {
  test('E1 C10 a call that was rejected is not sent by a retry, but held again', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const policy: RiskPolicy = () => ({ ask: { deciders: ['cfo'] } })
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    await lab.process(flowing, null, { policy })
    await lab.decide({ outcome: 'reject', by: 'cfo' })
    await lab.process(flowing, null, { policy })
    expect(await lab.state()).toBe('failed')
    await lab.retry({ calls: { 'mail#0': 'send' } })
    expect(await lab.process(flowing, null, { policy })).toBe('parked')
    expect(await lab.item()).toMatchObject({ kind: 'approval' })
    expect(mail.sent).toEqual([])
    await lab.decide({ outcome: 'approve', by: 'cfo' })
    expect(await lab.process(flowing, null, { policy })).toBe('ended')
    expect(await lab.state()).toBe('completed')
    expect(mail.sent).toHaveLength(1)
    expect(await lab.findings()).toEqual([])
  })

  test('E1 C10 what the policy refused is refused again, unless it thinks otherwise', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay')
    const flowing = flow([mail.tool], (ctx) => ctx.call(mail.tool, 1))
    const refuses: RiskPolicy = () => ({ refuse: 'frozen' })
    await lab.process(flowing, null, { policy: refuses })
    for (const policy of [refuses, (() => 'run') as RiskPolicy]) {
      expect(await lab.state()).toBe('failed')
      expect(mail.sent).toEqual([])
      await lab.retry({ calls: { 'mail#0': 'send' } })
      await lab.process(flowing, null, { policy })
    }
    expect(await lab.state()).toBe('completed')
    expect(mail.sent).toHaveLength(1)
    expect(await lab.findings()).toEqual([])
  })

  test('E1 C10 held by a retry and killed at every event: one item, one send', async () => {
    await atEveryEvent(async (kill) => {
      const { lab, mail, flowing } = scene()
      await failed(lab, flowing)
      await lab.retry({ calls: { 'mail#0': 'send' } })
      const policy: RiskPolicy = ({ tool }) => (tool === 'mail' ? { ask: true } : 'run')
      await lab.process(flowing, null, { policy, killWhen: kill.in(lab) })
      await lab.process(flowing, null, { policy })
      const items = await lab.items()
      await lab.wish('pause')
      await lab.wish('resume')
      expect(await lab.process(flowing, null, { policy })).toBe('parked')
      expect(await lab.items()).toEqual(items)
      expect(items).toHaveLength(1)
      expect(await lab.events('asked')).toHaveLength(1)
      expect(mail.sent).toHaveLength(1)
      await lab.decide({ outcome: 'approve' })
      expect(await lab.process(flowing, null, { policy })).toBe('ended')
      expect(await lab.output()).toEqual(['before1', 'mail2', 'after1'])
      expect(mail.sent).toHaveLength(2)
    })
  })
})
