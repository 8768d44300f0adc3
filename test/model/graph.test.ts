// Registration of graphs and workflows: ids (F1), tools that are declared and those that are not
// (A1), nodes and their dials (D10), and how a node ends.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilError, open, tool, workflow } from '../../src/index.ts'
import { parseDial } from '../../src/model/graph/dial.ts'
import {
  doneWith,
  failWith,
  type Graph,
  goTo,
  graph,
  isNodeEnd,
  parseGraphId,
} from '../../src/model/graph/graph.ts'
import { validate } from '../../src/model/tool/schema.ts'

const look = tool({ name: 'look', replayClass: 'pure', input: z.string(), run: () => 1 })
const other = tool({ name: 'look', replayClass: 'unsafe_on_replay', input: z.any(), run: () => 1 })
const ghost = tool({ name: 'ghost', replayClass: 'pure', input: z.any(), run: () => 'boo' })

const anyWorkflow = workflow as unknown as (spec: unknown) => { tools: Map<string, unknown> }
const anyGraph = graph as unknown as (spec: unknown) => Graph
const spec = { id: 'trip@1.0.0', input: z.string(), tools: [look], run: async () => 1 }

function refusal(act: () => unknown): CounterfoilError {
  try {
    act()
  } catch (error) {
    if (error instanceof CounterfoilError) return error
    throw error
  }
  throw new Error('it was accepted')
}

describe('F1 the id of a graph is name@semver', () => {
  test.each([
    ['trip@1.0.0', 'trip', '1.0.0'],
    ['trip@0.0.0', 'trip', '0.0.0'],
    ['a.b:c-d_e@10.20.30', 'a.b:c-d_e', '10.20.30'],
    ['trip@1.0.0-rc.1', 'trip', '1.0.0-rc.1'],
    ['trip@1.0.0+build.7', 'trip', '1.0.0+build.7'],
    ['trip@1.0.0-rc.1+build.7', 'trip', '1.0.0-rc.1+build.7'],
  ])('F1 %s is %s at %s', (id, name, version) => {
    expect(parseGraphId(id)).toEqual({ name, version })
    expect(anyWorkflow({ ...spec, id })).toMatchObject({ id, name, version })
  })

  test.each([
    ...['trip', 'trip@', 'trip@1', 'trip@1.0', 'trip@1.0.0.0', 'trip@v1.0.0', 'trip@01.0.0'],
    ...['trip@1.0.0 ', ' @1.0.0', '@1.0.0', 'trip@1.0.x', 'trip@latest', 'trip@^1.0.0', ''],
    ...['trip@1.0.0-', 'trip@1.0.0+', 'trip@1.0.0\n', 'trip@-1.0.0', 'trip@1.0.0#1'],
    ...[undefined, null, 7, {}, Symbol('trip')],
  ])('F1 %s is refused, and told how an id reads', (id) => {
    const error = refusal(() => anyWorkflow({ ...spec, id }))
    expect(error.code).toBe('GRAPH_INVALID')
    expect(error.message).toMatch(/name@1\.2\.3|graph name .* is not usable/)
    expect(error.message).toContain(id === ' @1.0.0' ? '" "' : String(id))
  })

  test.each(['a b@1.0.0', 'a/b@1.0.0', 'a@b@1.0.0', 'é@1.0.0', `${'x'.repeat(129)}@1.0.0`])(
    'F1 the name in %s is refused',
    (id) => {
      const error = refusal(() => anyWorkflow({ ...spec, id }))
      expect(error.code).toBe('GRAPH_INVALID')
      expect(error.message).toMatch(/^graph name ".*" is not usable: letters, digits/)
    },
  )

  test('F1 two graphs with one id are refused at open; the same one twice is one', async () => {
    const one = workflow(spec)
    const two = workflow({ ...spec })
    const quiet = { store: 'memory:', onWarning: () => {} }
    await expect(open({ ...quiet, graphs: [one, two] })).rejects.toMatchObject({
      code: 'GRAPH_INVALID',
      message: expect.stringMatching(/two graphs have the id trip@1\.0\.0.*a new version/),
    })
    const cf = await open({ ...quiet, graphs: [one, one, workflow({ ...spec, id: 'trip@1.0.1' })] })
    await cf.close()
  })
})

