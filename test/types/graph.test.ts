// What the type checker knows inside the nodes of a graph, and of its runs. Little of it is
// executed: `typesOnly` takes a function and never calls it.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Call, Context, Counterfoil } from '../../src/index.ts'
import type { Approval, DecisionMessage, NodeContext } from '../../src/model/graph/context.ts'
import {
  type Graph,
  graph,
  type NodeEnd,
  type Patch,
  workflow,
} from '../../src/model/graph/graph.ts'
import type { Frozen } from '../../src/model/tool/schema.ts'
import { recordedKey, tool } from '../../src/model/tool/tool.ts'

const HOUR = 3_600_000

const draft = tool({
  name: 'draft',
  replayClass: 'pure',
  input: z.object({ for: z.string() }),
  run: (input) => `Dear ${input.for}`,
})
const sendEmail = tool({
  name: 'send_email',
  replayClass: 'unsafe_on_replay',
  input: z.object({ to: z.string(), body: z.string() }),
  output: z.object({ messageId: z.string() }),
  run: async (input) => ({ messageId: input.to }),
})
const sendAll = tool({
  name: 'send_all',
  replayClass: 'idempotent_with_key',
  idempotencyKey: recordedKey(),
  keyTtlMs: 60_000,
  input: z.object({ mails: z.array(z.object({ to: z.array(z.string()) })) }),
  run: (input) => input.mails.length,
})

const outreach = graph({
  id: 'outreach@1.0.0',
  state: z.object({ customer: z.string(), draft: z.string().default('') }),
  output: z.object({ ok: z.boolean() }),
  tools: [draft, sendEmail],
  start: 'plan',
  nodes: {
    plan: async (state, ctx) =>
      ctx.go('send', { draft: await ctx.call(draft, { for: state.customer }) }),
    send: async (state, ctx) => {
      await ctx.call(sendEmail, { to: state.customer, body: state.draft })
      return ctx.go('approve')
    },
    approve: async (state, ctx) => {
      const answer = await ctx.approval({
        queue: 'sales',
        title: 'Commit?',
        data: state.draft,
        slaMs: 72 * HOUR,
      })
      return answer.approved ? ctx.go('commit') : ctx.fail(answer.reason)
    },
    commit: async (_state, ctx) => ctx.done({ ok: true }),
  },
})

const state = z.object({
  step: z.number().default(0),
  mails: z.array(z.object({ to: z.array(z.string()) })).default([]),
  note: z.string().optional(),
})
type State = z.output<typeof state>
type Names = 'think' | 'act'
type Ctx = NodeContext<
  typeof draft | typeof sendAll,
  Names,
  Patch<z.input<typeof state>>,
  { ok: boolean }
>

/** Checked, not run. */
function typesOnly(_: (ctx: Ctx, state: Frozen<State>, cf: Counterfoil) => unknown): void {}

