// What the type checker refuses in a tool, beside what it accepts and differs from it in one thing.
// `npx tsc --noEmit` checks the lines marked as errors; vitest runs them, and registration refuses
// the same. A mark over a line that has become legal is itself an error.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type CallInfo,
  type Context,
  type ReplayClass,
  recordedKey,
  type Tool,
  tool,
} from '../../src/index.ts'

const text = z.object({ to: z.string() })
const base = { name: 'look', input: text, run: () => 1 }
const pure = { ...base, replayClass: 'pure' } as const
const unsafe = { ...base, replayClass: 'unsafe_on_replay' } as const
const keyed = {
  ...base,
  replayClass: 'idempotent_with_key',
  idempotencyKey: () => 'k',
  keyTtlMs: 60_000,
} as const
const probe = () => ({ landed: 'unknown' }) as const

const refuses = (make: () => unknown) => expect(make).toThrow(/^tool (name|"look")/)
const accepts = (make: () => unknown) => expect(make).not.toThrow()

describe('A1 the class', () => {
  test('A1 one of three words', () => {
    expectTypeOf<ReplayClass>().toEqualTypeOf<'pure' | 'idempotent_with_key' | 'unsafe_on_replay'>()
    accepts(() => tool(pure))
    accepts(() => tool(unsafe))
    accepts(() => tool(keyed))
    // @ts-expect-error no class
    refuses(() => tool(base))
    // @ts-expect-error a class that does not exist
    refuses(() => tool({ ...base, replayClass: 'unsafe' }))
    // @ts-expect-error another spelling
    refuses(() => tool({ ...base, replayClass: 'Pure' }))
    // @ts-expect-error a class that is not known before it runs
    refuses(() => tool({ ...base, replayClass: String('odd') }))
    // @ts-expect-error nothing said
    refuses(() => tool({ ...base, replayClass: undefined }))
  })

  test('A1 a tool has a name, a schema and a function', () => {
    // @ts-expect-error no name
    refuses(() => tool({ replayClass: 'pure', input: text, run: () => 1 }))
    // @ts-expect-error no input schema
    refuses(() => tool({ name: 'look', replayClass: 'pure', run: () => 1 }))
    // @ts-expect-error no function
    refuses(() => tool({ name: 'look', replayClass: 'pure', input: text }))
    // @ts-expect-error a schema of no Standard Schema library
    refuses(() => tool({ ...pure, input: { parse: () => 1 } }))
  })
})

describe('A2 the key', () => {
  test('A2 keyed needs a key and its window', () => {
    const { idempotencyKey, keyTtlMs, ...bare } = keyed
    accepts(() => tool({ ...bare, idempotencyKey, keyTtlMs }))
    accepts(() => tool({ ...bare, idempotencyKey, keyTtlMs: Number.POSITIVE_INFINITY }))
    accepts(() => tool({ ...bare, idempotencyKey: recordedKey(), keyTtlMs }))
    // @ts-expect-error no key
    refuses(() => tool({ ...bare, keyTtlMs }))
    // @ts-expect-error no window
    refuses(() => tool({ ...bare, idempotencyKey }))
    // @ts-expect-error a key that is no function
    refuses(() => tool({ ...bare, keyTtlMs, idempotencyKey: 'k' }))
    // @ts-expect-error a window that is no number
    refuses(() => tool({ ...bare, idempotencyKey, keyTtlMs: '1 day' }))
    // @ts-expect-error a key that is no text; only the types see it before it is sent
    accepts(() => tool({ ...bare, keyTtlMs, idempotencyKey: () => 7 }))
    // @ts-expect-error a key made later; only the types see it before it is sent
    accepts(() => tool({ ...bare, keyTtlMs, idempotencyKey: async () => 'k' }))
  })

  test('A2 the others take neither', () => {
    // @ts-expect-error pure with a key
    refuses(() => tool({ ...pure, idempotencyKey: () => 'k' }))
    // @ts-expect-error pure with a window
    refuses(() => tool({ ...pure, keyTtlMs: 1 }))
    // @ts-expect-error unsafe with a key
    refuses(() => tool({ ...unsafe, idempotencyKey: () => 'k' }))
    // @ts-expect-error unsafe with a window
    refuses(() => tool({ ...unsafe, keyTtlMs: 1 }))
    // @ts-expect-error unsafe with a recorded key
    refuses(() => tool({ ...unsafe, idempotencyKey: recordedKey() }))
  })

  test('A2 A3 a key is made of the validated input and of what does not move', () => {
    tool({
      ...base,
      replayClass: 'idempotent_with_key',
      keyTtlMs: 60_000,
      input: z.object({ invoice: z.string(), cents: z.number().default(0) }),
      idempotencyKey: (input, call) => {
        expectTypeOf(input).toEqualTypeOf<{ invoice: string; cents: number }>()
        expectTypeOf(call.runId).toEqualTypeOf<string>()
        expectTypeOf(call.visit).toEqualTypeOf<number>()
        expectTypeOf(call).not.toHaveProperty('attempt')
        expectTypeOf(call).not.toHaveProperty('attemptId')
        return `${call.runId}:${input.invoice}`
      },
    })
  })
})

