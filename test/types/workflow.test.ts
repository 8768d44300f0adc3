// What the type checker knows inside a workflow, and of its run. Little of it is executed:
// `typesOnly` takes a function and never calls it.
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Answer,
  type Call,
  type Context,
  type Counterfoil,
  type DecideRequest,
  type Graph,
  type RunState,
  tool,
  workflow,
} from '../../src/index.ts'

const add = tool({
  name: 'add',
  replayClass: 'pure',
  input: z.object({ a: z.number(), b: z.number().default(1) }),
  run: ({ a, b }) => a + b,
})
const send = tool({
  name: 'send',
  replayClass: 'unsafe_on_replay',
  input: z.object({ to: z.string() }),
  output: z.object({ id: z.string() }),
  run: async ({ to }) => ({ id: to }),
})
const ghost = tool({
  name: 'ghost',
  replayClass: 'pure',
  input: z.object({ house: z.string() }),
  run: () => 'boo',
})

const trip = workflow({
  id: 'trip@1.0.0',
  input: z.object({ to: z.string(), days: z.number().default(7) }),
  tools: [add, send],
  run: async (input, ctx) => {
    expectTypeOf(input).toEqualTypeOf<{ to: string; days: number }>()
    const sum = await ctx.call(add, { a: input.days })
    const mail = await ctx.call(send, { to: input.to })
    return { sum, mail }
  },
})

type Ctx = Context<typeof add | typeof send>

/** Checked, not run. */
function typesOnly(_: (ctx: Ctx, cf: Counterfoil) => unknown): void {}

describe('A5 ctx.call', () => {
  test('A5 takes what the schema takes, gives what the tool gives', () => {
    typesOnly((ctx) => {
      expectTypeOf(ctx.call(add, { a: 1 })).toEqualTypeOf<Call<number>>()
      expectTypeOf(ctx.call(add, { a: 1, b: 2 })).toEqualTypeOf<Call<number>>()
      expectTypeOf(ctx.call(send, { to: 'ana' })).toEqualTypeOf<Call<{ id: string }>>()
      // @ts-expect-error a part is missing
      ctx.call(add, {})
      // @ts-expect-error a part of another type
      ctx.call(add, { a: '1' })
      // @ts-expect-error the input of another tool
      ctx.call(add, { to: 'ana' })
      // @ts-expect-error a part that is not known
      ctx.call(send, { to: 'ana', cc: 'ben' })
      // @ts-expect-error no input
      ctx.call(send)
    })
  })

  test('A1 refuses a tool that is not declared', () => {
    typesOnly((ctx) => {
      // @ts-expect-error not among the tools
      ctx.call(ghost, { house: 'x' })
      // @ts-expect-error no tool at all
      ctx.call({ name: 'send' }, { to: 'ana' })
      // @ts-expect-error a name is no tool
      ctx.call('send', { to: 'ana' })
    })
  })

  test('A1 a workflow without tools can call none', () => {
    const bare = { id: 'bare@1.0.0', input: z.string() }
    workflow({
      ...bare,
      run: async (_, ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<Context<never>>()
        // @ts-expect-error nothing is declared
        await ctx.call(add, { a: 1 })
      },
    })
    // @ts-expect-error what tool() did not make
    expect(() => workflow({ ...bare, tools: [{ name: 'x' }], run: async () => 1 })).toThrow()
  })

  test('C9 replayed can be read, and not written', () => {
    typesOnly(async (ctx) => {
      const call = ctx.call(add, { a: 1 })
      expectTypeOf(call.replayed).toEqualTypeOf<boolean | undefined>()
      // @ts-expect-error it is what the ledger says
      call.replayed = true
      expectTypeOf(await call).toEqualTypeOf<number>()
    })
  })

  test('A5 results keep their types through Promise.all and race', () => {
    typesOnly(async (ctx) => {
      const both = await Promise.all([ctx.call(add, { a: 1 }), ctx.call(send, { to: 'ana' })])
      expectTypeOf(both).toEqualTypeOf<[number, { id: string }]>()
      const first = await Promise.race([ctx.call(add, { a: 1 }), ctx.call(send, { to: 'ana' })])
      expectTypeOf(first).toEqualTypeOf<number | { id: string }>()
    })
  })
})

describe('A1 ctx.step has the rules of a tool', () => {
  test('A5 input and result are inferred', () => {
    typesOnly((ctx) => {
      const pure = { name: 'note', replayClass: 'pure' } as const
      const note = ctx.step({ ...pure, input: { flight: 7 } }, (input, call) => {
        expectTypeOf(input).toEqualTypeOf<{ flight: number }>()
        expectTypeOf(call.abortSignal).toEqualTypeOf<AbortSignal>()
        expectTypeOf(call.idempotencyKey).toEqualTypeOf<string | null>()
        return String(input.flight)
      })
      expectTypeOf(note).toEqualTypeOf<Call<string>>()
      expectTypeOf(ctx.step(pure, async () => ({ ok: true }))).toEqualTypeOf<
        Call<{ ok: boolean }>
      >()
    })
  })

  test('A1 A2 class and key are checked', () => {
    typesOnly((ctx) => {
      const run = () => 1
      const key = { idempotencyKey: () => 'k', keyTtlMs: 60_000 }
      ctx.step({ name: 's', replayClass: 'unsafe_on_replay', outlives: true }, run)
      ctx.step({ name: 's', replayClass: 'idempotent_with_key', ...key }, run)
      // @ts-expect-error no class
      ctx.step({ name: 's' }, run)
      // @ts-expect-error a class that does not exist
      ctx.step({ name: 's', replayClass: 'safe' }, run)
      // @ts-expect-error keyed without a key
      ctx.step({ name: 's', replayClass: 'idempotent_with_key' }, run)
      // @ts-expect-error pure with a key
      ctx.step({ name: 's', replayClass: 'pure', ...key }, run)
      // @ts-expect-error unsafe with a key
      ctx.step({ name: 's', replayClass: 'unsafe_on_replay', ...key }, run)
      // @ts-expect-error pure that outlives its worker
      ctx.step({ name: 's', replayClass: 'pure', outlives: true }, run)
      // @ts-expect-error no name
      ctx.step({ replayClass: 'pure' }, run)
    })
  })
})