describe('A1 a graph names its tools', () => {
  test('A1 the same tool twice is one', () => {
    expect([...anyWorkflow({ ...spec, tools: [look, look] }).tools.keys()]).toEqual(['look'])
    expect([...anyWorkflow({ ...spec, tools: undefined }).tools.keys()]).toEqual([])
  })

  test('A1 two different tools of one name are refused, with graph and tool', () => {
    const error = refusal(() => anyWorkflow({ ...spec, tools: [look, other] }))
    expect(error).toMatchObject({ code: 'GRAPH_INVALID', details: { graph: 'trip@1.0.0' } })
    expect(error.message).toBe('graph "trip@1.0.0" lists two different tools named "look"')
  })

  test.each([
    [{ name: 'mail', replayClass: 'pure' }, '"mail"'],
    [{ ...look }, '"look"'],
    ['look', '"look"'],
    [null, 'null'],
  ])('A1 what tool() did not make is refused: %j', (fake, shown) => {
    const error = refusal(() => anyWorkflow({ ...spec, tools: [fake] }))
    expect(error.code).toBe('GRAPH_INVALID')
    expect(error.message).toBe(
      `graph "trip@1.0.0" lists ${shown}, which was not made by tool({ … })`,
    )
  })

  test('A1 tools that are no list are refused', () => {
    const error = refusal(() => anyWorkflow({ ...spec, tools: { look } }))
    expect(error.message).toBe('graph "trip@1.0.0" `tools` must be an array')
  })

  test.each([
    [{ run: undefined }, /needs run\(input, ctx\)/],
    [{ run: 'x' }, /needs run\(input, ctx\)/],
    [{ input: undefined }, /`input` must be a Standard Schema/],
    [{ input: {} }, /`input` must be a Standard Schema/],
    [{ output: {} }, /`output` must be a Standard Schema/],
    [{ output: null }, /`output` must be a Standard Schema/],
  ])('A1 a workflow with %j is refused by its id', (change, says) => {
    const error = refusal(() => anyWorkflow({ ...spec, ...change }))
    expect(error.code).toBe('GRAPH_INVALID')
    expect(error.message).toContain('graph "trip@1.0.0"')
    expect(error.message).toMatch(says)
  })

  test('A1 calling a tool that is not declared fails the call, and says what to add', async () => {
    const seen: unknown[] = []
    const sneaky = workflow({
      id: 'sneaky@1.0.0',
      input: z.string(),
      tools: [look],
      run: async (_, ctx) => {
        const call = ctx.call as (of: unknown, input: unknown) => Promise<unknown>
        for (const of of [ghost, other, { ...look }, null]) {
          await call(of, 'x').catch((error: unknown) => seen.push(error))
        }
        return await ctx.call(look, 'x')
      },
    })
    const cf = await open({ store: 'memory:', graphs: [sneaky], onWarning: () => {} })
    await cf.worker().start()
    expect(await (await cf.start(sneaky, 'go')).result()).toBe(1)
    await cf.close()
    expect(seen).toHaveLength(4)
    for (const error of seen) expect(error).toMatchObject({ code: 'TOOL_UNDECLARED' })
    expect(String(seen[0])).toContain(
      'graph sneaky@1.0.0 calls "ghost" without declaring it: ' +
        "add it to the graph's tools: [look, ghost]",
    )
  })
})

