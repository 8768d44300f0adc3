// Three kinds of error for three classes: certainly not sent, refused, unknown.
import { expect, test } from 'vitest'
import { NotSentError, RefusedError, type ReplayClass } from '../../src/index.ts'
import type { Context } from '../../src/model/graph/context.ts'
import { type Fake, type FakeOptions, fake, flow, Lab } from '../lab.ts'

const classes: readonly ReplayClass[] = ['pure', 'idempotent_with_key', 'unsafe_on_replay']
const lost = () => {
  throw new Error('connection lost')
}
const notSent = () => {
  throw new NotSentError('no route')
}
const refuse = () => {
  throw new RefusedError('card declined')
}

/** What the node sees of one call: its result, or the error's class, code and message. */
function seeing(calls: readonly Fake<unknown>[], seen: unknown[] = []) {
  const tools = calls.map((each) => each.tool)
  const look = async (ctx: Context, each: Fake<unknown>) => {
    try {
      return await ctx.call(each.tool, { n: 1 })
    } catch (error) {
      const { code, message, failure } = error as Error & { code: string; failure?: unknown }
      return { class: (error as Error).constructor.name, code, message, failure }
    }
  }
  return flow(tools, async (ctx) => {
    for (const each of calls) seen.push(await look(ctx, each))
    return seen.at(-1)
  })
}

function one(replayClass: ReplayClass, options: FakeOptions) {
  const lab = new Lab()
  const t = fake<unknown>(lab, 't', replayClass, options)
  return { lab, t, graph: seeing([t]) }
}

for (const replayClass of classes) {
  test(`G2 not sent, ${replayClass}: tried again with backoff until it lands`, async () => {
    const does = (n: number) => (n < 3 ? notSent() : 'ok')
    const { lab, t, graph } = one(replayClass, { ms: 1, does })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toBe('ok')
    const [first, second, third] = t.sent.map((each) => each.at) as [number, number, number]
    // 200 ms, then 400 ms, halved at most by jitter.
    expect(second - first).toBeGreaterThanOrEqual(100)
    expect(third - second).toBeGreaterThanOrEqual(200)
    expect(third - second).toBeLessThanOrEqual(450)
    expect(await lab.events('doubt')).toEqual([])
  })

  test(`G2 not sent, ${replayClass}: stops at attemptMax, and has failed for certain`, async () => {
    const { lab, t, graph } = one(replayClass, { ms: 1, does: notSent, retry: { attemptMax: 4 } })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toMatchObject({ code: 'CALL_FAILED', message: 't: no route' })
    expect(t.sent).toHaveLength(4)
    expect((await lab.records())[0]?.status).toBe('failed')
  })

  test(`G2 refused, ${replayClass}: recorded, not retried, alike on replay`, async () => {
    const lab = new Lab()
    const t = fake<unknown>(lab, 't', replayClass, { ms: 1, does: refuse })
    const nap = fake<unknown>(lab, 'nap', 'pure', { ms: 500 })
    const seen: unknown[] = []
    const graph = seeing([t, nap], seen)
    await lab.process(graph, null, { killWhen: () => lab.durable('t', 'failed') })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(seen).toHaveLength(3)
    expect(seen[1]).toEqual(seen[0])
    expect(seen[0]).toMatchObject({
      class: 'CallFailedError',
      code: 'CALL_FAILED',
      message: 't: card declined',
      failure: { name: 'RefusedError', code: 'REFUSED' },
    })
    expect(t.sent).toHaveLength(1)
  })
}

test('I1 B3 every attempt has its own intent, durable before it is dispatched', async () => {
  const lab = new Lab()
  const durable: boolean[] = []
  const does = (n: number) => {
    const attempts = lab.commits.flatMap((commit) => commit.changes.attempts ?? [])
    durable.push(attempts.some((row) => row.attempt === n && row.endedAt === null))
    return n < 3 ? notSent() : 'ok'
  }
  const t = fake<unknown>(lab, 't', 'unsafe_on_replay', { ms: 0, does })
  await lab.process(seeing([t]), null)
  expect(durable).toEqual([true, true, true])
  const ends = (await lab.attempts()).map((row) => row.outcome)
  expect(ends.slice(0, 2)).toEqual(['not_sent', 'not_sent'])
  const [record] = await lab.records()
  expect(record).toMatchObject({ status: 'committed', attempt: 3, workerId: 'w1' })
})