describe('the rest of ctx', () => {
  test('C9 time, chance, ids and questions are calls like any other', () => {
    typesOnly((ctx) => {
      expectTypeOf(ctx.now()).toEqualTypeOf<Call<number>>()
      expectTypeOf(ctx.random()).toEqualTypeOf<Call<number>>()
      expectTypeOf(ctx.uuid()).toEqualTypeOf<Call<string>>()
      expectTypeOf(ctx.ask({ title: 'Go?' })).toEqualTypeOf<Call<Answer<unknown>>>()
      const ask = ctx.ask<{ go: boolean }>({ title: 'Go?', data: { cost: 7 }, queue: 'sales' })
      expectTypeOf(ask).toEqualTypeOf<Call<Answer<{ go: boolean }>>>()
      // @ts-expect-error a question has a title
      ctx.ask({ data: 7 })
      // @ts-expect-error which run it is does not change
      ctx.runId = 'other'
    })
  })
})

describe('A5 a workflow and its runs', () => {
  test('A5 input and output are inferred', () => {
    expectTypeOf(trip).toEqualTypeOf<
      Graph<{ to: string; days?: number | undefined }, { sum: number; mail: { id: string } }>
    >()
  })

  test('A5 start takes the input of the schema, result gives the output of the function', () => {
    typesOnly(async (_, cf) => {
      const run = await cf.start(trip, { to: 'rome' }, { runId: 'r1' })
      await cf.start(trip, { to: 'rome', days: 3 })
      type Result = { sum: number; mail: { id: string } }
      expectTypeOf(run.result()).toEqualTypeOf<Promise<Result>>()
      const status = await run.until('waiting_human', 'completed')
      expectTypeOf(status.state).toEqualTypeOf<RunState>()
      // @ts-expect-error a part is missing
      await cf.start(trip, { days: 3 })
      // @ts-expect-error a part of another type
      await cf.start(trip, { to: 'rome', days: '3' })
      // @ts-expect-error no input
      await cf.start(trip)
      // @ts-expect-error an id is text
      await cf.start(trip, { to: 'rome' }, { runId: 7 })
      // @ts-expect-error a state that does not exist
      await run.until('waiting')
      // By its name it is the newest version, of which no types are known.
      const named = await cf.start('trip', { to: 'rome' })
      expectTypeOf(named.result()).toEqualTypeOf<Promise<unknown>>()
    })
  })

  test('A5 a handle by id knows nothing of its output unless told', () => {
    typesOnly((_, cf) => {
      expectTypeOf(cf.run('r1').result()).toEqualTypeOf<Promise<unknown>>()
      expectTypeOf(cf.run<number>('r1').result()).toEqualTypeOf<Promise<number>>()
    })
  })

  test('A5 an output schema and the function must agree', () => {
    const spec = { id: 'w@1.0.0', input: z.string(), output: z.object({ ok: z.boolean() }) }
    const made = workflow({ ...spec, run: async () => ({ ok: true }) })
    expectTypeOf(made).toEqualTypeOf<Graph<string, { ok: boolean }>>()
    // @ts-expect-error another output
    workflow({ ...spec, run: async () => ({ ok: 'yes' }) })
    // @ts-expect-error a workflow without a function
    expect(() => workflow(spec)).toThrow(/needs run/)
    // @ts-expect-error a workflow without an input schema
    expect(() => workflow({ id: 'w@1.0.0', run: async () => 1 })).toThrow(/`input` must be/)
    // @ts-expect-error a workflow without an id
    expect(() => workflow({ input: z.string(), run: async () => 1 })).toThrow(/name@1\.2\.3/)
  })

  test('C2 a decision says what, who, why, and which version was looked at', () => {
    const said = { by: 'ana', reason: 'seen', version: 1 } as const
    expectTypeOf({ outcome: 'happened', ...said } as const).toExtend<DecideRequest>()
    const { by: _by, ...anonymous } = { outcome: 'fail', ...said } as const
    expectTypeOf(anonymous).not.toExtend<DecideRequest>()
    const { reason: _reason, ...unexplained } = { outcome: 'fail', ...said } as const
    expectTypeOf(unexplained).not.toExtend<DecideRequest>()
    const { version: _version, ...blind } = { outcome: 'fail', ...said } as const
    expectTypeOf(blind).not.toExtend<DecideRequest>()
    expectTypeOf({ outcome: 'allow', ...said } as const).not.toExtend<DecideRequest>()
  })
})