const refuses = (make: () => unknown) => expect(make).toThrow(/^graph "?g@1\.0\.0/)
const spec = { id: 'g@1.0.0', state }

describe('A5 a graph and its runs', () => {
  test('A5 the example of the design compiles, and gives what its schemas say', () => {
    expectTypeOf(outreach).toEqualTypeOf<
      Graph<{ customer: string; draft?: string | undefined }, { ok: boolean }>
    >()
    typesOnly(async (_ctx, _state, cf) => {
      const run = await cf.start(outreach, { customer: 'acme' }, { runId: 'acme-1' })
      expectTypeOf(run.result()).toEqualTypeOf<Promise<{ ok: boolean }>>()
      // @ts-expect-error a part is missing
      await cf.start(outreach, { draft: 'x' })
      // @ts-expect-error a part of another type
      await cf.start(outreach, { customer: 7 })
    })
  })

  test('A5 the output is the output side of its schema, or not known', () => {
    const nodes = { only: async (_: unknown, ctx: NodeContext) => ctx.done() }
    const bare = graph({ ...spec, start: 'only', nodes })
    expectTypeOf(bare).toEqualTypeOf<Graph<z.input<typeof state>, unknown>>()
    const counted = graph({
      ...spec,
      output: z.string().transform((text) => text.length),
      start: 'only',
      nodes: { only: (_, ctx) => ctx.done('seven') },
    })
    expectTypeOf(counted).toEqualTypeOf<Graph<z.input<typeof state>, number>>()
  })

  test('A5 valibot and arktype infer alike', () => {
    const byValibot = graph({
      id: 'v@1.0.0',
      state: v.object({ n: v.optional(v.number(), 1) }),
      output: v.number(),
      start: 'a',
      nodes: {
        a: (state, ctx) => {
          expectTypeOf(state).toEqualTypeOf<{ readonly n: number }>()
          return state.n > 3 ? ctx.done(state.n) : ctx.go('a', { n: state.n + 1 })
        },
      },
    })
    expectTypeOf(byValibot).toEqualTypeOf<Graph<{ n?: number | undefined }, number>>()
    const byArktype = graph({
      id: 'a@1.0.0',
      state: type({ n: 'number', 'm?': 'string[]' }),
      start: 'a',
      nodes: {
        a: (state, ctx) => {
          expectTypeOf(state).toEqualTypeOf<{
            readonly n: number
            readonly m?: readonly string[]
          }>()
          return ctx.go('a', { m: state.m ?? [] })
        },
      },
    })
    expectTypeOf(byArktype).toEqualTypeOf<Graph<{ n: number; m?: string[] }, unknown>>()
  })
})

describe('A5 the nodes', () => {
  test('A5 names come from the keys, and start is one of them', () => {
    const nodes = { a: async (_: unknown, ctx: NodeContext) => ctx.done() }
    expect(graph({ ...spec, start: 'a', nodes }).start).toBe('a')
    // @ts-expect-error no such node
    refuses(() => graph({ ...spec, start: 'b', nodes }))
    // @ts-expect-error no start
    refuses(() => graph({ ...spec, nodes }))
    // @ts-expect-error no nodes
    refuses(() => graph({ ...spec, start: 'a' }))
    // @ts-expect-error a graph without nodes has nowhere to start
    refuses(() => graph({ ...spec, start: 'a', nodes: {} }))
    // @ts-expect-error a node that is none
    refuses(() => graph({ ...spec, start: 'a', nodes: { a: 'done' } }))
    // @ts-expect-error no state
    refuses(() => graph({ id: 'g@1.0.0', start: 'a', nodes }))
  })

  test('A5 loops and ways back infer without a word', () => {
    const loop = graph({
      ...spec,
      output: z.object({ steps: z.number() }),
      tools: [draft],
      start: 'think',
      nodes: {
        think: async (state, ctx) => {
          expectTypeOf(ctx.go).parameter(0).toEqualTypeOf<'think' | 'act' | 'check'>()
          const note = await ctx.call(draft, { for: 'ana' })
          return state.step > 5 ? ctx.go('check') : ctx.go('act', { note })
        },
        act: {
          checkpoint: 'every:5',
          run: async (state, ctx) => {
            expectTypeOf(state).toEqualTypeOf<Frozen<State>>()
            return ctx.go('think', { step: state.step + 1 })
          },
        },
        check: (state, ctx) =>
          state.note === undefined ? ctx.go('think') : ctx.done({ steps: state.step }),
      },
    })
    expect([...loop.dials]).toEqual([
      ['think', 'always'],
      ['act', 'every:5'],
      ['check', 'always'],
    ])
  })

  test('A5 a node returns an end that ctx made', () => {
    // @ts-expect-error nothing is returned
    graph({ ...spec, start: 'a', nodes: { a: async () => {} } })
    // @ts-expect-error it looks like an end, and was not made by ctx
    graph({ ...spec, start: 'a', nodes: { a: () => ({ kind: 'done', output: 7 }) } })
    // @ts-expect-error a name is no end
    graph({ ...spec, start: 'a', nodes: { a: async () => 'a' } })
  })

  test('D10 the dial of a node', () => {
    const run = (_: unknown, ctx: NodeContext) => ctx.done()
    const of = (checkpoint: 'always' | 'before_effects' | `every:${number}`) =>
      graph({ ...spec, start: 'a', nodes: { a: { run, checkpoint } } })
    expect(of('before_effects').dials.get('a')).toBe('before_effects')
    // @ts-expect-error a dial that does not exist
    refuses(() => of('never'))
    // @ts-expect-error no number
    refuses(() => of('every:few'))
    // @ts-expect-error a node without a function
    refuses(() => graph({ ...spec, start: 'a', nodes: { a: { checkpoint: 'always' } } }))
    // @ts-expect-error a mode that does not exist
    refuses(() => graph({ ...spec, start: 'a', nodes: { a: run }, checkpoints: 'sometimes' }))
  })
})

describe('A5 the ways to end', () => {
  test('A5 ctx.go takes a node and a part of the state', () => {
    typesOnly((ctx, state) => {
      expectTypeOf(ctx.go('think')).toEqualTypeOf<NodeEnd>()
      ctx.go('act', { step: 7 })
      ctx.go('act', { step: undefined, mails: undefined, note: undefined })
      ctx.go('act', state)
      ctx.go('act', { mails: [...state.mails, { to: ['ana'] }] })
      // @ts-expect-error no such node
      ctx.go('rest')
      // @ts-expect-error a key of another type
      ctx.go('act', { step: '7' })
      // @ts-expect-error a key that the state does not have
      ctx.go('act', { steps: 7 })
      // @ts-expect-error a patch is no state
      ctx.go('act', 7)
    })
  })

  test('A5 ctx.done takes what the output schema takes', () => {
    typesOnly((ctx) => {
      expectTypeOf(ctx.done({ ok: true })).toEqualTypeOf<NodeEnd>()
      // @ts-expect-error another output
      ctx.done({ ok: 'yes' })
      // @ts-expect-error no output
      ctx.done()
      const free = ctx as unknown as NodeContext
      free.done()
      free.done({ any: 'thing' })
    })
  })

  test('A5 ctx.fail takes a message, and perhaps more', () => {
    typesOnly((ctx) => {
      expectTypeOf(ctx.fail('no luck')).toEqualTypeOf<NodeEnd>()
      ctx.fail('no luck', { tries: 3 })
      // @ts-expect-error no message
      ctx.fail()
    })
  })

  test('A5 a patch of a state whose keys are not known, and of one that has none', () => {
    expectTypeOf<Patch<unknown>>().toEqualTypeOf<Readonly<Record<string, unknown>>>()
    expectTypeOf<Patch<string>>().toEqualTypeOf<never>()
    type Either = Patch<{ kind: 'a'; n: number } | { kind: 'b'; s: string }>
    expectTypeOf<{ n: 7 }>().toExtend<Either>()
    expectTypeOf<{ s: 'x' }>().toExtend<Either>()
    expectTypeOf<{ s: 7 }>().not.toExtend<Either>()
  })

  test('A5 a workflow returns its output, and has no other way to end', () => {
    workflow({
      id: 'w@1.0.0',
      input: z.string(),
      run: async (_, ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<Context<never>>()
        expectTypeOf(ctx).not.toHaveProperty('go')
        expectTypeOf(ctx).not.toHaveProperty('done')
        expectTypeOf(ctx).not.toHaveProperty('fail')
      },
    })
  })
})

describe('D9 the state cannot be changed in place', () => {
  test('D9 at no depth', () => {
    typesOnly((_, state) => {
      expectTypeOf(state.note).toEqualTypeOf<string | undefined>()
      // @ts-expect-error a key
      state.step = 7
      // @ts-expect-error a list
      state.mails.push({ to: [] })
      // @ts-expect-error a list in an object in a list
      state.mails[0]?.to.push('ana')
    })
  })

  test('D9 tuples, unions, brands and what is not known stay what they are', () => {
    expectTypeOf<Frozen<[number, string[]]>>().toEqualTypeOf<readonly [number, readonly string[]]>()
    expectTypeOf<Frozen<string | { a: 1 } | null>>().toEqualTypeOf<
      string | { readonly a: 1 } | null
    >()
    expectTypeOf<Frozen<unknown>>().toEqualTypeOf<unknown>()
    const branded = z.string().brand<'id'>()
    expectTypeOf<Frozen<z.output<typeof branded>>>().toEqualTypeOf<z.output<typeof branded>>()
  })

  test('D9 what is read-only can be given to a tool', () => {
    typesOnly((ctx, state) => {
      expectTypeOf(ctx.call(sendAll, { mails: state.mails })).toEqualTypeOf<Call<number>>()
      // @ts-expect-error still not what the tool takes
      ctx.call(sendAll, { mails: state.step })
    })
  })
})

describe('the rest of ctx', () => {
  test('A1 ctx.call takes declared tools only', () => {
    typesOnly((ctx) => {
      expectTypeOf(ctx.call(draft, { for: 'ana' })).toEqualTypeOf<Call<string>>()
      // @ts-expect-error not among the tools
      ctx.call(sendEmail, { to: 'ana', body: 'x' })
    })
    graph({
      ...spec,
      start: 'a',
      nodes: {
        a: async (_, ctx) => {
          // @ts-expect-error nothing is declared
          await ctx.call(draft, { for: 'ana' })
          return ctx.done()
        },
      },
    })
  })

  test('E6 a call may say how sure it is, and how much it is about', () => {
    typesOnly((ctx) => {
      ctx.call(draft, { for: 'ana' }, { confidence: 0.9, amount: 12 })
      // @ts-expect-error a number
      ctx.call(draft, { for: 'ana' }, { confidence: 'high' })
      // @ts-expect-error a tag belongs to the tool
      ctx.call(draft, { for: 'ana' }, { tags: ['pii'] })
    })
  })

  test('E1 an approval gives back what was approved', () => {
    typesOnly((ctx, state) => {
      const shown = ctx.approval({ title: 'Send?', data: state.mails, deciders: ['ana'] })
      expectTypeOf(shown).toEqualTypeOf<Call<Approval<Frozen<State>['mails']>>>()
      const edited = ctx.approval({
        title: 'Send?',
        data: { to: ['ana'] as const },
        schema: z.object({ to: z.array(z.string()), cc: z.string().default('') }).partial(),
      })
      expectTypeOf(edited).toEqualTypeOf<
        Call<Approval<{ to?: string[] | undefined; cc?: string | undefined }>>
      >()
      expectTypeOf(ctx.approval({ title: 'Go?' })).toEqualTypeOf<Call<Approval<unknown>>>()
      // @ts-expect-error an approval has a title
      ctx.approval({ data: 7 })
      // @ts-expect-error what is shown does not fit the schema of an edit
      ctx.approval({ title: 'Send?', data: { to: 7 }, schema: z.object({ to: z.string() }) })
      // @ts-expect-error a list of people
      ctx.approval({ title: 'Send?', deciders: 'ana' })
    })
  })

  test('E4 a decision is a structured message', () => {
    typesOnly(async (ctx) => {
      const { message, outcome } = await ctx.approval({ title: 'Go?' })
      expectTypeOf(message).toEqualTypeOf<DecisionMessage>()
      expectTypeOf(message.role).toEqualTypeOf<'human'>()
      expectTypeOf(outcome).toEqualTypeOf<'approve' | 'edit' | 'reject' | 'respond' | 'expire'>()
    })
  })

  test('D7 the context of the model, and the beats', () => {
    typesOnly((ctx) => {
      expectTypeOf(ctx.context()).toEqualTypeOf<Call<unknown>>()
      ctx.beat('plan')
      ctx.beat('observe', { rows: 3 })
      // @ts-expect-error there are six
      ctx.beat('rest')
    })
  })

  test('D7 the hooks are given the state and the document', () => {
    graph({
      ...spec,
      start: 'a',
      nodes: { a: (_, ctx) => ctx.done() },
      document: (state) => {
        expectTypeOf(state).toEqualTypeOf<Frozen<State>>()
        return { goal: state.note }
      },
      assembleContext: (document) => {
        expectTypeOf(document).toEqualTypeOf<unknown>()
        return [document]
      },
    })
  })
})
