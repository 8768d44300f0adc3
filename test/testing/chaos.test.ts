// chaos() inside one process: what is declared wrongly is found out, what is right passes.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Context, graph, RefusedError, tool, workflow } from '../../src/index.ts'
import { chaos, expectSafe, type MockCall } from '../../src/testing/index.ts'

const To = z.object({ to: z.string() })
const real = () => {
  throw new Error('nothing real may be sent')
}

const draft = tool({ name: 'draft', replayClass: 'pure', input: To, run: real as () => string })
const mail = tool({
  name: 'mail',
  replayClass: 'unsafe_on_replay',
  input: To.extend({ text: z.string() }),
  run: real as () => { id: string },
})
const charge = tool({
  name: 'charge',
  replayClass: 'idempotent_with_key',
  idempotencyKey: ({ to }, { runId }) => `${runId}:${to}`,
  keyTtlMs: Number.POSITIVE_INFINITY,
  input: To,
  run: real as () => { id: string },
})

const pay = workflow({
  id: 'pay@1.0.0',
  input: To,
  tools: [draft, mail, charge],
  run: async ({ to }, ctx) => {
    const text = await ctx.call(draft, { to })
    const [{ id }] = await Promise.all([ctx.call(charge, { to }), ctx.call(mail, { to, text })])
    return { id }
  },
})

const input = { to: 'acme' }
const mocks = {
  draft: ({ to }: { to: string }) => `Dear ${to}`,
  mail: () => ({ id: 'm-1' }),
  charge: (_: unknown, call: MockCall) => call.once(() => ({ id: 'c-1' })),
}

test('J2 a graph whose classes hold passes at every boundary', async () => {
  const report = await chaos({ graph: pay, input, mocks })
  expectSafe(report)
  expect(report).toMatchObject({ ok: true, subject: 'pay@1.0.0', store: 'memory', moving: [] })
  expect(report.points).toHaveLength(report.boundaries)
  expect(report.kills).toBeGreaterThan(report.boundaries * 0.9)
  const [drafts, charges, mails] = ['draft', 'charge', 'mail'].map((name) =>
    report.tools.find((one) => one.tool === name),
  )
  expect(drafts).toMatchObject({ effects: 0, effectsMax: 0, holds: 'assumed' })
  // Sent again with its key, and charged once.
  expect(charges).toMatchObject({ calls: 1, effects: 1, effectsMax: 1, doubts: 0, holds: 'yes' })
  expect(charges?.sentAgain).toBeGreaterThan(0)
  // Never sent again by itself: a person is asked, sometimes in vain.
  expect(mails).toMatchObject({ effects: 1, effectsMax: 1, duplicates: 0, lost: 0, holds: 'yes' })
  expect(mails?.doubts).toBeGreaterThan(mails?.doubtsInVain ?? 0)
  expect(mails?.doubtsInVain).toBeGreaterThan(0)
  const asking = report.points.filter(({ doubts }) => doubts.length > 0)
  expect(asking.map(({ deaths }) => deaths.join())).toContain('after mail')
})

test('J2 a keyed tool whose upstream ignores the key is found out', async () => {
  const ignoring = { ...mocks, charge: () => ({ id: 'c-1' }) }
  const report = await chaos({ graph: pay, input, mocks: ignoring })
  expect(report.ok).toBe(false)
  const found = report.tools.find(({ tool: name }) => name === 'charge')
  expect(found).toMatchObject({ effectsMax: 2, holds: 'no' })
  expect(found?.duplicates).toBeGreaterThan(0)
  expect(report.tools.filter(({ holds }) => holds === 'no')).toHaveLength(1)
  expect(() => expectSafe(report)).toThrow(/pay@1\.0\.0 is not safe:\n {2}duplicate: charge/)
})

test('J2 an unsafe tool that is declared pure is found out', async () => {
  const writes = (_: unknown, call: MockCall) => {
    call.effect()
    return 'Dear'
  }
  const lying = { ...mocks, draft: writes }
  const report = await chaos({ graph: pay, input, mocks: lying })
  const found = report.tools.find(({ tool: name }) => name === 'draft')
  expect(found).toMatchObject({ replayClass: 'pure', effects: 1, effectsMax: 2, holds: 'no' })
})

test('J2 an end that differs is found, and what moves by itself is not taken for it', async () => {
  let drafts = 0
  const changing = { ...mocks, draft: () => `draft ${++drafts % 2}` }
  const read = workflow({
    id: 'read@1.0.0',
    input: To,
    tools: [draft],
    run: async ({ to }, ctx) => {
      const text = await ctx.call(draft, { to })
      return { text, at: await ctx.now() }
    },
  })
  let nth = 0
  const steady = { draft: () => 'the same' }
  const fine = await chaos({ graph: read, input, mocks: steady })
  expect([fine.ok, fine.moving]).toEqual([true, ['output.at']])
  // The first two runs agree; later a pure call that is made again is answered otherwise.
  const fickle = { draft: () => (++nth > 2 ? `draft ${nth}` : 'first') }
  const report = await chaos({ graph: read, input, mocks: fickle })
  expect(report.ok).toBe(false)
  const [first] = report.points.flatMap(({ findings }) => findings)
  expect(first).toMatchObject({ kind: 'end', tool: null })
  expect(first?.message).toMatch(/output\.text is "draft \d+" instead of "first"/)
  const ignored = { ...{ graph: read, input, ignore: ['output.text'] } }
  expect((await chaos({ ...ignored, mocks: changing })).ok).toBe(true)
})

