// F3: what a version of a graph stands for, that nothing else enters, and how a change is told.
import { scope, type Type, type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { GraphContent } from '../../src/model/graph/content.ts'
import { differences, type KnownContent } from '../../src/model/graph/differences.ts'
import { contentOf, fingerprintOf } from '../../src/model/graph/fingerprint.ts'
import { doneWith, type Graph, graph, workflow } from '../../src/model/graph/graph.ts'
import { tool } from '../../src/model/tool/tool.ts'

type Spec = Record<string, unknown>
const anyGraph = graph as unknown as (spec: Spec) => Graph
const anyWorkflow = workflow as unknown as (spec: Spec) => Graph
const anyTool = tool as unknown as (spec: Spec) => unknown

// Functions, so that every use is a construction of its own.
const mail = (change: Spec = {}) =>
  anyTool({
    name: 'send_email',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string(), copies: z.number().default(1) }),
    output: z.object({ id: z.string() }),
    run: () => ({ id: 'm1' }),
    ...change,
  })
const charge = (change: Spec = {}) =>
  anyTool({
    name: 'charge',
    replayClass: 'idempotent_with_key',
    idempotencyKey: () => 'k',
    ...{ keyTtlMs: 1_000, timeoutMs: 500 },
    input: z.object({ cents: z.int() }),
    run: () => 1,
    ...change,
  })
const state = () => z.object({ customer: z.string(), draft: z.string().default('') })
const end = () => doneWith({ ok: true })

function outreach(change: Spec = {}): Graph {
  return anyGraph({
    id: 'outreach@1.0.0',
    state: state(),
    output: z.object({ ok: z.boolean() }),
    tools: [mail(), charge()],
    start: 'plan',
    nodes: { plan: end, send: end, approve: { run: end, checkpoint: 'before_effects' } },
    ...change,
  })
}

/** A graph of which only the schema of the state matters. */
function withState(schema: unknown): Graph {
  return anyGraph({ id: 's@1.0.0', state: schema, start: 'a', nodes: { a: end } })
}

const text = (graph: Graph) => JSON.stringify(graph.content)

describe('F3 the same graph has the same fingerprint', () => {
  test('F3 in two constructions', () => {
    expect(outreach().fingerprint).toBe(outreach().fingerprint)
    expect(outreach().content).toEqual(outreach().content)
    expect(differences(outreach().content, outreach().content)).toEqual([])
  })

  test('F3 in another process: it is the one that was written down here', () => {
    expect(outreach().fingerprint).toBe(
      'd15c17f7e6e9226115da1be7dd22d95bd7461e518ca94c6451153f07d3f35101',
    )
  })

  test('F3 it is the hash of the content, and of what a store gives back of it', () => {
    const made = outreach()
    expect(made.fingerprint).toMatch(/^[0-9a-f]{64}$/)
    expect(fingerprintOf(made.content)).toBe(made.fingerprint)
    expect(fingerprintOf(JSON.parse(JSON.stringify(made.content)))).toBe(made.fingerprint)
    expect(contentOf(made)).toEqual(made.content)
  })

  test('F3 nothing is computed before it is asked for, and then once', () => {
    let asked = 0
    const counting = {
      '~standard': {
        version: 1,
        vendor: 'counting',
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: () => ({ n: ++asked }), output: () => ({ n: ++asked }) },
      },
    }
    const made = withState(counting)
    expect(asked).toBe(0)
    expect(made.fingerprint).toBe(made.fingerprint)
    expect(made.content).toBe(made.content)
    expect(asked).toBe(2)
  })

  test('F3 the order in which things are written does not matter', () => {
    const { plan, ...rest } = { plan: end, send: end, approve: end }
    const one = outreach({ nodes: { plan, ...rest } })
    const other = outreach({ nodes: { ...rest, plan }, tools: [charge(), mail()] })
    expect(other.fingerprint).toBe(one.fingerprint)
    const swapped = z.object({ draft: z.string().default(''), customer: z.string() })
    expect(outreach({ state: swapped }).fingerprint).toBe(outreach().fingerprint)
    const colours = (...names: string[]) => withState(z.object({ colour: z.enum(names) }))
    expect(colours('red', 'blue').fingerprint).toBe(colours('blue', 'red').fingerprint)
  })
})

