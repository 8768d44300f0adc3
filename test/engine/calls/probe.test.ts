// A timeout is not a failure: the upstream is asked, and late answers are evidence.
import { expect, test } from 'vitest'
import type { CallInfo, ReplayClass } from '../../../src/index.ts'
import { type FakeOptions, fake, flow, Lab } from '../../lab.ts'

const never = new Promise<never>(() => {})
type Landed = 'yes' | 'no' | 'unknown' | 'throws' | 'hangs' | 'odd'

/** A tool that takes a second and gives up after 100 ms, with a probe that answers as told. */
function slow(lab: Lab, replayClass: ReplayClass, landed: Landed | null, more: FakeOptions = {}) {
  const asked: { key: string | null; attempt: number; input: unknown }[] = []
  const probe = async (input: unknown, call: CallInfo) => {
    asked.push({ key: call.idempotencyKey, attempt: call.attempt, input })
    if (landed === 'throws') throw new Error('the upstream is down')
    if (landed === 'hangs') return never
    if (landed === 'odd') return 'what?'
    return landed === 'yes' ? { landed, result: { id: 'probed' } } : { landed }
  }
  const own = landed === null ? {} : { probe }
  const t = fake(lab, 't', replayClass, { ms: 1_000, timeoutMs: 100, ...own, ...more })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, { n: 1 })).id)
  return { t, asked, graph }
}

test('G1 a timeout aborts the signal; its late return closes the doubt', async () => {
  const lab = new Lab()
  let signal: AbortSignal | null = null
  const does = (_n: number, _input: unknown, call: CallInfo) => {
    signal = call.abortSignal
    return { id: 'late' }
  }
  const t = fake(lab, 't', 'unsafe_on_replay', { ms: 1_000, timeoutMs: 100, does })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  expect(await lab.process(graph, null)).toBe('parked')
  const item = await lab.item()
  expect(await lab.attempts()).toMatchObject([{ endedAt: null, outcome: null }])
  await lab.pass(2_000)
  expect((signal as AbortSignal | null)?.aborted).toBe(true)
  expect(await lab.items()).toEqual([])
  expect(await lab.state()).toBe('pending')
  expect(await lab.attempts()).toMatchObject([{ outcome: 'landed' }])
  expect(await lab.store.getItem('default', item.itemId)).toMatchObject({
    state: 'closed',
    version: item.version + 1,
  })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('late')
  expect(t.sent).toHaveLength(1)
})

test('G1 a listener on the signal hears of the timeout when it comes', async () => {
  const lab = new Lab()
  const heard: string[] = []
  const does = (_n: number, _input: unknown, { abortSignal }: CallInfo) => {
    abortSignal.addEventListener('abort', () => heard.push(abortSignal.reason.name))
    return never
  }
  const t = fake(lab, 't', 'unsafe_on_replay', { ms: 0, timeoutMs: 100, does })
  expect(
    await lab.process(
      flow([t.tool], (ctx) => ctx.call(t.tool, 1)),
      null,
    ),
  ).toBe('parked')
  expect(heard).toEqual(['TimeoutError'])
})

test('G1 unsafe, timed out, probe yes: a receipt, and nobody is asked', async () => {
  const lab = new Lab()
  const { t, asked, graph } = slow(lab, 'unsafe_on_replay', 'yes')
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('probed')
  expect(asked).toEqual([{ key: null, attempt: 1, input: { n: 1 } }])
  expect(await lab.events('doubt')).toEqual([])
  await lab.pass(2_000)
  expect(t.sent).toHaveLength(1)
})

test('I10 I11 a late return while the probe is out: the park does not overlook it', async () => {
  const lab = new Lab()
  const { t, graph } = slow(lab, 'unsafe_on_replay', 'hangs')
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('t1')
  expect(t.sent).toHaveLength(1)
})

test('G1 I11 after a probe said yes, the late return of that attempt is no conflict', async () => {
  const lab = new Lab()
  const { graph } = slow(lab, 'unsafe_on_replay', 'yes')
  await lab.process(graph, null)
  await lab.pass(2_000)
  expect(await lab.events('evidence_conflict')).toEqual([])
})

