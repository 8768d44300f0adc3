// What a version of a graph stands for, as plain data, and the hash of it (F3). Content is what
// decides how a recorded run reads: nodes, declared edges, tools, classes, schemas. What may be
// tuned without a new version is not: timeouts, retries, tags, limits, checkpoint modes and dials,
// the bodies of functions.
//
// Invariants: two constructions of the same graph give the same content, in any process; names that
// a library makes up, defaults (they may be computed) and the order of sets do not enter.
import { canonical, plainCopy, sha256 } from '../json/canonical.ts'
import { jsonSchemaOf, type Schema } from '../tool/schema.ts'
import { structureOf } from '../tool/structure.ts'
import type { ReplayClass, Tool } from '../tool/tool.ts'
import type { Graph } from './graph.ts'

export interface GraphContent {
  /** How contents are written: a store may know one of an earlier form. */
  readonly form: 2
  readonly kind: 'graph' | 'workflow'
  readonly start: string
  readonly nodes: readonly string[]
  /** Where each node may go; null if the graph does not say. */
  readonly edges: Readonly<Record<string, readonly string[]>> | null
  readonly tools: Readonly<Record<string, ToolContent>>
  readonly input: SchemaContent
  readonly output: SchemaContent | null
}

export interface ToolContent {
  readonly replayClass: ReplayClass
  readonly keyTtlMs: number | 'for ever' | null
  readonly oncePerVisit: boolean
  readonly outlives: boolean
  readonly input: SchemaContent
  readonly output: SchemaContent | null
}

/** What a schema takes, and what it gives. */
export interface SchemaContent {
  readonly takes: SideContent
  readonly gives: SideContent
}

export type SideContent =
  | { readonly schema: unknown }
  /** Some parts have no JSON Schema, and changes of them are not seen. */
  | { readonly schema: unknown; readonly partial: true }
  /** No JSON Schema, but the schema's own object tells of itself. */
  | { readonly structure: unknown; readonly vendor: string; readonly partial?: true }
  /** The library does not say what the schema looks like. */
  | { readonly vendor: string; readonly opaque: true }

type Parts = Pick<Graph, 'kind' | 'start' | 'nodes' | 'edges' | 'tools' | 'input' | 'output'>

export function contentOf(graph: Parts): GraphContent {
  const { edges } = graph
  return plainCopy<GraphContent>({
    form: 2,
    kind: graph.kind,
    start: graph.start,
    nodes: [...graph.nodes.keys()].sort(),
    edges: edges && Object.fromEntries([...edges].map(([from, to]) => [from, [...to].sort()])),
    tools: Object.fromEntries([...graph.tools].map(([name, tool]) => [name, toolContent(tool)])),
    input: schemaContent(graph.input),
    output: graph.output && schemaContent(graph.output),
  })
}

/** SHA-256 of the canonical JSON of a content, in hex. */
export function fingerprintOf(content: GraphContent): string {
  return sha256(canonical(content))
}

function toolContent({ replayClass, rules }: Tool): ToolContent {
  return {
    replayClass,
    // JSON has no Infinity.
    keyTtlMs: rules.keyTtlMs === Number.POSITIVE_INFINITY ? 'for ever' : rules.keyTtlMs,
    oncePerVisit: rules.oncePerVisit,
    outlives: rules.outlives,
    input: schemaContent(rules.input as Schema),
    output: rules.output && schemaContent(rules.output),
  }
}

function schemaContent(schema: Schema): SchemaContent {
  return { takes: sideContent(schema, 'input'), gives: sideContent(schema, 'output') }
}

function sideContent(schema: Schema, side: 'input' | 'output'): SideContent {
  const opaque = { vendor: schema['~standard'].vendor, opaque: true } as const
  const shown = jsonSchemaOf(schema, side)
  try {
    if (shown === null) return ownStructure(schema) ?? opaque
    const normal = plainCopy(normalSchema(shown.json))
    return shown.partial ? { schema: normal, partial: true } : { schema: normal }
  } catch {
    return opaque
  }
}