describe('F3 what may be tuned without a new version', () => {
  const tuned: [string, Spec][] = [
    ['timeouts', { timeoutMs: 5, quietMs: 7 }],
    ['retries', { retry: { attemptMax: 9 } }],
    ['tags and limits', { tags: ['pii'], rateLimit: { class: 'a', count: 1, perMs: 1 } }],
    ['metadata', { blastRadius: 'money', beat: 'act', amount: () => 1, usage: () => ({}) }],
    ['functions', { run: () => ({ id: 'm2' }), probe: () => ({ landed: 'no' }) }],
    ['externalId', { externalId: () => 'x' }],
  ]
  test.each(tuned)('F3 %s of a tool', (_, change) => {
    expect(outreach({ tools: [mail(change), charge()] }).fingerprint).toBe(outreach().fingerprint)
  })

  test.each([
    ['the id', { id: 'outreach@1.0.1' }],
    ['the checkpoint mode', { checkpoints: 'full' }],
    ['a dial', { nodes: { plan: end, send: end, approve: { run: end, checkpoint: 'every:3' } } }],
    ['the hooks', { document: () => ({}), assembleContext: () => 1 }],
  ])('F3 %s', (_, change) => {
    expect(outreach(change).fingerprint).toBe(outreach().fingerprint)
  })

  test('F3 the function of a node, and of a key', () => {
    const nodes = { plan: () => doneWith(2), send: end, approve: { run: end } }
    const one = outreach({ nodes: { plan: end, send: end, approve: end } })
    const tools = [mail(), charge({ idempotencyKey: () => 'other' })]
    expect(outreach({ nodes, tools }).fingerprint).toBe(one.fingerprint)
  })

  test('F3 words for people in a schema, and what it fills in', () => {
    const told = z.object({
      customer: z
        .string()
        .describe('who')
        .meta({ title: 'Customer', examples: ['acme'], own: 1 }),
      draft: z.string().default('Dear'),
    })
    expect(outreach({ state: told }).fingerprint).toBe(outreach().fingerprint)
  })

  test('F3 a default that is computed does not move the fingerprint', () => {
    let n = 0
    const moving = () => withState(z.object({ at: z.string().default(() => `${++n}`) }))
    expect(moving().fingerprint).toBe(moving().fingerprint)
    expect(n).toBeGreaterThan(1)
  })
})

