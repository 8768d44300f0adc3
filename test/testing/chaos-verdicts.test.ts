// What chaos says must be so: no wolf is cried, and nothing is said to hold that nobody tried.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { nameless } from '../../src/cli/chaos/judge/nameless.ts'
import { junitXml } from '../../src/cli/chaos/report/formats.ts'
import { tool, workflow } from '../../src/index.ts'
import { type Agent, type ChaosReport, chaos, type MockCall } from '../../src/testing/index.ts'

const Any = z.any()
const unsafe = (name: string) =>
  tool({ name, replayClass: 'unsafe_on_replay', input: Any, run: async () => ({}) })

test('J2 the probe of a step is the mock’s: its own would ask the real upstream', async () => {
  let asked = 0
  const stepping = workflow({
    id: 'stepping@1.0.0',
    input: Any,
    run: (_, ctx) =>
      ctx.step(
        {
          ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: { x: 1 } },
          probe: () => {
            asked++
            return { landed: 'yes', result: { from: 'production' } }
          },
        },
        async (): Promise<object> => ({}),
      ),
  })
  let mocked = 0
  const probe = () => {
    mocked++
    return { landed: 'unknown' as const }
  }
  const with1 = await chaos({ graph: stepping, mocks: { mail: { run: () => ({ m: 1 }), probe } } })
  const without = await chaos({ graph: stepping, mocks: { mail: () => ({ m: 1 }) } })
  expect(asked).toBe(0)
  expect(mocked).toBeGreaterThan(0)
  expect([with1.ok, without.ok]).toEqual([true, true])
  // Only who is run for real asks for real.
  const really = await chaos({ graph: stepping, real: ['mail'] })
  expect(asked).toBeGreaterThan(0)
  expect(really.points.flatMap(({ findings }) => findings).map(({ kind }) => kind)).toContain('end')
})

const mail = unsafe('mail')
const look = tool({ name: 'look', replayClass: 'pure', input: Any, run: async () => ({}) })
const lookAndMail = workflow({
  id: 'look@1.0.0',
  input: Any,
  tools: [look, mail],
  run: async (_, ctx) => ctx.call(mail, { found: await ctx.call(look, {}) }),
})
const holdsOf = (report: ChaosReport) =>
  Object.fromEntries(report.tools.map(({ tool: name, holds }) => [name, holds]))

test('J2 a pure tool whose mock says nothing is assumed to be pure, and not shown', async () => {
  const quiet = { look: () => 1, mail: () => 1 }
  const report = await chaos({ graph: lookAndMail, mocks: quiet })
  expect(report.tools.find(({ tool: name }) => name === 'look')?.sentAgain).toBeGreaterThan(0)
  expect(holdsOf(report)).toEqual({ look: 'assumed', mail: 'yes' })
  // A cache that is filled once: it says so, and does it once.
  const filling = () => {
    let full = false
    const fill = (_: unknown, call: MockCall) => {
      if (!full) call.effect()
      full = true
      return 1
    }
    return { ...quiet, look: fill }
  }
  expect(holdsOf(await chaos({ graph: lookAndMail, mocks: filling }))).toMatchObject({
    look: 'yes',
  })
})

test('J2 an unsafe tool between whose intent and receipt nobody died was not tried', async () => {
  const mocks = { look: () => 1, mail: () => 1 }
  const only = await chaos({ graph: lookAndMail, mocks, kills: 1 })
  expect(only.points.map(({ deaths }) => deaths.join())).toEqual(['after look'])
  expect(holdsOf(only)).toMatchObject({ mail: 'not_tried' })
})

test('J2 a run id that is a number or a letter is left out of texts, and of nothing else', () => {
  const value = { order: 42, note: 'run 42:7', 42: [true, null, '42'] }
  const without = { order: 42, note: 'run <run>:7', 42: [true, null, '<run>'] }
  expect(nameless(value, '42')).toEqual(without)
  expect(nameless({ a: 'a', ok: true }, 'true')).toEqual({ a: 'a', ok: true })
  // Its own ids are long, and keys of maps are made of them too.
  expect(nameless({ 'chaos-1f-1:x': 1 }, 'chaos-1f-1')).toEqual({ '<run>:x': 1 })
})

test('J2 another way after a crash is strange, and says nothing against a class', async () => {
  let visits = 0
  const roving = workflow({
    id: 'roving@1.0.0',
    input: Any,
    tools: [mail],
    // Not through ctx: who comes later sees another number.
    run: async (_, ctx) => ctx.call(mail, { n: visits++ < 2 ? 'first' : visits }),
  })
  const report = await chaos({ graph: roving, mocks: { mail: () => 1 }, ignore: ['output'] })
  const kinds = report.points.flatMap(({ findings }) => findings.map(({ kind }) => kind))
  expect([kinds.includes('strange'), kinds.includes('duplicate')]).toEqual([true, false])
  expect(report.tools).toMatchObject([{ duplicates: 0, effectsMax: 1, holds: 'yes' }])
  expect(report.ok).toBe(false)
  expect(junitXml(report)).not.toContain('it is not unsafe_on_replay')
})

test('J2 what nobody guards and is sent in other words after a crash is bad', async () => {
  let lives = 0
  const agent: Agent = (_, { upstream }) => upstream('mail', { n: lives++ < 2 ? 'first' : lives })
  const report = await chaos({ agent, mocks: { mail: () => 1 } })
  expect(report.tools).toMatchObject([{ duplicates: 0, replayClass: null, holds: 'no' }])
  expect(junitXml(report)).toContain('mail happened otherwise after a crash: it is not guarded')
})

test('J2 one key for two inputs is found: the second customer is never charged', async () => {
  const charge = tool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: () => 'monthly',
    keyTtlMs: 3_600_000,
    input: z.object({ customer: z.string() }),
    run: async () => 1,
  })
  const one = workflow({
    id: 'one@1.0.0',
    input: Any,
    tools: [charge],
    run: (input, ctx) => ctx.call(charge, input),
  })
  // Within one run the gate sees it: these are two.
  const both = workflow({
    id: 'both@1.0.0',
    input: Any,
    run: async (_, ctx) => {
      for (const customer of ['acme', 'zenith']) await ctx.spawn(one, { customer })
      return 1
    },
  })
  const once = { charge: (_: unknown, call: MockCall) => call.once(() => 1) }
  const report = await chaos({ graph: both, graphs: [one], mocks: once, kills: 1 })
  expect(report.ok).toBe(false)
  expect(report.points[0]?.findings).toEqual([
    {
      ...{ kind: 'key', tool: 'charge' },
      message:
        'one key, two inputs: charge did {"customer":"acme"} for "monthly", ' +
        'so never {"customer":"zenith"}',
    },
  ])
  expect(holdsOf(report)).toEqual({ charge: 'no' })
  expect(junitXml(report)).toContain('one key of charge has had two inputs')
})
