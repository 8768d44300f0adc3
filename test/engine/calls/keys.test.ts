// Idempotency keys and replay classes: what was recorded binds the code of today.
import { expect, test } from 'vitest'
import { recordedKey } from '../../../src/index.ts'
import { fake, flow, Lab } from '../../lab.ts'

const keyed = 'idempotent_with_key'
const unsafe = 'unsafe_on_replay'

for (const [what, key] of [
  [
    'a counter',
    (
      (n: number) => () =>
        `k${n++}`
    )(0),
  ],
  ['an empty key', () => ''],
  ['no string', () => 7 as unknown as string],
  ['one that no index holds', () => 'k'.repeat(513)],
  ['one that Postgres would keep otherwise', () => 'a\u0000b'],
] as const) {
  test(`A3 an unstable key (${what}) is refused before anything is sent or recorded`, async () => {
    const lab = new Lab()
    const t = fake(lab, 't', keyed, { idempotencyKey: key })
    const graph = flow([t.tool], (ctx) => ctx.call(t.tool, 1).catch((error) => error.code))
    expect(await lab.process(graph, null)).toBe('ended')
    expect(await lab.output()).toBe('KEY_UNSTABLE')
    expect([t.sent, await lab.records(), await lab.attempts()]).toEqual([[], [], []])
  })
}

test('A3 on resume the recorded key is sent though the function moved; an event', async () => {
  const lab = new Lab()
  let salt = 'a'
  const idempotencyKey = () => `k-${salt}`
  const t = fake(lab, 't', keyed, { idempotencyKey })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  salt = 'b'
  expect(await lab.process(graph, null)).toBe('ended')
  expect(t.sent.map((each) => each.key)).toEqual(['k-a', 'k-a'])
  expect(await lab.events('key_moved')).toMatchObject([{ data: { was: 'k-a', is: 'k-b' } }])
})

test('A3 a key function that throws on resume: the recorded key is sent', async () => {
  const lab = new Lab()
  let broken = false
  const idempotencyKey = () => {
    if (broken) throw new Error('the customer was deleted')
    return 'k'
  }
  const t = fake(lab, 't', keyed, { idempotencyKey })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  broken = true
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.state()).toBe('completed')
  expect(t.sent.map((each) => each.key)).toEqual(['k', 'k'])
  expect(await lab.events('key_moved')).toHaveLength(1)
})

test('A3 a key function that throws between two attempts: the process survives', async () => {
  const lab = new Lab()
  let calls = 0
  const idempotencyKey = () => {
    if (++calls > 2) throw new Error('only twice')
    return 'k'
  }
  const does = (n: number) => {
    if (n === 1) throw new Error('lost')
    return { id: 'ok' }
  }
  const t = fake(lab, 't', keyed, { ms: 1, idempotencyKey, does })
  const graph = flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  expect(await lab.process(graph, null)).toBe('ended')
  expect(t.sent.map((each) => each.key)).toEqual(['k', 'k'])
})

test('A3 a key function that throws at first: its own call is refused, unsent', async () => {
  const lab = new Lab()
  const idempotencyKey = () => {
    throw new Error('no customer')
  }
  const first = fake(lab, 'first', unsafe)
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const t = fake(lab, 't', keyed, { idempotencyKey })
  let held = false
  // On replay the keyed call comes first and waits for quiet; another call's match sets it free.
  const graph = flow([first.tool, t.tool, nap.tool], async (ctx) => {
    const call = held ? ctx.call(t.tool, 1).catch((error) => error.message) : null
    const { id } = await ctx.call(first.tool, 1)
    await ctx.call(nap.tool, 1)
    return [id, await call]
  })
  await lab.process(graph, null, { killWhen: () => lab.durable('first') })
  held = true
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['first1', expect.stringMatching(/no customer/)])
  expect(t.sent).toEqual([])
})

test('A3 recordedKey() is made once, and the same for every attempt', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', keyed, { idempotencyKey: recordedKey() })
  const graph = flow([t.tool], async (ctx) => {
    await ctx.call(t.tool, 1)
    await ctx.call(t.tool, 1)
  })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 2 })
  expect(await lab.process(graph, null)).toBe('ended')
  const keys = t.sent.map((each) => each.key)
  expect(keys[0]).toMatch(/\S/)
  expect([keys[1], keys[2]]).toEqual([keys[0], keys[0]])
  expect(keys[3]).not.toBe(keys[0])
  expect((await lab.records()).map((row) => row.idempotencyKey)).toEqual([keys[0], keys[3]])
  expect(await lab.events('key_moved')).toEqual([])
})

test('A3 the key is in the intent, durable before the first byte is sent', async () => {
  const lab = new Lab()
  const known: unknown[] = []
  const does = () => {
    known.push(lab.commits.flatMap((commit) => commit.changes.records ?? [])[0]?.idempotencyKey)
    return { id: 'ok' }
  }
  const t = fake(lab, 't', keyed, { ms: 0, idempotencyKey: recordedKey(), does })
  await lab.process(
    flow([t.tool], (ctx) => ctx.call(t.tool, 1)),
    null,
  )
  expect(known).toEqual([t.sent[0]?.key])
})