describe('F3 every change of content is found and named', () => {
  const plan = { plan: end, send: end }
  const approve = { run: end, checkpoint: 'before_effects' }
  const changes: [string, Spec, string[]][] = [
    ['a start', { start: 'send' }, ['start was plan, is send']],
    ['a node less', { nodes: plan }, ['node approve is gone']],
    ['a node more', { nodes: { ...plan, approve, constructor: end } }, ['node constructor is new']],
    [
      'a node renamed',
      { nodes: { ...plan, agree: approve } },
      ['node agree is new', 'node approve is gone'],
    ],
    ['edges', { edges: { plan: ['send'] } }, ['edges are declared now']],
    ['a tool less', { tools: [mail()] }, ['tool charge is gone']],
    [
      'a tool more',
      { tools: [mail(), charge(), charge({ name: 'refund' })] },
      ['tool refund is new'],
    ],
    [
      'a class',
      { tools: [mail({ replayClass: 'pure' }), charge()] },
      ['tool send_email: class was unsafe_on_replay, is pure'],
    ],
    [
      'a key window',
      { tools: [mail(), charge({ keyTtlMs: Number.POSITIVE_INFINITY })] },
      ['tool charge: keyTtlMs was 1000, is for ever'],
    ],
    [
      'a class with its key window',
      { tools: [mail(), anyTool({ ...plainCharge(), replayClass: 'unsafe_on_replay' })] },
      [
        'tool charge: class was idempotent_with_key, is unsafe_on_replay',
        'tool charge: keyTtlMs was 1000, is not set',
      ],
    ],
    [
      'oncePerVisit and outlives',
      { tools: [mail({ oncePerVisit: true, outlives: true }), charge()] },
      [
        'tool send_email: oncePerVisit was false, is true',
        'tool send_email: outlives was false, is true',
      ],
    ],
    [
      "a tool's input",
      { tools: [mail(), charge({ input: z.object({ cents: z.number() }) })] },
      [
        'tool charge: input schema changed at properties.cents.maximum, ' +
          'properties.cents.minimum, properties.cents.type',
      ],
    ],
    [
      "a tool's output",
      { tools: [mail({ output: z.object({ id: z.uuid() }) }), charge()] },
      ['tool send_email: output schema changed at properties.id.format, properties.id.pattern'],
    ],
    [
      "a tool's output gone",
      { tools: [mail({ output: undefined }), charge()] },
      ['tool send_email: output schema is gone'],
    ],
    [
      'a key of the state',
      { state: state().extend({ note: z.string().optional() }) },
      ['state schema changed at properties.note'],
    ],
    [
      'a key that is no more optional',
      { state: z.object({ customer: z.string(), draft: z.string() }) },
      ['state schema changed at required'],
    ],
    [
      'the output',
      { output: z.object({ ok: z.string() }) },
      ['output schema changed at properties.ok.type'],
    ],
    ['the output gone', { output: undefined }, ['output schema is gone']],
    [
      'several at once',
      { output: undefined, start: 'send', nodes: plan, tools: [charge()] },
      [
        'start was plan, is send',
        'node approve is gone',
        'tool send_email is gone',
        'output schema is gone',
      ],
    ],
  ]

  test.each(changes)('F3 %s', (_, change, told) => {
    const [was, is] = [outreach(), outreach(change)]
    expect(is.fingerprint).not.toBe(was.fingerprint)
    expect(differences(was.content, is.content)).toEqual(told)
    expect(differences(is.content, was.content)).toHaveLength(told.length)
  })

  test('F3 a workflow that became a graph, and the input of a workflow', () => {
    const trip = (input: unknown) => anyWorkflow({ id: 't@1.0.0', input, run: async () => 1 })
    const same = anyGraph({ id: 't@1.0.0', state: z.string(), start: 'run', nodes: { run: end } })
    expect(differences(trip(z.string()).content, same.content)).toEqual([
      'kind was workflow, is graph',
    ])
    expect(differences(trip(z.string()).content, trip(z.number()).content)).toEqual([
      'input schema changed at type',
    ])
  })

  test('F3 of many places three are named', () => {
    const of = (schema: z.ZodType) => ({ a: schema, b: schema, c: schema, d: schema })
    const was = withState(z.object(of(z.string())))
    expect(differences(was.content, withState(z.object(of(z.number()))).content)).toEqual([
      'state schema changed at properties.a.type, properties.b.type, properties.c.type, …',
    ])
  })

  test('F3 content that another version recorded in another form is not called the same', () => {
    const was = { ...outreach().content, form: 3 } as unknown as GraphContent
    expect(differences(was, outreach().content)).toEqual([
      'the content was recorded in another form, by another version of Counterfoil',
    ])
  })
})

