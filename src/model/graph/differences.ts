// What changed from one content of a graph to another, in sentences for people (F3).
import { canonical } from '../json/canonical.ts'
import { own } from '../json/own.ts'
import type { GraphContent, SchemaContent, SideContent, ToolContent } from './content.ts'

/** What the first form of contents said of a graph: no edges, and no structure of a schema. */
interface FirstForm extends Omit<GraphContent, 'form' | 'nodes' | 'edges'> {
  readonly form?: undefined
  readonly nodes: Readonly<Record<string, unknown>>
}

/** What a store may know of a graph. */
export type KnownContent = GraphContent | FirstForm

/**
 * What changed from what a store knows to what a graph is now, in sentences for people; nothing, if
 * it is the same. Of what an earlier form did not record nothing is known, and nothing is said.
 */
export function differences(known: KnownContent, is: GraphContent): string[] {
  return known.form === undefined
    ? compared(secondForm(known), withoutStructure(is))
    : compared(known, is)
}

function secondForm({ nodes, ...rest }: FirstForm): GraphContent {
  return { ...rest, form: 2, nodes: Object.keys(nodes).sort(), edges: null }
}

/** As the first form would have put it. */
function withoutStructure(content: GraphContent): GraphContent {
  const side = (of: SideContent): SideContent =>
    'structure' in of ? { vendor: of.vendor, opaque: true } : of
  const schema = (of: SchemaContent) => ({ takes: side(of.takes), gives: side(of.gives) })
  const both = <T extends Pick<ToolContent, 'input' | 'output'>>(of: T): T => {
    return { ...of, input: schema(of.input), output: of.output && schema(of.output) }
  }
  const tools = Object.entries(content.tools).map(([name, tool]) => [name, both(tool)])
  return { ...both(content), edges: null, tools: Object.fromEntries(tools) }
}

function compared(was: GraphContent, is: GraphContent): string[] {
  const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]))
  const found = [
    ...changed('kind', was.kind, is.kind),
    ...changed('start', was.start, is.start),
    ...members('node', named(was.nodes), named(is.nodes), () => []),
    ...edgeChanges(was.edges, is.edges),
    ...members('tool', was.tools, is.tools, toolDifferences),
    ...schemaChange(is.kind === 'graph' ? 'state schema' : 'input schema', was.input, is.input),
    ...schemaChange('output schema', was.output, is.output),
  ]
  if (found.length > 0 || canonical(was) === canonical(is)) return found
  return ['the content was recorded in another form, by another version of Counterfoil']
}

function edgeChanges(was: GraphContent['edges'], is: GraphContent['edges']): string[] {
  if (was === null || is === null) {
    return was === is ? [] : [`edges are ${was === null ? 'declared now' : 'no longer declared'}`]
  }
  const listed = (edges: NonNullable<GraphContent['edges']>) =>
    Object.fromEntries(
      Object.entries(edges).flatMap(([from, to]) => to.map((one) => [`${from} → ${one}`, one])),
    )
  return members('edge', listed(was), listed(is), () => [])
}

function toolDifferences(was: ToolContent, is: ToolContent): string[] {
  return [
    ...changed('class', was.replayClass, is.replayClass),
    ...changed('keyTtlMs', was.keyTtlMs, is.keyTtlMs),
    ...changed('oncePerVisit', was.oncePerVisit, is.oncePerVisit),
    ...changed('outlives', was.outlives, is.outlives),
    ...schemaChange('input schema', was.input, is.input),
    ...schemaChange('output schema', was.output, is.output),
  ]
}

type Value = string | number | boolean | null

function changed(what: string, was: Value, is: Value): string[] {
  return was === is ? [] : [`${what} was ${was ?? 'not set'}, is ${is ?? 'not set'}`]
}

function members<T>(
  what: string,
  was: Readonly<Record<string, T>>,
  is: Readonly<Record<string, T>>,
  compare: (was: T, is: T) => string[],
): string[] {
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()
  return names.flatMap((name) => {
    const [a, b] = [own(was, name), own(is, name)]
    if (a === undefined) return [`${what} ${name} is new`]
    if (b === undefined) return [`${what} ${name} is gone`]
    return compare(a, b).map((difference) => `${what} ${name}: ${difference}`)
  })
}

function schemaChange(what: string, was: SchemaContent | null, is: SchemaContent | null): string[] {
  if (was === null || is === null) {
    return was === is ? [] : [`${what} is ${was === null ? 'new' : 'gone'}`]
  }
  if (canonical(was) === canonical(is)) return []
  const sides = [was.takes, was.gives, is.takes, is.gives]
  const opaque = sides.find((side) => 'opaque' in side)
  if (opaque) return [`${what} changed: ${opaque.vendor} does not show what it looks like`]
  const places = (['takes', 'gives'] as const).flatMap((side) => placesOf(was[side], is[side], ''))
  const all = [...new Set(places.map((place) => place.replace(/^(schema|structure)\./, '')))]
  const some = all.slice(0, placesMax).join(', ')
  return [`${what} changed at ${some}${all.length > placesMax ? ', …' : ''}`]
}

// Enough to find the change; the contents themselves are there for who wants all of it.
const placesMax = 3

/** Where two values differ: the innermost places that both, or one of them, have. */
function placesOf(was: unknown, is: unknown, path: string): string[] {
  if (was !== undefined && is !== undefined && canonical(was) === canonical(is)) return []
  if (!isRecord(was) || !isRecord(is)) return [path]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()
  return names.flatMap((name) =>
    placesOf(own(was, name), own(is, name), path === '' ? name : `${path}.${name}`),
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
