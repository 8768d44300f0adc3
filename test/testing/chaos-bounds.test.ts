// Chaos ends in time, refuses what it cannot try, and names what is in the way.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { pause, systemClock } from '../../src/clock.ts'
import { tool, workflow } from '../../src/index.ts'
import { type Agent, chaos } from '../../src/testing/index.ts'

const Any = z.any()
const unsafe = (name: string) =>
  tool({ name, replayClass: 'unsafe_on_replay', input: Any, run: async () => ({}) })
const [alpha, beta] = [unsafe('alpha'), unsafe('beta')]
const both = workflow({
  id: 'both@1.0.0',
  input: Any,
  tools: [alpha, beta],
  run: async (_, ctx) => {
    await Promise.all([ctx.call(alpha, { n: 1 }), ctx.call(beta, { n: 1 })])
    return 1
  },
})
const mocks = { alpha: () => 1, beta: () => 1 }
const refused = (options: object) => chaos({ graph: both, mocks, ...options } as never)

test('J2 a mock that never answers after a death does not hold chaos for ever', async () => {
  let asks = 0
  const hanging = {
    alpha: () => (++asks > 2 ? new Promise(() => {}) : 1),
    beta: () => pause(systemClock, 5),
  }
  const report = await chaos({ graph: both, mocks: hanging, timeoutMs: 3_000, kills: 4 })
  const found = report.points.flatMap(({ findings }) => findings)
  expect(found.map(({ kind }) => kind)).toContain('endless')
  expect(found.map(({ message }) => message)).toContain(
    'it had not ended after 3 s: mocks.alpha did not answer',
  )
}, 300_000)

test('J2 a name that is no tool cannot be run for real, and is refused', async () => {
  await expect(refused({ real: ['alpah'] })).rejects.toMatchObject({
    code: 'CHAOS_OPTIONS',
    message: 'real: there is no tool "alpah"; there are: alpha, beta; or pure, or all',
  })
  expect(await refused({ real: ['alpha', 'pure'], kills: 1 })).toMatchObject({ ok: true })
})

test('J2 numbers of crash points and lanes are whole', async () => {
  for (const options of [{ kills: 1.5 }, { concurrency: 1.5 }]) {
    await expect(refused(options)).rejects.toMatchObject({
      code: 'CHAOS_OPTIONS',
      message: expect.stringContaining('it must be a whole number of at least 1'),
    })
  }
})

test('J2 nothing is said to be safe where nobody was killed', async () => {
  let cached = false
  const agent: Agent = async (_, { upstream }) => {
    if (!cached) await upstream('lookup', {}, { replayClass: 'pure' })
    cached = true
    return 1
  }
  await expect(chaos({ agent, mocks: { lookup: () => 1 } })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining('2 of 2 crash points killed nothing'),
  })
})

test('J2 crash points that killed nobody are counted in a note', async () => {
  let runs = 0
  const agent: Agent = async (_, { upstream }) => {
    if (runs++ < 1) await upstream('lookup', {}, { replayClass: 'pure' })
    return upstream('lookup', {}, { replayClass: 'pure' })
  }
  const report = await chaos({ agent, mocks: { lookup: () => 1 }, concurrency: 1 })
  expect(report.kills).toBe(2)
  const note = '2 of 4 crash points killed nothing: their boundary did not come again'
  expect(report.notes).toEqual([note])
})

test('J2 a run that comes to no good end says which doubts it had, and who threw', async () => {
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: () => 'monthly',
    keyTtlMs: 3_600_000,
    input: Any,
    run: async () => 1,
  })
  const clashing = workflow({
    id: 'clashing@1.0.0',
    input: Any,
    tools: [charge],
    run: async (_, ctx) => {
      await ctx.call(charge, { customer: 'acme' })
      return ctx.call(charge, { customer: 'zenith' })
    },
  })
  await expect(chaos({ graph: clashing, mocks: { charge: () => 1 } })).rejects.toMatchObject({
    code: 'CHAOS_NO_REFERENCE',
    message: expect.stringContaining('; key_conflict of charge: '),
  })
  const asking = workflow({
    id: 'asking@1.0.0',
    input: Any,
    run: async (_, ctx) => (await ctx.ask({ title: 'How much?' })).answer,
  })
  const answers = () => {
    throw new TypeError('no such person')
  }
  await expect(chaos({ graph: asking, answers })).rejects.toMatchObject({
    code: 'CHAOS_OPTIONS',
    message: '`answers` threw for "How much?": no such person',
  })
})

test('J2 the store of a recorded run is never made by looking for it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'chaos-from-'))
  try {
    const path = join(dir, 'typo.db')
    const from = { store: `sqlite:${path}`, run: 'x' }
    await expect(chaos({ file: join(dir, 'agent.mjs'), from })).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
      message: expect.stringContaining('nothing was created'),
    })
    expect(existsSync(path)).toBe(false)
  } finally {
    rmSync(dir, { recursive: true })
  }
})