describe('A1 what a pure tool has no use for', () => {
  test('A1 probe, quietMs and outlives', () => {
    accepts(() => tool({ ...unsafe, probe, quietMs: 1, outlives: true }))
    accepts(() => tool({ ...keyed, probe, quietMs: 1, outlives: true }))
    // @ts-expect-error pure with a probe
    refuses(() => tool({ ...pure, probe }))
    // @ts-expect-error pure with a quiet time
    refuses(() => tool({ ...pure, quietMs: 1 }))
    // @ts-expect-error pure that outlives its worker
    refuses(() => tool({ ...pure, outlives: true }))
  })

  test('A1 a probe answers yes with a result, or no, or unknown', () => {
    const spec = { ...unsafe, run: () => ({ id: 'm1' }) }
    accepts(() => tool({ ...spec, probe: () => ({ landed: 'yes', result: { id: 'm1' } }) }))
    accepts(() => tool({ ...spec, probe: async () => ({ landed: 'no' }) }))
    // @ts-expect-error yes without a result
    accepts(() => tool({ ...spec, probe: () => ({ landed: 'yes' }) }))
    // @ts-expect-error yes with the result of another tool
    accepts(() => tool({ ...spec, probe: () => ({ landed: 'yes', result: { id: 7 } }) }))
    // @ts-expect-error an answer that is none
    accepts(() => tool({ ...spec, probe: () => ({ landed: 'maybe' }) }))
    // @ts-expect-error a bare truth
    accepts(() => tool({ ...spec, probe: () => true }))
  })
})

describe('A5 what is inferred', () => {
  test('A5 callers give the input of the schema, the function gets its output', () => {
    const made = tool({
      ...unsafe,
      input: z.object({ to: z.string(), copies: z.coerce.number<string>().default(1) }),
      run: (input, call) => {
        expectTypeOf(input).toEqualTypeOf<{ to: string; copies: number }>()
        expectTypeOf(call).toEqualTypeOf<CallInfo>()
        expectTypeOf(call.abortSignal).toEqualTypeOf<AbortSignal>()
        return { id: input.to, copies: input.copies }
      },
      externalId: (result) => {
        expectTypeOf(result).toEqualTypeOf<{ id: string; copies: number }>()
        return result.id
      },
    })
    expectTypeOf(made).toEqualTypeOf<
      Tool<{ to: string; copies?: string | undefined }, { id: string; copies: number }>
    >()
  })

  test('A5 valibot and arktype infer alike', () => {
    const byValibot = tool({
      ...pure,
      input: v.object({ to: v.string(), n: v.optional(v.number(), 1) }),
      run: (input) => input,
    })
    expectTypeOf(byValibot).toEqualTypeOf<
      Tool<{ to: string; n?: number | undefined }, { to: string; n: number }>
    >()
    const byArktype = tool({
      ...pure,
      input: type({ to: 'string', 'n?': 'number' }),
      run: (input) => input.to,
    })
    expectTypeOf(byArktype).toEqualTypeOf<Tool<{ to: string; n?: number }, string>>()
  })

  test('A5 a result is what the function promises, sooner or later', () => {
    expectTypeOf(tool({ ...pure, run: () => 7 })).toEqualTypeOf<Tool<{ to: string }, number>>()
    const later = tool({ ...pure, run: async () => 7 })
    expectTypeOf(later).toEqualTypeOf<Tool<{ to: string }, number>>()
    const nothing = tool({ ...pure, run: async () => {} })
    expectTypeOf(nothing).toEqualTypeOf<Tool<{ to: string }, void>>()
  })

  test('A5 the output schema and the function must agree', () => {
    const output = z.object({ id: z.string() })
    const made = tool({ ...pure, output, run: () => ({ id: 'm1', more: 7 }) })
    expectTypeOf(made).toEqualTypeOf<Tool<{ to: string }, { id: string }>>()
    // @ts-expect-error a result of another type; only the types see it before it runs
    accepts(() => tool({ ...pure, output, run: () => ({ id: 7 }) }))
    // @ts-expect-error an output schema that is none
    refuses(() => tool({ ...pure, output: { id: 'string' } }))
  })

  test('A5 the functions of a tool take the validated input', () => {
    accepts(() => tool({ ...pure, run: (input: { to: string }) => input.to }))
    // @ts-expect-error a function for another input
    accepts(() => tool({ ...pure, run: (input: { from: string }) => input.from }))
    // @ts-expect-error an external id that is no text
    accepts(() => tool({ ...unsafe, externalId: () => 7 }))
  })

  test('A1 a registered tool cannot be changed', () => {
    const made = tool(unsafe)
    expect(() => {
      // @ts-expect-error its class is read-only
      made.replayClass = 'pure'
    }).toThrow(TypeError)
    expect(() => {
      // @ts-expect-error so are its rules
      made.rules.outlives = true
    }).toThrow(TypeError)
  })
})

