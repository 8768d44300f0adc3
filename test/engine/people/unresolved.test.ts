// What a person may say about an unknown outcome, when, and what it binds.
import { expect, test } from 'vitest'
import { type DecideRequest, NotSentError } from '../../../src/index.ts'
import { type FakeOptions, fake, flow, Lab } from '../../lab.ts'

const lost = () => {
  throw new Error('lost')
}

test('C2 a call failed without knowledge throws OutcomeUnknownError, alike on replay', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { does: lost })
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const seen: unknown[] = []
  const graph = flow([t.tool, nap.tool], async (ctx) => {
    await ctx.call(t.tool, 1).catch((error) => {
      seen.push([error.constructor.name, error.code, error.message])
    })
    await ctx.call(nap.tool, 1)
  })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'fail', reason: 'nobody can tell' })
  await lab.process(graph, null, { killWhen: () => nap.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(seen).toHaveLength(2)
  expect(seen[1]).toEqual(seen[0])
  expect(seen[0]).toEqual([
    'OutcomeUnknownError',
    'OUTCOME_UNKNOWN',
    expect.stringMatching(/nobody can tell/),
  ])
  expect((await lab.records())[0]).toMatchObject({ status: 'failed', unresolved: true })
})

test('C2 the same call again goes to a person at every resume; another input not', async () => {
  const lab = new Lab()
  const does = (n: number) => (n === 1 ? lost() : { id: `t${n}` })
  const t = fake(lab, 't', 'unsafe_on_replay', { does })
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const graph = flow([t.tool, nap.tool], async (ctx) => {
    const first = await ctx.call(t.tool, { to: 'ana' }).catch(() => ctx.call(t.tool, { to: 'bob' }))
    await ctx.call(nap.tool, 1)
    // A retry written by the user, or by a model that was told of the error.
    return [first.id, (await ctx.call(t.tool, { to: 'ana' })).id]
  })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'fail' })
  await lab.process(graph, null, { killWhen: () => lab.durable('t') })
  expect(t.sent.map((each) => each.input)).toEqual([{ to: 'ana' }, { to: 'bob' }])
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.item()).toMatchObject({ reason: 'unresolved', body: { input: { to: 'ana' } } })
  expect(t.sent).toHaveLength(2)
  await lab.decide({ outcome: 'send' })
  expect(await lab.process(graph, null, { killWhen: () => t.sent.length === 3 })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unknown')
  await lab.decide({ outcome: 'happened', result: { id: 'seen' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['t2', 'seen'])
  expect(t.sent).toHaveLength(3)
})

test('C2 a loop that tries until it works: three decisions, one send, no accident', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { does: lost })
  const graph = flow([t.tool], async (ctx) => {
    for (;;) {
      try {
        return (await ctx.call(t.tool, 1)).id
      } catch {
        // A model would be told, and would try again.
      }
    }
  })
  expect(await lab.process(graph, null)).toBe('parked')
  await lab.decide({ outcome: 'fail' })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unresolved')
  await lab.decide({ outcome: 'fail' })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.item()).reason).toBe('unresolved')
  await lab.decide({ outcome: 'happened', result: { id: 'by hand' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('by hand')
  expect(t.sent).toHaveLength(1)
})

test('C2 A5 an unfit `happened` is asked again, and the next word counts', async () => {
  for (const next of ['happened', 'did_not_happen'] as const) {
    const lab = new Lab()
    const validate = (value: unknown) =>
      typeof (value as { id?: unknown } | null)?.id === 'string'
        ? { value }
        : { issues: [{ message: 'needs an id' }] }
    const output = { '~standard': { version: 1, vendor: 'test', validate } }
    const does = (n: number) => (n === 1 ? lost() : { id: 'sent again' })
    const t = fake(lab, 't', 'unsafe_on_replay', { does, output })
    const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
    await lab.process(graph, null)
    await lab.decide({ outcome: 'happened', result: { no: 'id' } })
    expect(await lab.process(graph, null)).toBe('parked')
    expect(await lab.events('decision_unusable')).toHaveLength(1)
    const fit = next === 'happened' ? { result: { id: 'seen' } } : {}
    await lab.decide({ outcome: next, ...fit })
    expect([next, await lab.process(graph, null)]).toEqual([next, 'ended'])
    expect(await lab.output()).toBe(next === 'happened' ? 'seen' : 'sent again')
    expect(t.sent).toHaveLength(next === 'happened' ? 1 : 2)
  }
})

test('I5 "did not happen" allows one more attempt: the next unknown end asks again', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { does: lost })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph, null)
  for (let n = 2; n <= 4; n++) {
    const { itemId } = await lab.item()
    await lab.decide({ outcome: 'did_not_happen' })
    expect(await lab.process(graph, null)).toBe('parked')
    expect(t.sent).toHaveLength(n)
    expect((await lab.item()).itemId).not.toBe(itemId)
  }
})

