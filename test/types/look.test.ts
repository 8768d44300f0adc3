// The types of what a tool says for people: a result that may be missing is typed so.
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/index.ts'
import type { Context } from '../../src/model/graph/context.ts'

const input = z.object({ to: z.string() })
const output = z.object({ id: z.string() })
const run = () => ({ id: 'm' })
const unsafe = { replayClass: 'unsafe_on_replay', input, output, run } as const

test('E2 resultOptional adds undefined to what a call answers, and nothing else does', () => {
  const sure = tool({ name: 'a', ...unsafe })
  const maybe = tool({ name: 'b', ...unsafe, resultOptional: true })
  const not = tool({ name: 'c', ...unsafe, resultOptional: false })
  const calls = (ctx: Context<typeof sure | typeof maybe | typeof not>) => ({
    sure: ctx.call(sure, { to: 'x' }),
    maybe: ctx.call(maybe, { to: 'x' }),
    not: ctx.call(not, { to: 'x' }),
  })
  type Calls = ReturnType<typeof calls>
  expectTypeOf<Awaited<Calls['sure']>>().toEqualTypeOf<{ id: string }>()
  expectTypeOf<Awaited<Calls['maybe']>>().toEqualTypeOf<{ id: string } | undefined>()
  expectTypeOf<Awaited<Calls['not']>>().toEqualTypeOf<{ id: string }>()
})

test('A10 whereToLook sees the input and the ids of the attempt; it is not for pure tools', () => {
  tool({
    name: 'd',
    ...unsafe,
    example: { id: 'm-1' },
    whereToLook: ({ to }, { attemptId, idempotencyKey }) => {
      expectTypeOf(to).toEqualTypeOf<string>()
      expectTypeOf(attemptId).toEqualTypeOf<string>()
      expectTypeOf(idempotencyKey).toEqualTypeOf<string | null>()
      return { url: 'https://a.test' }
    },
  })
  // @ts-expect-error a pure tool is never in doubt
  const pure = () => tool({ name: 'e', replayClass: 'pure', input, run, whereToLook: () => ({}) })
  // @ts-expect-error an example is a result
  const wrong = () => tool({ name: 'f', ...unsafe, example: { id: 7 } })
  expectTypeOf(pure).toBeFunction()
  expectTypeOf(wrong).toBeFunction()
})