test('B1 the same tool and key with another input is a doubt', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', keyed, { idempotencyKey: () => 'same' })
  const graph = flow([t.tool], async (ctx) => {
    const first = await ctx.call(t.tool, { amount: 1 })
    const again = await ctx.call(t.tool, { amount: 1 })
    const other = await ctx.call(t.tool, { amount: 2 })
    return [first.id, again.id, other.id]
  })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(t.sent).toHaveLength(2)
  expect(await lab.item()).toMatchObject({ reason: 'key_conflict', body: { input: { amount: 2 } } })
  await lab.decide({ outcome: 'happened', result: { id: 'by hand' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual(['t1', 't2', 'by hand'])
  expect(t.sent).toHaveLength(2)
})

test('B1 a key conflict is seen between parallel calls, and after a crash', async () => {
  const lab = new Lab()
  const t = fake(lab, 't', keyed, { idempotencyKey: () => 'same' })
  const graph = flow([t.tool], async (ctx) => {
    await Promise.all([ctx.call(t.tool, { amount: 1 }), ctx.call(t.tool, { amount: 2 })])
  })
  await lab.process(graph, null, { killWhen: () => t.sent.length === 1 })
  expect(await lab.process(graph, null)).toBe('parked')
  for (const each of t.sent) expect(each.input).toEqual({ amount: 1 })
  expect((await lab.item()).reason).toBe('key_conflict')
})

test('C2 A5 an unfit answer to a key conflict is asked again; no result is made up', async () => {
  const lab = new Lab()
  const validate = (value: unknown) =>
    typeof (value as { id?: unknown } | null)?.id === 'string'
      ? { value }
      : { issues: [{ message: 'id' }] }
  const output = { '~standard': { version: 1, vendor: 'test', validate } }
  const t = fake(lab, 't', keyed, { idempotencyKey: () => 'same', output })
  const graph = flow([t.tool], async (ctx) => {
    await ctx.call(t.tool, { amount: 1 })
    return ctx.call(t.tool, { amount: 2 })
  })
  await lab.process(graph, null)
  await lab.decide({ outcome: 'happened', result: { wrong: true } })
  expect(await lab.process(graph, null)).toBe('parked')
  expect(await lab.events('decision_unusable')).toHaveLength(1)
  const item = await lab.item()
  expect(item.reason).toBe('key_conflict')
  // "It did not happen" must be no way to a made-up result.
  const said = { outcome: 'did_not_happen' as const }
  await expect(lab.decide(said)).rejects.toMatchObject({ code: 'DECISION_INVALID' })
  await lab.decide({ outcome: 'happened', result: { id: 'by hand' } })
  expect(await lab.process(graph, null)).toBe('ended')
  expect(await lab.output()).toEqual({ id: 'by hand' })
})

/** The same tool under another class in the next version of the code. */
async function reclassed(was: 'pure' | typeof keyed | typeof unsafe, is: typeof was) {
  const lab = new Lab()
  const old = fake(lab, 't', was)
  const now = fake(lab, 't', is)
  const graph = (t: typeof old) => flow([t.tool], async (ctx) => (await ctx.call(t.tool, 1)).id)
  await lab.process(graph(old), null, { killWhen: () => old.sent.length === 1 })
  const end = await lab.process(graph(now), null)
  return { lab, end, now }
}

for (const [was, is] of [
  [unsafe, keyed],
  [unsafe, 'pure'],
  [keyed, unsafe],
] as const) {
  test(`A4 class changed from ${was} to ${is}: a person is asked`, async () => {
    const { lab, end, now } = await reclassed(was, is)
    expect(end).toBe('parked')
    expect(now.sent).toEqual([])
    expect((await lab.item()).reason).toBe('unknown')
    expect(await lab.events('class_changed')).toMatchObject([{ data: { was, is } }])
  })
}

test('A4 class changed from keyed to pure: sent again with the recorded key', async () => {
  const { lab, end, now } = await reclassed(keyed, 'pure')
  expect(end).toBe('ended')
  expect(now.sent.map((each) => [each.key, each.attempt])).toEqual([['key-t', 2]])
  expect((await lab.records())[0]).toMatchObject({ replayClass: keyed, status: 'committed' })
  expect(await lab.events('class_changed')).toHaveLength(1)
})

test('A4 a committed record answers whatever the class is now', async () => {
  const lab = new Lab()
  const old = fake(lab, 't', 'pure', { ms: 1 })
  const now = fake(lab, 't', unsafe)
  const nap = fake(lab, 'nap', 'pure', { ms: 500 })
  const graph = (t: typeof old) =>
    flow([t.tool, nap.tool], async (ctx) => {
      const { id } = await ctx.call(t.tool, 1)
      await ctx.call(nap.tool, 1)
      return id
    })
  await lab.process(graph(old), null, { killWhen: () => lab.durable('t') })
  expect(await lab.process(graph(now), null)).toBe('ended')
  expect(now.sent).toEqual([])
  expect(await lab.events('class_changed')).toHaveLength(1)
})