test('G2 I5 a grant rules the earlier attempts out for later resumes too', async () => {
  const lab = new Lab()
  const does = (n: number) => {
    if (n === 2) throw new NotSentError('no route')
    return n === 1 ? lost() : { id: `t${n}` }
  }
  const t = fake(lab, 't', 'unsafe_on_replay', { does, retry: { backoffMs: 5_000 } })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph, null)
  await lab.decide({ outcome: 'did_not_happen' })
  const ended = () =>
    lab.commits.some((each) => each.changes.attempts?.some((row) => row.outcome === 'not_sent'))
  expect(await lab.process(graph, null, { killWhen: ended })).toBe('crash')
  // The first was ruled out by a person, the second was certainly not sent: nobody is asked.
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('t3')
  expect(t.sent).toHaveLength(3)
})

test('I11 a grant is used up though the process dies before it sends: it asks', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { does: lost })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph, null)
  await lab.decide({ outcome: 'did_not_happen' })
  const used = () => lab.commits.some((each) => each.changes.decisions?.some((d) => d.usedBy))
  expect(await lab.process(graph, null, { killWhen: used })).toBe('crash')
  expect(t.sent).toHaveLength(1)
  expect(await lab.process(graph, null)).toBe('parked')
  expect(t.sent).toHaveLength(1)
  expect((await lab.item()).body.attempt).toBe(2)
})

test('C2 two people at once: one wins, one is told; a word said twice is one', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', { does: lost })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph, null)
  const { itemId, version } = await lab.item()
  const ana: DecideRequest = {
    outcome: 'happened',
    result: { id: 1 },
    by: 'ana',
    reason: 'log',
    version,
  }
  await lab.inbox.decide(itemId, ana)
  const { result: _, ...said } = ana
  const bob = lab.inbox.decide(itemId, { ...said, by: 'bob', outcome: 'fail', madeSure: true })
  await expect(bob).rejects.toMatchObject({ code: 'ITEM_CLOSED' })
  await lab.inbox.decide(itemId, ana)
  expect(await lab.decisions()).toHaveLength(1)
})

async function inDoubt(options: FakeOptions, process: { killed: boolean; notDead?: boolean }) {
  const lab = new Lab()
  const t = fake(lab, 't', 'unsafe_on_replay', options)
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  if (process.killed) {
    await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
    await lab.process(graph, null, { notDead: process.notDead === true })
  } else await lab.process(graph, null)
  const item = await lab.item()
  const say = (outcome: DecideRequest['outcome'], more: Partial<DecideRequest> = {}) => {
    const said = { outcome, by: 'ana', reason: 'looked', version: item.version, ...more }
    return lab.inbox.decide(item.itemId, said)
  }
  return { lab, t, graph, item, say }
}

const early = { code: 'DECISION_TOO_EARLY' }

