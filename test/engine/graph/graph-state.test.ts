// The state of a graph between its nodes, and the ways in which a node can end: what is refused
// says which key of which graph, and nothing is lost silently.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Graph, graph } from '../../../src/model/graph/graph.ts'
import type { Schema } from '../../../src/model/tool/schema.ts'
import { fake, Lab } from '../../lab.ts'

const ref = { namespace: 'default', runId: 'lab' }
/** As untyped JavaScript would write it. */
type Loose = (state: Record<string, never>, ctx: LooseContext) => unknown
interface LooseContext {
  go(node: unknown, patch?: unknown): unknown
  done(output?: unknown): unknown
  fail(message: string, details?: unknown): unknown
  call(tool: unknown, input: unknown): Promise<{ id: string }>
}

function loose(state: Schema, nodes: Record<string, Loose>, more: object = {}): Graph {
  const [start] = Object.keys(nodes)
  return graph({ id: 'w@1.0.0', state, start, nodes, ...more } as never) as Graph
}

/** The state after one step with this patch, or the error that failed the run. */
async function patchedBy(
  state: Schema,
  input: unknown,
  patch: unknown,
): Promise<{ message: string }> {
  const lab = new Lab()
  const two = loose(state, { a: (_, ctx) => ctx.go('b', patch), b: (now, ctx) => ctx.done(now) })
  await lab.process(two, input)
  return (await lab.state()) === 'completed'
    ? ((await lab.output()) as { message: string })
    : await lab.error()
}

