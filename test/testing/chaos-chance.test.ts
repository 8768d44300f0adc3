// Runs that take another way by chance: no wolf is cried, and what is wrong is found all the same.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool, workflow } from '../../src/index.ts'
import { type ChaosReport, chaos, expectSafe, type MockCall } from '../../src/testing/index.ts'

const Any = z.any()
const run = async () => 1
const mail = tool({ name: 'mail', replayClass: 'unsafe_on_replay', input: Any, run })
const look = tool({ name: 'look', replayClass: 'pure', input: Any, run: async () => 'less' })
const charge = tool({
  name: 'charge',
  replayClass: 'idempotent_with_key',
  input: z.object({ nth: z.number() }),
  idempotencyKey: ({ nth }, { runId }) => `${runId}:${nth}`,
  keyTtlMs: Number.POSITIVE_INFINITY,
  run,
})
const kindsOf = ({ points }: ChaosReport) =>
  points.flatMap(({ findings }) => findings.map(({ kind }) => kind))

test('J2 a branch by ctx.random is the same in every run: nothing is lost', async () => {
  const coin = workflow({
    ...{ id: 'coin@1.0.0', input: Any, tools: [mail] },
    run: async (_, ctx) => {
      const heads = (await ctx.random()) < 0.5
      const [second, third] = await Promise.all([ctx.random(), ctx.random()])
      if (heads) await ctx.call(mail, { heads })
      await ctx.call(mail, { always: 1 })
      return { heads, differ: second !== third && second >= 0 && third < 1 }
    },
  })
  const calls = new Set<number | undefined>()
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const report = await chaos({ graph: coin, mocks: { mail: () => 1 }, seed })
    expectSafe(report)
    // A boundary that timing moved away is none of its business.
    const notes = report.notes.filter((note) => !note.includes('killed nothing'))
    expect([report.moving, notes]).toEqual([[], []])
    calls.add(report.tools[0]?.calls)
  }
  // Another seed goes another way.
  expect([...calls].sort()).toEqual([1, 2])
})

test('J2 a loop by ctx.random ends: each of its visits has a number of its own', async () => {
  const twice = workflow({
    ...{ id: 'twice@1.0.0', input: Any, tools: [mail] },
    run: async (_, ctx) => {
      let rolls = 1
      while ((await ctx.random()) < 0.5) rolls++
      await ctx.call(mail, { rolls })
      return rolls
    },
  })
  expectSafe(await chaos({ graph: twice, mocks: { mail: () => 1 }, kills: 8 }))
})

const wavers = workflow({
  ...{ id: 'wavers@1.0.0', input: Any, tools: [look, charge] },
  run: async (_, ctx) => {
    if ((await ctx.call(look, {})) === 'more') await ctx.call(charge, { nth: 2 })
    await ctx.call(charge, { nth: 1 })
    return 1
  },
})
/** Every other run is told to do more. */
const waveringMocks = (charged: (input: unknown, call: MockCall) => unknown) => {
  let runs = 0
  return () => {
    // The mocks are made once more to be looked at.
    const said = runs++ % 2 === 0 ? 'more' : 'less'
    return { look: () => said, charge: charged }
  }
}

test('J2 what the two uninterrupted runs do not agree on is not lost, and is named', async () => {
  const mocks = waveringMocks((_, call) => call.once(() => 'c'))
  const report = await chaos({ graph: wavers, mocks })
  expect(kindsOf(report)).toEqual([])
  const notes = report.notes.filter((note) => note.includes('moves by itself'))
  expect(notes).toEqual([
    'charge {} moves by itself: without a crash it happened once or twice, so neither is taken ' +
      'for the work of one',
  ])
  expect(report.tools.find((one) => one.tool === 'charge')).toMatchObject({ effectsMax: 1 })
})

test('J2 one call that happens twice is found where the counts move by themselves', async () => {
  const report = await chaos({ graph: wavers, mocks: waveringMocks(() => 'c') })
  expect(kindsOf(report)).toContain('duplicate')
  expect(report.tools.find((one) => one.tool === 'charge')).toMatchObject({ holds: 'no' })
})

test('J2 what both uninterrupted runs do is lost if it is not done', async () => {
  // A probe that says of nothing that it happened.
  const probed = tool({
    ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: Any, run },
    probe: () => ({ landed: 'unknown' }),
  })
  const graph = workflow({
    ...{ id: 'probed@1.0.0', input: Any, tools: [probed] },
    run: async (_, ctx) => {
      await ctx.random()
      await ctx.call(probed, {})
      return 1
    },
  })
  const probe = () => ({ landed: 'yes' as const, result: 1 })
  const report = await chaos({ graph, mocks: { mail: { run: () => 1, probe } } })
  expect(kindsOf(report)).toContain('lost')
})
