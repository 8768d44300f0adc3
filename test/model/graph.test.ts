// Registration of workflows: ids (F1), tools that are declared and those that are not (A1).
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilError, open, tool, workflow } from '../../src/index.ts'
import { parseGraphId } from '../../src/model/graph.ts'

const look = tool({ name: 'look', replayClass: 'pure', input: z.string(), run: () => 1 })
const other = tool({ name: 'look', replayClass: 'unsafe_on_replay', input: z.any(), run: () => 1 })
const ghost = tool({ name: 'ghost', replayClass: 'pure', input: z.any(), run: () => 'boo' })

const anyWorkflow = workflow as unknown as (spec: unknown) => { tools: Map<string, unknown> }
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