describe('state is not changed in place', () => {
  const list = { list: [2, 1], deep: { a: { b: 1 } } }
  const changes: [string, (state: typeof list) => void][] = [
    ['a push', (state) => state.list.push(2)],
    ['a key', (state) => Object.assign(state, { list: [] })],
    ['a new key', (state) => Object.assign(state, { other: 1 })],
    ['a deep key', (state) => Object.assign(state.deep.a, { b: 2 })],
    ['a key less', (state) => delete (state as { deep?: object }).deep],
    ['a sort', (state) => state.list.sort()],
  ]
  test.each(changes)('D9 %s throws, and the run fails', async (_, change) => {
    const lab = new Lab()
    const seen: unknown[] = []
    const node: Loose = (state, ctx) => {
      seen.push(state)
      change(state as never)
      return ctx.done()
    }
    await lab.process(loose(z.any(), { a: (_s, ctx) => ctx.go('b'), b: node }), list)
    expect(await lab.state()).toBe('failed')
    expect(await lab.error()).toMatchObject({ name: 'TypeError' })
    const message =
      /^Cannot .* \(a run's state is read-only: give ctx\.go\(node, patch\) what changes\)$/
    expect((await lab.error()).message).toMatch(message)
    expect(seen).toEqual([list])
  })

  test('D9 also what a patch brought: the object that a node gave is its own', async () => {
    const lab = new Lab()
    const mine = { list: [1] }
    const two = loose(z.any(), {
      a: (_, ctx) => ctx.go('b', { mine }),
      b: (state, ctx) => {
        mine.list.push(2)
        return ctx.done(state)
      },
    })
    await lab.process(two, {})
    expect(await lab.output()).toEqual({ mine: { list: [1] } })
    expect(mine.list).toEqual([1, 2])
  })
})

describe('patches', () => {
  const State = z.object({
    name: z.string().default('nobody'),
    age: z.number().optional(),
    tags: z.array(z.string()),
    size: z.string().transform((text) => text.length),
  })
  const start = { tags: [], size: 'four' }

  test('D9 the schema gives what a start leaves out, and a transform is made once', async () => {
    expect(await patchedBy(State, start, {})).toEqual({ name: 'nobody', tags: [], size: 4 })
    expect(await patchedBy(State, start, undefined)).toEqual({ name: 'nobody', tags: [], size: 4 })
    const patch = { name: 'ana', size: 'sixsix' }
    expect(await patchedBy(State, start, patch)).toEqual({ name: 'ana', tags: [], size: 6 })
  })

  test('D9 undefined removes a key that may go; one with a default gets that', async () => {
    const full = { ...start, name: 'ana', age: 3 }
    const after = { name: 'nobody', tags: [], size: 4 }
    expect(await patchedBy(State, full, { age: undefined, name: undefined })).toEqual(after)
  })

  test.each([
    ['a wrong value', { tags: 'x' }, /^state\.tags of w@1\.0\.0 is not valid: \$: /],
    ['a wrong part', { tags: ['a', 7] }, /^state\.tags of w@1\.0\.0 is not valid: \$\[1\]: /],
    ['undefined where one must be', { tags: undefined }, /^state\.tags of w@1\.0\.0 is not valid/],
    ['a key that is none', { tag: ['a'] }, /^state of w@1\.0\.0 has no key "tag"/],
    ['both', { tag: 1, tags: 1 }, /state/],
  ])('D9 %s is refused, and says where', async (_, patch, message) => {
    const error = await patchedBy(State, start, patch)
    expect(error).toMatchObject({ code: 'STATE_INVALID' })
    expect(error.message).toMatch(message)
  })

  test.each([
    ['a date', { tags: [], any: { at: new Date(0) } }, /\$\.any\.at/],
    ['a map', { any: [new Map()] }, /\$\.any\[0\]/],
    ['a function', { any: { run: () => {} } }, /\$\.any\.run/],
    ['NaN', { any: Number.NaN }, /\$\.any/],
    ['a class instance', { any: { deep: new Lab() } }, /\$\.any\.deep/],
    ['a lone surrogate', { any: '\ud800' }, /\$\.any/],
  ])('D9 %s in a patch is refused with its path', async (_, patch, message) => {
    const open = z.object({ tags: z.array(z.string()).optional(), any: z.any().optional() })
    const error = await patchedBy(open, {}, patch)
    expect(error).toMatchObject({ code: 'NOT_PLAIN_DATA' })
    expect(error.message).toMatch(message)
  })

  test.each([['a string'], [7], [['a']], [[]], [true]])(
    'D9 a patch that is %j is refused',
    async (p) => {
      const error = await patchedBy(z.object({ n: z.number() }), { n: 1 }, p)
      expect(error).toMatchObject({ code: 'STATE_INVALID' })
      expect(error.message).toMatch(/the patch is not an object/)
    },
  )

  test.each([[new Map([['n', 2]])], [new Set([1])], [new Date(0)]])(
    'D9 a patch that is a %s is refused, and not taken for an empty one',
    async (patch) => {
      const error = await patchedBy(z.object({ n: z.number() }), { n: 1 }, patch)
      expect(error).toMatchObject({ code: 'NOT_PLAIN_DATA' })
    },
  )

  test('D9 a state that is no object can be passed on, and not patched', async () => {
    expect(await patchedBy(z.string(), 'hello', undefined)).toBe('hello')
    const error = await patchedBy(z.string(), 'hello', { a: 1 })
    expect(error).toMatchObject({ code: 'STATE_INVALID' })
  })

  test('D9 a loose state takes further keys, a strict one says that it does not', async () => {
    const keys = { n: z.number() }
    const patch = { more: [1] }
    expect(await patchedBy(z.looseObject(keys), { n: 1 }, patch)).toEqual({ n: 1, more: [1] })
    const error = await patchedBy(z.strictObject(keys), { n: 1 }, patch)
    expect(error.message).toMatch(/more/)
  })
})

describe('A5 any Standard Schema library keeps the state', () => {
  const schemas: [string, Schema][] = [
    ['zod', z.object({ n: z.number(), name: z.string().default('x') })],
    ['valibot', v.object({ n: v.number(), name: v.optional(v.string(), 'x') })],
    ['arktype', type({ n: 'number', name: "string = 'x'" })],
  ]
  test.each(schemas)('A5 %s: defaults, patches, refusals', async (_, schema) => {
    expect(await patchedBy(schema, { n: 1 }, { n: 2 })).toEqual({ n: 2, name: 'x' })
    expect(await patchedBy(schema, { n: 1 }, { name: 'y' })).toEqual({ n: 1, name: 'y' })
    const error = await patchedBy(schema, { n: 1 }, { n: 'two' })
    expect(error).toMatchObject({ code: 'STATE_INVALID' })
    expect(error.message).toMatch(/w@1\.0\.0.*/)
    expect(error.message).toMatch(/\bn\b/)
  })

  test('A5 an asynchronous schema is waited for', async () => {
    const slow = z.object({ n: z.number().refine(async (n) => n < 10) })
    expect(await patchedBy(slow, { n: 1 }, { n: 2 })).toEqual({ n: 2 })
    expect(await patchedBy(slow, { n: 1 }, { n: 20 })).toMatchObject({ code: 'STATE_INVALID' })
  })
})

describe('the ways a node can end', () => {
  const any = z.any()

  test.each([
    ['an unknown node', (ctx: LooseContext) => ctx.go('nowhere'), /node a goes to unknown nowhere/],
    [
      'no node at all',
      (ctx: LooseContext) => ctx.go(undefined),
      /node a goes to unknown undefined/,
    ],
    [
      'nothing',
      () => undefined,
      /node a must return ctx\.go\(…\), ctx\.done\(…\) or ctx\.fail\(…\)/,
    ],
    ['what looks like an end', () => ({ kind: 'done', output: 1 }), /node a must return/],
    ['a bare state', () => ({ n: 1 }), /node a must return/],
  ])('D1 %s fails the run, and says so', async (_, end, message) => {
    const lab = new Lab()
    await lab.process(loose(any, { a: (_s, ctx) => end(ctx), b: (_s, ctx) => ctx.done() }), {})
    expect(await lab.state()).toBe('failed')
    expect(await lab.error()).toMatchObject({ code: 'GRAPH_INVALID' })
    expect((await lab.error()).message).toMatch(/graph "w@1\.0\.0"/)
    expect((await lab.error()).message).toMatch(message)
  })

  test('E3 ctx.fail ends the run with its message', async () => {
    const lab = new Lab()
    await lab.process(loose(any, { a: (_, ctx) => ctx.fail('no budget', { left: 0 }) }), {})
    expect(await lab.error()).toMatchObject({ code: 'NODE_FAILED', message: 'no budget' })
    const [ended] = (await lab.events('state')).slice(-1)
    expect(ended?.data).toMatchObject({ to: 'failed', cause: 'no budget' })
  })

  test('D1 an end that was made and not returned is none', async () => {
    const lab = new Lab()
    const ends: Loose = async (_, ctx) => {
      ctx.go('b')
      return ctx.done('first')
    }
    await lab.process(loose(any, { a: ends, b: (_, ctx) => ctx.done('b') }), {})
    expect(await lab.output()).toBe('first')
  })

  test('D1 output is checked against its schema, and must be plain', async () => {
    for (const [output, code] of [
      ['no number', 'OUTPUT_INVALID'],
      [new Date(0), 'NOT_PLAIN_DATA'],
    ] as const) {
      const lab = new Lab()
      const schema = code === 'OUTPUT_INVALID' ? { output: z.number() } : {}
      await lab.process(loose(any, { a: (_, ctx) => ctx.done(output) }, schema), {})
      expect(await lab.error()).toMatchObject({ code })
    }
  })

  test('C3 calls that nobody awaits finish before the run goes on', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 500 })
    const nodes: Record<string, Loose> = {
      a: async (_, ctx) => {
        void ctx.call(mail.tool, {})
        return ctx.go('b')
      },
      b: (_, ctx) => ctx.done(),
    }
    await lab.process(loose(any, nodes, { tools: [mail.tool] }), {})
    const [record] = await lab.records()
    expect(record).toMatchObject({ status: 'committed', nodeId: 'a' })
    const commit = lab.commits.findIndex((one) => one.changes.run?.visit === 2)
    const receipt = lab.commits.findIndex((one) => one.changes.records?.[0]?.status === 'committed')
    expect(commit).toBeGreaterThanOrEqual(receipt)
    expect(receipt).toBeGreaterThan(0)
  })

  test('C3 a call that comes after its node has ended is refused, with an event', async () => {
    const lab = new Lab()
    const mail = fake(lab, 'mail', 'unsafe_on_replay', { ms: 100 })
    const refused: string[] = []
    const nodes: Record<string, Loose> = {
      a: async (_, ctx) => {
        void lab.clock.after(50, () => {
          ctx.call(mail.tool, { from: 'a' }).catch((error) => refused.push(error.code))
        })
        return ctx.go('b')
      },
      b: async (_, ctx) => {
        await ctx.call(mail.tool, { from: 'b' })
        return ctx.done()
      },
    }
    await lab.process(loose(any, nodes, { tools: [mail.tool] }), {})
    expect(await lab.state()).toBe('completed')
    expect(refused).toEqual(['NODE_ENDED'])
    expect(mail.sent.map((one) => one.input)).toEqual([{ from: 'b' }])
    expect(await lab.events('call_refused')).toMatchObject([{ visit: 1, data: { tool: 'mail' } }])
  })

  test('F1 every visit has its number and node, and the run says where it is', async () => {
    const lab = new Lab()
    const seen: unknown[] = []
    const at: Loose = (state, ctx) => {
      const { node, visit } = ctx as unknown as { node: string; visit: number }
      seen.push([node, visit])
      const { n } = state as unknown as { n: number }
      return n < 4 ? ctx.go(n % 2 ? 'a' : 'b', { n: n + 1 }) : ctx.done()
    }
    await lab.process(loose(z.object({ n: z.number() }), { a: at, b: at }), { n: 0 })
    expect(seen).toEqual([
      ['a', 1],
      ['b', 2],
      ['a', 3],
      ['b', 4],
      ['a', 5],
    ])
    expect(await lab.store.getRun(ref)).toMatchObject({ node: 'a', visit: 5 })
  })
})