describe('F1 what a graph is made of', () => {
  const end = () => doneWith(1)
  const state = z.object({ n: z.number() })
  const two = { id: 'loop@1.0.0', state, start: 'a', nodes: { a: end, b: end } }

  test('F1 defaults are filled in, for a workflow too', () => {
    const made = anyGraph(two)
    expect(made).toMatchObject({
      id: 'loop@1.0.0',
      name: 'loop',
      version: '1.0.0',
      kind: 'graph',
      start: 'a',
      output: null,
      checkpoints: 'hybrid',
      document: null,
      assembleContext: null,
    })
    expect(made.input).toBe(state)
    expect([...made.nodes]).toEqual(Object.entries(two.nodes))
    expect([...made.dials]).toEqual([
      ['a', 'always'],
      ['b', 'always'],
    ])
    expect([...made.tools]).toEqual([])
    const one = workflow(spec)
    expect(one).toMatchObject({ kind: 'workflow', start: 'run', checkpoints: 'hybrid' })
    expect([...one.dials]).toEqual([['run', 'always']])
  })

  test('F1 what is said is kept', () => {
    const document = () => ({})
    const assembleContext = () => []
    const said = { output: z.string(), checkpoints: 'full', document, assembleContext }
    const nodes = { a: { run: end, checkpoint: 'every:3' }, b: { run: end } }
    const made = anyGraph({ ...two, ...said, nodes, tools: [look] })
    expect(made).toMatchObject({ checkpoints: 'full', document, assembleContext })
    expect(made.output).toBe(said.output)
    expect([...made.tools.keys()]).toEqual(['look'])
    expect(made.nodes.get('a')).toBe(end)
    expect([...made.dials.values()]).toEqual(['every:3', 'always'])
  })

  test('F1 a registered graph cannot be changed afterwards', () => {
    const made = anyGraph(two)
    expect(() => Object.assign(made, { start: 'b' })).toThrow(TypeError)
    expect(() => Object.assign(made, { fingerprint: 'x' })).toThrow(TypeError)
    expect(() => Object.assign(made.content, { start: 'b' })).toThrow(TypeError)
  })

  test.each([
    [{ nodes: undefined }, /`nodes` must be an object of functions/],
    [{ nodes: [end] }, /`nodes` must be an object of functions/],
    [{ nodes: end }, /`nodes` must be an object of functions/],
    [{ nodes: {} }, /has no nodes/],
    [{ nodes: { ...two.nodes, 'a b': end } }, /: node name "a b" is not usable: letters, digits/],
    [{ nodes: { ...two.nodes, '': end } }, /: node name "" is not usable/],
    [{ nodes: { a: 'b' } }, /node "a" must be a function, or \{ run, checkpoint \}/],
    [{ nodes: { a: null } }, /node "a" must be a function/],
    [{ nodes: { a: [end] } }, /node "a" must be a function/],
    [{ nodes: { a: { checkpoint: 'always' } } }, /node "a" must be a function/],
    [{ start: 'c' }, /starts at "c", which is not one of its nodes: it has a, b$/],
    [{ start: undefined }, /starts at undefined, .* it has a, b$/],
    [{ start: 'toString' }, /starts at "toString"/],
    [{ state: undefined }, /`state` must be a Standard Schema/],
    [{ state: { n: 'number' } }, /`state` must be a Standard Schema/],
    [{ output: null }, /`output` must be a Standard Schema/],
    [{ tools: { look } }, /`tools` must be an array/],
    [{ checkpoints: 'never' }, /has checkpoints "never": .* hybrid, full, delta/],
    [{ checkpoints: true }, /has checkpoints true/],
    [{ document: {} }, /`document` must be a function/],
    [{ document: null }, /`document` must be a function/],
    [{ assembleContext: 'x' }, /`assembleContext` must be a function/],
  ])('F1 a graph with %o is refused by its id', (change, says) => {
    const error = refusal(() => anyGraph({ ...two, ...change }))
    expect(error.code).toBe('GRAPH_INVALID')
    expect(error.message).toContain('graph "loop@1.0.0"')
    expect(error.message).toMatch(says)
  })

  test.each([undefined, null, 'loop@1.0.0', 7])('F1 graph(%j) is refused by us', (given) => {
    expect(refusal(() => anyGraph(given)).code).toBe('GRAPH_INVALID')
  })

  test.each([
    ...['sometimes', 'every', 'every:', 'every:0', 'every:-1', 'every:1.5', 'every:1e3'],
    ...['every:01', 'every: 3', 'every:3 ', 'every:9007199254740992', 'Always', '', null, 3, {}],
  ])('D10 the dial %j is refused, with the node', (checkpoint) => {
    const nodes = { a: end, b: { run: end, checkpoint } }
    const error = refusal(() => anyGraph({ ...two, nodes }))
    expect(error.message).toContain(`node "b" has checkpoint ${JSON.stringify(checkpoint)}`)
    expect(error.message).toMatch(/"always", "before_effects" or "every:N"/)
    expect(parseDial(checkpoint)).toBeNull()
  })

  test('D10 a dial says what it means', () => {
    expect(parseDial('always')).toEqual({ kind: 'always' })
    expect(parseDial('before_effects')).toEqual({ kind: 'before_effects' })
    expect(parseDial('every:1')).toEqual({ kind: 'every', count: 1 })
    expect(parseDial('every:250')).toEqual({ kind: 'every', count: 250 })
  })
})