function ownStructure(schema: Schema): SideContent | null {
  const { vendor } = schema['~standard']
  const read = structureOf(schema)
  if (read === null) return null
  const structure = plainCopy(read.parts)
  return { vendor, structure, ...(read.partial && { partial: true as const }) }
}

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

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `constructor` is a name like any other. */
function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

type Json = Readonly<Record<string, unknown>>

// The keywords that say what is valid, by what they hold. All others describe: by the JSON Schema
// specification one that nobody knows is a remark, as a title is.
const holdsSchema = new Set(
  (
    'additionalItems additionalProperties allOf anyOf contains contentSchema else if items not ' +
    'oneOf prefixItems propertyNames then unevaluatedItems unevaluatedProperties'
  ).split(' '),
)
const holdsSchemas = new Set(['dependentSchemas', 'patternProperties', 'properties'])
const holdsData = new Set(
  (
    'const contentEncoding contentMediaType dependentRequired enum exclusiveMaximum ' +
    'exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum minContains ' +
    'minItems minLength minProperties minimum multipleOf pattern required type uniqueItems'
  ).split(' '),
)
const isSet = new Set(['allOf', 'anyOf', 'enum', 'oneOf', 'required', 'type'])

/**
 * A JSON Schema without remarks, in which definitions are named by a hash of what they say:
 * libraries number them as they meet them, some of them over the whole process. The hashes are made
 * in rounds, each from the ones before, until a round tells no more definitions apart.
 */
function normalSchema(root: Json): unknown {
  const targets = new Map<string, unknown>()
  const visit = (ref: string): string => {
    if (!targets.has(ref)) {
      targets.set(ref, targetOf(root, ref))
      normal(targets.get(ref), visit)
    }
    return ref
  }
  normal(root, visit)
  let names = new Map([...targets.keys()].map((ref) => [ref, '']))
  const named = (ref: string) => names.get(ref) as string
  for (let known = 0, found = 1; found > known; ) {
    names = new Map([...targets].map(([ref, to]) => [ref, nameOf(normal(to, named))]))
    known = found
    found = new Set(names.values()).size
  }
  const defs = Object.fromEntries([...targets].map(([ref, to]) => [named(ref), normal(to, named)]))
  return { ...(normal(root, named) as Json), ...(targets.size > 0 && { $defs: defs }) }
}

function nameOf(definition: unknown): string {
  return sha256(canonical(definition)).slice(0, 16)
}

function normal(schema: unknown, named: (ref: string) => string): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((part) => normal(part, named))
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$ref') out[key] = named(String(value))
    else if (holdsSchema.has(key)) out[key] = normal(value, named)
    else if (holdsData.has(key)) out[key] = value
    else if (holdsSchemas.has(key)) {
      const each = Object.entries(value as Json).map(([name, part]) => [name, normal(part, named)])
      out[key] = Object.fromEntries(each)
    }
    if (isSet.has(key) && Array.isArray(out[key])) out[key] = sortedSet(out[key])
  }
  return out
}

function sortedSet(members: readonly unknown[]): unknown[] {
  const texts = members.map((member) => canonical(member)).sort()
  return texts.map((text) => JSON.parse(text))
}

/** What a reference inside the document leads to; any other stands for itself. */
function targetOf(root: Json, ref: string): unknown {
  const defs = '#/$defs/'
  // As it is written, first: not every library escapes the names that users give.
  const named = ref.startsWith(defs) && own((root['$defs'] ?? {}) as Json, ref.slice(defs.length))
  if (named) return named
  if (ref !== '#' && !ref.startsWith('#/')) return { const: ref }
  let at: unknown = root
  for (const step of decodeURIComponent(ref).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null ? own(at as Json, key) : undefined
  }
  return at ?? { const: ref }
}