describe('F3 schemas, as their libraries show them', () => {
  const shows = {
    zod: (a: 'string' | 'number') => z.object({ a: a === 'string' ? z.string() : z.number() }),
    arktype: (a: 'string' | 'number') => type({ a }) as unknown as Type,
  }

  test.each(Object.entries(shows))('F3 %s shows both sides', (_, schema) => {
    const [one, other] = [withState(schema('string')), withState(schema('number'))]
    expect(one.fingerprint).toBe(withState(schema('string')).fingerprint)
    expect(differences(one.content, other.content)).toEqual([
      'state schema changed at properties.a.type',
    ])
  })

  test('F3 the two sides of a schema are looked at apart', () => {
    const one = withState(z.object({ n: z.string().transform(Number).pipe(z.number()) }))
    const other = withState(z.object({ n: z.string().transform(Number).pipe(z.int()) }))
    expect(other.content.input.takes).toEqual(one.content.input.takes)
    expect(other.fingerprint).not.toBe(one.fingerprint)
  })

  test('F3 a schema of valibot tells of itself: types, entries, pipes, alternatives', () => {
    const of = (schema: unknown) => withState(schema)
    const one = of(v.object({ a: v.string() }))
    expect(one.content.input.takes).toEqual({
      vendor: 'valibot',
      structure: {
        ...{ kind: 'schema', type: 'object' },
        entries: { a: { kind: 'schema', type: 'string' } },
      },
    })
    expect(one.fingerprint).toBe(of(v.object({ a: v.string() })).fingerprint)
    expect(differences(one.content, of(v.object({ a: v.number() })).content)).toEqual([
      'state schema changed at entries.a.type',
    ])
    const others = [
      v.object({ a: v.optional(v.string()) }),
      v.object({ a: v.pipe(v.string(), v.minLength(2)) }),
      v.object({ a: v.pipe(v.string(), v.minLength(3)) }),
      v.object({ a: v.pipe(v.string(), v.regex(/a/)) }),
      v.object({ a: v.pipe(v.string(), v.regex(/b/)) }),
      v.object({ a: v.picklist(['x', 'y']) }),
      v.object({ a: v.union([v.string(), v.null()]) }),
      v.object({ a: v.pipe(v.string(), v.email()) }),
      v.object({ a: v.pipe(v.bigint(), v.minValue(3n)) }),
      v.strictObject({ a: v.string() }),
      v.record(v.string(), v.string()),
    ]
    const prints = [one, ...others.map(of)].map(({ fingerprint }) => fingerprint)
    expect(new Set(prints).size).toBe(others.length + 1)
  })

  test('F3 functions of a valibot schema are opaque: that is said, the rest is still seen', () => {
    const checked = (check: (a: string) => boolean, min = 1) =>
      withState(v.object({ a: v.pipe(v.string(), v.minLength(min), v.check(check)) }))
    const one = checked(() => true)
    expect(one.content.input.takes).toMatchObject({ vendor: 'valibot', partial: true })
    expect(checked(() => false).fingerprint).toBe(one.fingerprint)
    expect(checked(() => true, 2).fingerprint).not.toBe(one.fingerprint)
    const lazy: v.GenericSchema = v.lazy(() => v.object({ next: v.nullable(lazy) }))
    expect(withState(lazy).content.input.takes).toMatchObject({ partial: true })
  })

  test('F3 what JSON Schema cannot say is left open, and the rest is still seen', () => {
    const one = withState(z.object({ at: z.date(), n: z.number() }))
    expect(one.content.input.takes).toMatchObject({ partial: true })
    const other = withState(z.object({ at: z.date(), n: z.string() }))
    expect(differences(one.content, other.content)).toEqual([
      'state schema changed at properties.n.type',
    ])
    const open = withState(z.object({ at: z.any(), n: z.number() }))
    expect(open.fingerprint).not.toBe(one.fingerprint)
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['answers what is no JSON', () => ({ minimum: 10n })],
    ['answers nothing', () => undefined],
    ['answers a schema that is none', () => ({ properties: null })],
  ])('F3 a library that %s is opaque', (_, convert) => {
    const validate = (value: unknown) => ({ value })
    const standard = { version: 1, vendor: 'odd', validate }
    const odd = { '~standard': { ...standard, jsonSchema: { input: convert, output: convert } } }
    const opaque = { vendor: 'odd', opaque: true }
    expect(withState(odd).content.input).toEqual({ takes: opaque, gives: opaque })
  })

  test('F3 keys that have the names of keywords are keys', () => {
    const keys = { title: z.string(), default: z.string(), description: z.string() }
    const made = withState(z.object(keys))
    for (const key of Object.keys(keys)) expect(text(made)).toContain(`"${key}":{"type":"string"}`)
    const other = withState(z.object({ ...keys, default: z.number() }))
    expect(differences(made.content, other.content)).toEqual([
      'state schema changed at properties.default.type',
    ])
  })
})