describe('A6 what is known of a tool besides its class', () => {
  const rateLimit = { class: 'mail', count: 10, perMs: 1_000 }

  test('A6 every class takes it', () => {
    const said = { tags: ['pii'], blastRadius: 'external', rateLimit, beat: 'act' } as const
    accepts(() => tool({ ...pure, ...said }))
    accepts(() => tool({ ...keyed, ...said }))
    const made = tool({
      ...unsafe,
      ...said,
      input: z.object({ cents: z.number().default(0) }),
      run: () => ({ cost: 7 }),
      amount: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ cents: number }>()
        return input.cents
      },
      usage: (result) => {
        expectTypeOf(result).toEqualTypeOf<{ cost: number }>()
        return { usd: result.cost, tokensIn: 1 }
      },
    })
    expectTypeOf(made).toEqualTypeOf<Tool<{ cents?: number | undefined }, { cost: number }>>()
  })

  test('A6 and nothing else', () => {
    // @ts-expect-error a radius that does not exist
    refuses(() => tool({ ...pure, blastRadius: 'huge' }))
    // @ts-expect-error a beat that does not exist
    refuses(() => tool({ ...pure, beat: 'rest' }))
    // @ts-expect-error tags are a list
    refuses(() => tool({ ...pure, tags: 'pii' }))
    // @ts-expect-error a limit within no time
    refuses(() => tool({ ...pure, rateLimit: { class: 'mail', count: 10 } }))
    // @ts-expect-error an amount is computed
    refuses(() => tool({ ...pure, amount: 12 }))
    // @ts-expect-error an amount is a number; only the types see it before it runs
    accepts(() => tool({ ...pure, amount: () => '12' }))
    // @ts-expect-error a cost that nobody counts; only the types see it before it runs
    accepts(() => tool({ ...pure, usage: () => ({ euros: 7 }) }))
  })

  test('A6 a step takes what is natural for it', () => {
    const checked = (_: (ctx: Context) => unknown) => {}
    checked((ctx) => {
      const step = {
        name: 's',
        replayClass: 'pure',
        tags: ['x'],
        rateLimit,
        beat: 'learn',
      } as const
      ctx.step({ ...step, blastRadius: 'none', usage: () => ({ usd: 1 }) }, () => 1)
      // @ts-expect-error a radius that does not exist
      ctx.step({ ...step, blastRadius: 'huge' }, () => 1)
      // @ts-expect-error what a step is about is known where it is written
      ctx.step({ ...step, amount: () => 12 }, () => 1)
    })
  })
})