for (const landed of ['no', 'unknown', 'throws', 'hangs', 'odd'] as const) {
  test(`G1 C2 unsafe, timed out, probe ${landed}: a person, and never a second send`, async () => {
    const lab = new Lab()
    const { t, asked, graph } = slow(lab, 'unsafe_on_replay', landed, { ms: 100_000 })
    expect(await lab.process(graph, null)).toBe('parked')
    expect([t.sent.length, asked.length]).toEqual([1, 1])
    const probe = landed === 'no' ? 'no' : 'unknown'
    expect(await lab.item()).toMatchObject({ reason: 'unknown', body: { probe } })
  })

  test(`G1 keyed, timed out, probe ${landed}: sent again with the recorded key`, async () => {
    const lab = new Lab()
    const ms = (n: number) => (n === 1 ? 100_000 : 10)
    const { t, asked, graph } = slow(lab, 'idempotent_with_key', landed, { ms })
    expect(await lab.process(graph, null)).toBe('ended')
    expect(t.sent.map((each) => each.key)).toEqual(['key-t', 'key-t'])
    expect(asked).toMatchObject([{ key: 'key-t', attempt: 1 }])
  })
}

test('G1 keyed, timed out, probe yes: a receipt, not sent again', async () => {
  const lab = new Lab()
  const { t, graph } = slow(lab, 'idempotent_with_key', 'yes')
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('probed')
  expect(t.sent).toHaveLength(1)
})

test('G1 A3 on resume the probe is asked with the original key and input', async () => {
  const lab = new Lab()
  let now = 'first'
  const idempotencyKey = () => `key-${now}`
  const { t, asked, graph } = slow(lab, 'idempotent_with_key', 'yes', { idempotencyKey })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  now = 'second'
  expect(await lab.process(graph, null)).toBe('ended')
  expect(asked).toEqual([{ key: 'key-first', attempt: 1, input: { n: 1 } }])
  expect(await lab.output()).toBe('probed')
  expect(t.sent).toHaveLength(1)
})

for (const landed of ['no', 'unknown', 'throws', 'hangs'] as const) {
  test(`G1 C2 unsafe on resume, probe ${landed}: a person`, async () => {
    const lab = new Lab()
    const { t, asked, graph } = slow(lab, 'unsafe_on_replay', landed)
    await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
    expect(await lab.process(graph, null)).toBe('parked')
    expect([t.sent.length, asked.length]).toEqual([1, 1])
  })
}

test('G1 unsafe on resume, probe yes: a receipt, and not asked for again', async () => {
  const lab = new Lab()
  const { t, asked, graph } = slow(lab, 'unsafe_on_replay', 'yes')
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  await lab.process(graph, null, { killWhen: () => lab.durable('t') })
  await lab.process(graph, null)
  expect(await lab.output()).toBe('probed')
  expect([t.sent.length, asked.length]).toEqual([1, 1])
})

test('A5 C2 a probed result that does not validate is not a receipt', async () => {
  const lab = new Lab()
  const validate = (value: unknown) =>
    (value as { id: string }).id === 'probed' ? { issues: [{ message: 'not this' }] } : { value }
  const output = { '~standard': { version: 1, vendor: 'test', validate } }
  const { t, graph } = slow(lab, 'unsafe_on_replay', 'yes', { output })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect((await lab.records())[0]?.status).toBe('in_doubt')
})

for (const landed of ['no', 'unknown', null] as const) {
  test(`G1 the key window has passed, probe ${landed}: never sent again, a person`, async () => {
    const lab = new Lab()
    const { t, graph } = slow(lab, 'idempotent_with_key', landed, { keyTtlMs: 500 })
    await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
    expect(await lab.process(graph, null)).toBe('parked')
    expect(t.sent).toHaveLength(1)
    expect((await lab.item()).reason).toBe('unknown')
  })
}

test('G1 the key window has passed, probe yes: still a receipt', async () => {
  const lab = new Lab()
  const { t, graph } = slow(lab, 'idempotent_with_key', 'yes', { keyTtlMs: 500 })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toBe('probed')
})

test('G1 the key window counts from the first intent: a resend opens no new one', async () => {
  const lab = new Lab()
  const { t, graph } = slow(lab, 'idempotent_with_key', null, { keyTtlMs: 1_500 })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  // A second later, within the window; and again a second later, outside.
  await lab.process(graph, null, { killWhen: () => t.sent.length === 2 })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(t.sent).toHaveLength(2)
})

test('G1 within one process too: retries stop when the window closes', async () => {
  const lab = new Lab()
  const does = () => {
    throw new Error('lost')
  }
  const retry = { attemptMax: 10, backoffMs: 400, backoffMaxMs: 400 }
  const { t, graph } = slow(lab, 'idempotent_with_key', null, {
    ms: 1,
    does,
    retry,
    keyTtlMs: 1_000,
  })
  expect(await lab.process(graph, null)).toBe('parked')
  const [first] = t.sent
  for (const each of t.sent) expect(each.at - (first?.at ?? 0)).toBeLessThan(1_000)
  expect(t.sent.length).toBeLessThan(10)
})
