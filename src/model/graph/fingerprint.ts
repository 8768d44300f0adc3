// How the content of a graph is read from it, and the hash of that (F3). Content is what
// decides how a recorded run reads: nodes, declared edges, tools, classes, schemas. What may be
// tuned without a new version is not: timeouts, retries, tags, limits, checkpoint modes and dials,
// the bodies of functions.
//
// Invariants: two constructions of the same graph give the same content, in any process; names that
// a library makes up, defaults (they may be computed) and the order of sets do not enter.
import { canonical, plainCopy, sha256 } from '../json/canonical.ts'
import { jsonSchemaOf, type Schema } from '../tool/schema.ts'
import { structureOf } from '../tool/structure.ts'
import type { Tool } from '../tool/tool.ts'
import type { GraphContent, SchemaContent, SideContent, ToolContent } from './content.ts'
import { normalSchema } from './normal-schema.ts'
import type { Graph } from './registered.ts'

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