describe('F3 definitions that a library numbers as it meets them', () => {
  const tree = (leaf: string, root: 'node' | 'leaf' = 'node') => {
    const types = scope({
      node: { kids: '(node | leaf)[]', 'next?': 'leaf | node | null' },
      leaf: { v: leaf as 'string', 'up?': 'node' },
    }).export()
    return withState(types[root])
  }
  const list = (value: z.ZodType) => {
    const node = z.object({
      value,
      get next() {
        return node.nullable()
      },
    })
    return node
  }

  test('F3 are not named by that number', () => {
    const before = tree('string')
    for (let i = 0; i < 40; i++) type({ [`key${i}`]: `number > ${i}` as 'number' })
    const after = tree('string')
    expect(text(after)).toBe(text(before))
    expect(text(after)).not.toMatch(/intersection\d/)
  })

  test('F3 are content, however far from the root', () => {
    expect(tree('number').fingerprint).not.toBe(tree('string').fingerprint)
    expect(tree('string', 'leaf').fingerprint).not.toBe(tree('string').fingerprint)
    const chain = (last: z.ZodType) => {
      let schema = list(last) as z.ZodType
      for (let i = 0; i < 6; i++) schema = z.object({ [`in${i}`]: schema, again: list(schema) })
      return withState(schema)
    }
    expect(chain(z.string()).fingerprint).toBe(chain(z.string()).fingerprint)
    expect(chain(z.number()).fingerprint).not.toBe(chain(z.string()).fingerprint)
  })

  test('F3 a chain of them is seen to its end', () => {
    const chain = (last: unknown) => {
      const $defs: Record<string, unknown> = { d9: last }
      for (let i = 0; i < 9; i++) {
        $defs[`d${i}`] = { properties: { [`to${i}`]: { $ref: `#/$defs/d${i + 1}` } } }
      }
      const json = () => ({ $ref: '#/$defs/d0', $defs })
      const standard = { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) }
      return withState({ '~standard': { ...standard, jsonSchema: { input: json, output: json } } })
    }
    expect(chain({ type: 'string' }).fingerprint).toBe(chain({ type: 'string' }).fingerprint)
    expect(chain({ type: 'number' }).fingerprint).not.toBe(chain({ type: 'string' }).fingerprint)
  })

  test('F3 names that users give are not content, what they stand for is', () => {
    const named = (id: string, schema: z.ZodType) =>
      withState(z.object({ a: schema.meta({ id }), b: z.string() }))
    const one = named('Name', z.string())
    for (const id of ['Other', 'a/b', '50%', 'x y', '~1']) {
      expect(named(id, z.string()).fingerprint).toBe(one.fingerprint)
      expect(named(id, z.number()).fingerprint).not.toBe(one.fingerprint)
    }
  })
})

describe('F3 declared edges', () => {
  const edges = { plan: ['send', 'approve'], approve: ['send'] }

  test('F3 are content, in any order; a node without edges may be left out', () => {
    const one = outreach({ edges })
    const same = outreach({ edges: { approve: ['send'], plan: ['approve', 'send'] } })
    expect(same.fingerprint).toBe(one.fingerprint)
    const other = outreach({ edges: { ...edges, send: ['plan'] } })
    expect(differences(one.content, other.content)).toEqual(['edge send → plan is new'])
    expect(differences(one.content, outreach().content)).toEqual(['edges are no longer declared'])
  })

  test.each([
    [{ plan: ['nowhere'] }, /an edge from "plan" to "nowhere", which is not one of its nodes/],
    [{ plan: 'send' }, /`edges.plan` must be a list of nodes/],
    [{ other: [] }, /edges from "other", which is not one of its nodes/],
    [['plan'], /`edges` must be an object of lists/],
  ])('F3 %j are refused', (bad, message) => {
    expect(() => outreach({ edges: bad })).toThrow(message)
  })
})

describe('F3 a store that knows a graph by the first form of contents', () => {
  /** As it was written: dials in it, no edges, nothing of valibot's schemas. */
  const firstForm = ({ content }: Graph, checkpoint = 'always') => {
    const { form: _, edges: __, ...rest } = content
    const opaque = { vendor: 'valibot', opaque: true }
    const input = 'structure' in content.input.takes ? { takes: opaque, gives: opaque } : rest.input
    const nodes = Object.fromEntries(content.nodes.map((name) => [name, { checkpoint }]))
    return { ...rest, input, nodes } as KnownContent
  }

  test('F3 takes the same graph for the same, with other dials, edges and valibot too', () => {
    expect(differences(firstForm(outreach()), outreach().content)).toEqual([])
    expect(differences(firstForm(outreach(), 'every:3'), outreach().content)).toEqual([])
    const edges = outreach({ edges: { plan: ['send'] } })
    expect(differences(firstForm(outreach()), edges.content)).toEqual([])
    const made = withState(v.object({ a: v.string() }))
    expect(differences(firstForm(made), made.content)).toEqual([])
  })

  test('F3 still refuses what that form could tell', () => {
    const changed = outreach({ tools: [mail()] }).content
    expect(differences(firstForm(outreach()), changed)).toEqual(['tool charge is gone'])
  })
})

function plainCharge(): Spec {
  return { name: 'charge', input: z.object({ cents: z.int() }), run: () => 1 }
}