test('G2 a crash between two attempts not sent: the next process does not ask', async () => {
  const does = (n: number) => (n === 1 ? notSent() : 'ok')
  const { lab, t, graph } = one('unsafe_on_replay', { ms: 1, does, retry: { backoffMs: 5_000 } })
  const ended = () =>
    lab.commits.some((c) => c.changes.attempts?.some((row) => row.outcome === 'not_sent'))
  expect(await lab.process(graph, null, { killWhen: ended })).toBe('crash')
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('ok')
  expect(t.sent.map((each) => each.attempt)).toEqual([1, 2])
})

test('G2 unknown, pure: tried again, then failed; no intent, no question', async () => {
  const { lab, t, graph } = one('pure', { ms: 1, does: lost })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toMatchObject({ code: 'CALL_FAILED', message: 't: connection lost' })
  expect(t.sent).toHaveLength(3)
  expect(await lab.attempts()).toEqual([])
})

test('G1 G2 unknown, keyed: sent again with the recorded key, then a person', async () => {
  let n = 0
  const key = () => `stable-${n++ < 2 ? 'first' : 'moved'}`
  const { lab, t, graph } = one('idempotent_with_key', { ms: 1, does: lost, idempotencyKey: key })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(t.sent.map((each) => each.key)).toEqual(['stable-first', 'stable-first', 'stable-first'])
  expect(await lab.item()).toMatchObject({
    reason: 'unknown',
    body: { idempotencyKey: 'stable-first' },
  })
})

test('C2 G2 unknown, unsafe: sent once, then a person', async () => {
  const { lab, t, graph } = one('unsafe_on_replay', { ms: 1, does: lost })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(t.sent).toHaveLength(1)
  expect((await lab.records())[0]?.status).toBe('in_doubt')
  expect((await lab.item()).body.error?.code).toBe('REPLAY_UNSAFE')
})

for (const second of [refuse, notSent]) {
  test(`G2 ${second.name} after an unknown attempt is no certain failure`, async () => {
    const does = (n: number) => (n === 1 ? lost() : second())
    const { lab, t, graph } = one('idempotent_with_key', { ms: 1, does })
    expect(await lab.process(graph, null)).toBe('parked')
    expect(t.sent).toHaveLength(3)
    expect((await lab.item()).reason).toBe('unknown')
    expect((await lab.records())[0]?.status).toBe('in_doubt')
  })
}

test('G2 a refusal after a crash is no certain failure: the first may have landed', async () => {
  const { lab, t, graph } = one('idempotent_with_key', { ms: 100, does: refuse })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.records())[0]?.status).toBe('in_doubt')
})

test('G2 a refusal after a person ruled the first attempt out has failed for certain', async () => {
  const does = (n: number) => (n === 1 ? lost() : refuse())
  const { lab, t, graph } = one('unsafe_on_replay', { ms: 1, does })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'did_not_happen' })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toMatchObject({ code: 'CALL_FAILED', message: 't: card declined' })
  expect(t.sent).toHaveLength(2)
})

test('G1 keyed: an attempt that lands after an unknown one answers', async () => {
  const does = (n: number) => (n === 1 ? lost() : 'landed')
  const { lab, t, graph } = one('idempotent_with_key', { ms: 1, does })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('landed')
  expect(t.sent).toHaveLength(2)
})

test('I1 a tool that changes its input does not change what the next attempt sends', async () => {
  const does = (n: number, input: unknown) => {
    Object.assign(input as object, { n: 99 })
    return n === 1 ? notSent() : 'ok'
  }
  const { lab, t, graph } = one('unsafe_on_replay', { ms: 1, does })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(t.sent.map((each) => each.input)).toEqual([{ n: 1 }, { n: 1 }])
})