describe('F1 how a node ends', () => {
  test('F1 the three ends say what they are, and cannot be changed', () => {
    expect({ ...goTo('b', { n: 1, gone: undefined }) }).toEqual({
      kind: 'go',
      node: 'b',
      patch: { n: 1, gone: undefined },
    })
    expect({ ...goTo('b') }).toEqual({ kind: 'go', node: 'b', patch: null })
    expect({ ...doneWith({ ok: true }) }).toEqual({ kind: 'done', output: { ok: true } })
    expect({ ...failWith('no luck', { tries: 3 }) }).toEqual({
      kind: 'fail',
      message: 'no luck',
      details: { tries: 3 },
    })
    expect(failWith('no luck')).toMatchObject({ details: null })
    expect(() => Object.assign(doneWith(1), { output: 2 })).toThrow(TypeError)
  })

  test('F1 what merely looks like an end is none', () => {
    for (const end of [goTo('b'), doneWith(1), failWith('x')]) expect(isNodeEnd(end)).toBe(true)
    for (const other of [undefined, null, 7, 'done', {}, { kind: 'done', output: 1 }]) {
      expect(isNodeEnd(other)).toBe(false)
    }
    expect(isNodeEnd({ ...doneWith(1) })).toBe(false)
  })

  test('F1 a workflow ends with what its function returned', async () => {
    const made = workflow({ ...spec, run: async (input) => `${input}!` })
    const end = await made.nodes.get('run')?.('rome', {} as never)
    expect(isNodeEnd(end)).toBe(true)
    expect(end).toMatchObject({ kind: 'done', output: 'rome!' })
  })
})

describe('A5 the schema of one key of the state', () => {
  const of = (state: unknown) =>
    anyGraph({ id: 'k@1.0.0', state, start: 'a', nodes: { a: () => doneWith() } }).stateKey
  const what = { code: 'INPUT_INVALID', subject: 'state' } as const

  test.each([
    ['zod', z.object({ n: z.number().default(7), s: z.string() })],
    ['zod with a check', z.object({ n: z.number().default(7) }).refine(() => true)],
    ['valibot', v.object({ n: v.optional(v.number(), 7), s: v.string() })],
    [
      'valibot with a check',
      v.pipe(
        v.object({ n: v.optional(v.number(), 7) }),
        v.check(() => true),
      ),
    ],
  ])('A5 %s shows it', (_, state) => {
    const key = of(state)('n')
    expect(key).not.toBeNull()
    if (key === null) return
    expect(validate(key, 3, what)).toBe(3)
    expect(validate(key, undefined, what)).toBe(7)
    expect(() => validate(key, 'x', what)).toThrow(/^state is not valid: \$: /)
    expect(of(state)('other')).toBeNull()
    expect(of(state)('toString')).toBeNull()
  })

  test.each([
    ['a schema without keys', z.string()],
    ['a union', z.union([z.object({ n: z.number() }), z.object({ s: z.string() })])],
    ['a transformed object', z.object({ n: z.number() }).transform(({ n }) => ({ n: `${n}` }))],
    [
      'a transformed pipe',
      v.pipe(
        v.object({ n: v.number() }),
        v.transform(({ n }) => ({ n: `${n}` })),
      ),
    ],
    ['a library that does not show it', type({ n: 'number' })],
  ])('A5 %s shows none, so that no key is checked against the wrong one', (_, state) => {
    expect(of(state)('n')).toBeNull()
  })
})