for (const outcome of ['did_not_happen', 'fail'] as const) {
  test(`I5 ${outcome} is refused while an attempt may be running`, async () => {
    const { lab, item, say } = await inDoubt({ ms: 1e6 }, { killed: true, notDead: true })
    await lab.pass(3_600_000)
    await expect(say(outcome)).rejects.toMatchObject(early)
    await expect(say(outcome)).rejects.toThrow(/may still be running in worker w1/)
    expect((await lab.inbox.get(item.itemId)).quietUntil).toBe(Number.POSITIVE_INFINITY)
    expect(await lab.state()).toBe('waiting_human')
  })

  test(`I5 ${outcome} is refused within quietMs of the end, allowed after it`, async () => {
    const { lab, say } = await inDoubt({ ms: 1, does: lost }, { killed: false })
    await expect(say(outcome)).rejects.toMatchObject(early)
    await lab.pass(59_000)
    await expect(say(outcome)).rejects.toThrow(/may still arrive until/)
    await lab.pass(2_000)
    // A look taken earlier does not become good by waiting.
    const looked = { lookedAt: lab.clock.now() - 5_000 }
    await expect(say(outcome, looked)).rejects.toMatchObject(early)
    await say(outcome)
    expect(await lab.state()).toBe('pending')
  })

  test(`I5 ${outcome}: the quiet time begins with the death of the process`, async () => {
    const { lab, say } = await inDoubt({ ms: 1e6, quietMs: 5_000 }, { killed: true })
    await expect(say(outcome)).rejects.toMatchObject(early)
    await lab.pass(5_500)
    await say(outcome)
    expect(await lab.state()).toBe('pending')
  })

  test(`I5 ${outcome} with madeSure is allowed at once, and kept on record`, async () => {
    const { lab, say } = await inDoubt({ ms: 1e6 }, { killed: true, notDead: true })
    await say(outcome, { madeSure: true })
    expect(await lab.decisions()).toMatchObject([{ madeSure: true, by: 'ana', outcome }])
  })
}

test('I5 a tool that outlives its worker: death ends nothing', async () => {
  const options = { ms: 1e6, outlives: true, quietMs: 1_000 }
  const { lab, say } = await inDoubt(options, { killed: true })
  await lab.pass(3_600_000)
  await expect(say('did_not_happen')).rejects.toMatchObject(early)
})

test('I5 a timeout ends no attempt: its function has not returned', async () => {
  const { lab, say } = await inDoubt({ ms: 1e6, timeoutMs: 100, quietMs: 100 }, { killed: false })
  await lab.pass(10_000)
  await expect(say('did_not_happen')).rejects.toMatchObject(early)
})

test('I5 every earlier attempt counts: the second has ended, the first has not', async () => {
  const options = { quietMs: 1_000, does: lost, ms: (n: number) => (n === 1 ? 1e6 : 1) }
  const { lab, graph, say } = await inDoubt(options, { killed: true, notDead: true })
  await say('did_not_happen', { madeSure: true })
  expect(await lab.process(graph, null, { notDead: true })).toBe('parked')
  await lab.pass(10_000)
  const item = await lab.item()
  const said = {
    by: 'ana',
    reason: 'looked',
    version: item.version,
    outcome: 'did_not_happen' as const,
  }
  await expect(lab.inbox.decide(item.itemId, said)).rejects.toThrow(
    /attempt 1 may still be running/,
  )
})

test('I5 happened and abandon need no waiting', async () => {
  const first = await inDoubt({ ms: 1e6 }, { killed: true, notDead: true })
  await first.say('happened', { result: { id: 'x' } })
  expect(await first.lab.process(first.graph, null, { notDead: true })).toBe('ended')
  const second = await inDoubt({ ms: 1e6 }, { killed: true, notDead: true })
  await second.say('abandon')
  expect(await second.lab.state()).toBe('failed')
})

test('I5 the quiet time is 60 s and the timeout at least, unless the tool says', async () => {
  const lab = new Lab()
  const of = (options: FakeOptions) =>
    fake(lab, 't', 'unsafe_on_replay', options).tool.rules.quietMs
  expect([of({ timeoutMs: 10 }), of({ timeoutMs: 90_000 }), of({ quietMs: 7 })]).toEqual([
    60_000, 90_000, 7,
  ])
})