test('J2 control flow that moves at a resume is reported as drift, by crash point', async () => {
  let visits = 0
  const roving = workflow({
    id: 'roving@1.0.0',
    input: To,
    tools: [mail],
    run: async ({ to }, ctx) => {
      // Not through ctx: every resume sees another number.
      const text = visits++ < 2 ? 'first' : `text ${visits}`
      return ctx.call(mail, { to, text })
    },
  })
  const report = await chaos({ graph: roving, input, mocks: { mail: mocks.mail }, seed: 7 })
  expect(report.ok).toBe(false)
  const drifts = report.points.filter(({ findings }) => findings.some((f) => f.kind === 'drift'))
  expect(drifts.length).toBeGreaterThan(0)
  expect(drifts.every(({ deaths }) => deaths.length === 1)).toBe(true)
})

const child = workflow({
  id: 'child@1.0.0',
  input: To,
  tools: [mail],
  run: async ({ to }, ctx) => {
    await ctx.call(mail, { to, text: 'from the child' })
    return { done: true }
  },
})
const order = tool({
  name: 'order',
  replayClass: 'unsafe_on_replay',
  input: To,
  output: z.object({ orderId: z.string() }),
  callbackMs: 3 * 24 * 3_600_000,
  run: real as () => { orderId: string },
})
const everything = graph({
  id: 'everything@1.0.0',
  state: To.extend({ answer: z.unknown().optional(), paid: z.unknown().optional() }),
  tools: [order],
  start: 'ask',
  nodes: {
    ask: async (_, ctx) => {
      const { answer } = await ctx.ask<string>({ title: 'How much?' })
      const votes = await ctx.approval({ title: 'Pay it?', quorum: 2, deciders: ['a', 'b', 'c'] })
      return ctx.go('wait', { answer: [answer, votes.approved] })
    },
    wait: async ({ to }, ctx) => {
      await ctx.sleep(3 * 24 * 3_600_000)
      const paid = await ctx.signal('paid', { timeoutMs: 600_000 })
      const late = await ctx.signal('never', { timeoutMs: 24 * 3_600_000 })
      await ctx.call(order, { to })
      return ctx.go('spawn', { paid: [paid?.data, late] })
    },
    spawn: async ({ to }, ctx) => {
      const ended = await (ctx as unknown as Context).spawn(child, { to })
      return ctx.done({ state: ended.state })
    },
  },
})

test('J2 people, days, signals, callbacks and children are seen to; nothing hangs', async () => {
  const given = {
    mocks: { mail: mocks.mail, order: () => ({ orderId: 'o-1' }) },
    ...{ graphs: [child], answers: { 'How much?': 70 }, signals: { paid: { amount: 70 } } },
  }
  const report = await chaos({ graph: everything, input, ...given, kills: 40, pairs: true })
  expectSafe(report)
  expect(report.boundaries).toBeGreaterThan(40)
  expect(report.points).toHaveLength(40)
  expect(report.points.some(({ deaths }) => deaths.length === 2)).toBe(true)
  expect(report.tools.map(({ tool: name }) => name).sort()).toEqual(['mail', 'order'])
})

// A pure result waits up to 10 ms for company: on a slow machine it is a boundary of its own.
const steps = workflow({
  id: 'steps@1.0.0',
  input: To,
  tools: [mail, charge],
  run: async ({ to }, ctx) => {
    for (const text of ['first', 'second']) await ctx.call(mail, { to, text })
    return ctx.call(charge, { to })
  },
})

test('J2 a seed chooses the same crash points again', async () => {
  const deaths = async (seed: number) => {
    const { points } = await chaos({ graph: steps, input, mocks, kills: 5, seed })
    return points.map((point) => point.deaths.join())
  }
  const first = await deaths(3)
  expect(await deaths(3)).toEqual(first)
  expect(await deaths(4)).not.toEqual(first)
})

test('J2 what chaos cannot work with is refused with the way to do it', async () => {
  const refused = (options: object) => chaos({ graph: pay, input, mocks, ...options } as never)
  const { charge: _, ...some } = mocks
  await expect(refused({ mocks: some })).rejects.toMatchObject({
    code: 'CHAOS_UPSTREAM_MISSING',
    message: expect.stringContaining('charge: async (input, call) =>'),
    details: { tools: ['charge'] },
  })
  await expect(refused({ kils: 3 })).rejects.toMatchObject({ code: 'CHAOS_OPTIONS' })
  await expect(refused({ kills: 0 })).rejects.toMatchObject({ code: 'CHAOS_OPTIONS' })
  await expect(refused({ graph: {} })).rejects.toMatchObject({ code: 'CHAOS_OPTIONS' })
  await expect(refused({ mocks: { ...mocks, mail: 1 } })).rejects.toMatchObject({
    code: 'CHAOS_OPTIONS',
  })
  await expect(refused({ input: { to: 1 } })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  const failing = { ...mocks, mail: () => Promise.reject(new RefusedError('no such address')) }
  await expect(refused({ mocks: failing })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining('no such address'),
  })
  const hanging = { ...mocks, draft: () => new Promise(() => {}) }
  await expect(refused({ mocks: hanging, timeoutMs: 300 })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
  })
  await expect(chaos({ graph: everything, graphs: [child], input, real: ['all'] })).rejects.toThrow(
    'export const answers = { "How much?": … }',
  )
  const stepping = workflow({
    id: 'stepping@1.0.0',
    input: To,
    run: (to, ctx) =>
      ctx.step({ name: 'post', replayClass: 'unsafe_on_replay', input: to }, () => 'posted'),
  })
  await expect(chaos({ graph: stepping, input })).rejects.toMatchObject({
    code: 'CHAOS_UPSTREAM_MISSING',
    message: expect.stringContaining('post: async (input, call)'),
  })
})