test('I1 A5 what is sent is what was recorded, though the node changes the object', async () => {
  const lab = new Lab()
  const got: unknown[] = []
  const graph = flow([], async (ctx) => {
    const input = { to: 'ana' }
    const step = ctx.step({ name: 'send', replayClass: 'unsafe_on_replay', input }, (sent) => {
      got.push(structuredClone(sent))
    })
    input.to = 'bob'
    await step
  })
  expect(await lab.process(graph, null)).toBe('ended')
  expect((await lab.records())[0]?.inputJson).toBe('{"to":"ana"}')
  expect(got).toEqual([{ to: 'ana' }])
})

const invalid: [string, FakeOptions][] = [
  ['does not validate', { output: numbers(), does: () => 'a string' }],
  ['is not plain data', { does: () => ({ at: new Date(0) }) }],
]

function numbers() {
  const validate = (value: unknown) =>
    typeof value === 'number' ? { value } : { issues: [{ message: 'not a number' }] }
  return { '~standard': { version: 1, vendor: 'test', validate } } as const
}

for (const [what, options] of invalid) {
  test(`A5 D9 output that ${what}: unsafe is in doubt, since it did happen`, async () => {
    const { lab, t, graph } = one('unsafe_on_replay', { ms: 1, ...options })
    expect(await lab.process(graph, null)).toBe('parked')
    expect(t.sent).toHaveLength(1)
    expect((await lab.item()).reason).toBe('unknown')
    expect(await lab.events('call_attempt_failed')).toHaveLength(1)
  })

  test(`A5 D9 output that ${what}: pure has failed, and says why`, async () => {
    const { lab, graph } = one('pure', { ms: 1, ...options })
    expect(await lab.process(graph, null)).toBe('ended')
    const { message } = (await lab.output()) as { message: string }
    expect(message).toMatch(
      what === 'is not plain data' ? /\$\.at is an instance of Date/ : /number/,
    )
  })
}

test('A5 input that does not validate never reaches a tool, and leaves no record', async () => {
  for (const replayClass of classes) {
    const lab = new Lab()
    const t = fake<unknown>(lab, 't', replayClass, { input: numbers() })
    expect(await lab.process(seeing([t]), null)).toBe('ended')
    expect(await lab.output()).toMatchObject({ code: 'INPUT_INVALID' })
    expect([t.sent, await lab.records()]).toEqual([[], []])
  }
})

test('A5 the hash is of the validated value: what a schema adds is recorded and sent', async () => {
  const lab = new Lab()
  const validate = async (value: unknown) => ({ value: { ...(value as object), lang: 'en' } })
  const input = { '~standard': { version: 1, vendor: 'test', validate } }
  const t = fake<unknown>(lab, 't', 'unsafe_on_replay', { input })
  await lab.process(seeing([t]), null)
  expect(t.sent[0]?.input).toEqual({ n: 1, lang: 'en' })
  expect((await lab.records())[0]?.inputJson).toBe('{"lang":"en","n":1}')
})

class Disposed extends Error {
  override get message(): string {
    throw new Error('stub disposed')
  }
}
const disposed = () => {
  const error = new Disposed()
  // Else what the base class has put there is read.
  Reflect.deleteProperty(error, 'message')
  return error
}
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable(new Error('gone'), {})
  revoke()
  return proxy
}

for (const [what, odd] of [
  ['an error whose message throws', disposed],
  ['a revoked proxy', revoked],
] as const) {
  test(`G2 ${what}, thrown by a node, fails its run: looking at it threw`, async () => {
    const lab = new Lab()
    const graph = flow([], async () => {
      throw odd()
    })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.state()).toBe('failed')
    expect((await lab.run()).errorJson).toContain('a value that cannot be shown')
  })

  test(`G2 ${what}, thrown by a tool, is an unknown outcome: looking at it threw`, async () => {
    const does = () => {
      throw odd()
    }
    const { lab, graph } = one('unsafe_on_replay', { ms: 1, does })
    const from = lab.clock.now()
    expect(await lab.process(graph, null)).toBe('parked')
    expect(await lab.item()).toMatchObject({ reason: 'unknown' })
    // At once, and not by the tool's timeout.
    expect(lab.clock.now() - from).toBeLessThan(1_000)
  })
}
