// A graph: `name@semver`, the tools it may call, its nodes. `workflow()` is a graph with one node.
import type { Context } from './context.ts'
import { CounterfoilError } from './errors.ts'
import { type InputOf, isSchema, type OutputOf, type Schema } from './schema.ts'
import { checkName, isTool, type Tool } from './tool.ts'

/** How a node ended. */
export type NodeEnd = { kind: 'done'; output: unknown }

export type NodeFunction = (state: unknown, ctx: Context) => Promise<NodeEnd>

/** A registered graph. Its types are inferred; the engine reads the rest. */
export interface Graph<In = unknown, Out = unknown> {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly tools: ReadonlyMap<string, Tool>
  readonly input: Schema
  readonly output: Schema | null
  readonly start: string
  readonly nodes: ReadonlyMap<string, NodeFunction>
  readonly types?: { in: In; out: Out }
}

export interface WorkflowSpec<S extends Schema, T extends Tool, Out> {
  /** `name@semver`: a change of content is a new version. */
  id: string
  input: S
  output?: Schema<Out, Out>
  /** All that it may call; another is refused. */
  tools?: readonly T[]
  run: (input: OutputOf<S>, ctx: Context<T>) => Promise<Out>
}

/** A durable function: a graph with one node. */
export function workflow<const S extends Schema, Out, T extends Tool = never>(
  spec: WorkflowSpec<S, T, Out>,
): Graph<InputOf<S>, Out> {
  const { name, version } = parseGraphId(spec?.id)
  if (typeof spec.run !== 'function') throw invalid(spec.id, 'needs run(input, ctx)')
  if (!isSchema(spec.input)) throw invalid(spec.id, '`input` must be a Standard Schema')
  if (spec.output !== undefined && !isSchema(spec.output)) {
    throw invalid(spec.id, '`output` must be a Standard Schema')
  }
  const node: NodeFunction = async (state, ctx) => ({
    kind: 'done',
    output: await spec.run(state as OutputOf<S>, ctx as unknown as Context<T>),
  })
  return Object.freeze({
    id: spec.id,
    name,
    version,
    tools: toolMap(spec.id, spec.tools ?? []),
    input: spec.input,
    output: spec.output ?? null,
    start: 'run',
    nodes: new Map([['run', node]]),
  })
}

const semver = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

/** Splits `name@semver`. */
export function parseGraphId(id: unknown): { name: string; version: string } {
  const text = typeof id === 'string' ? id : ''
  const at = text.lastIndexOf('@')
  const version = text.slice(at + 1)
  if (at < 1 || !semver.test(version)) {
    throw invalid(String(id), 'has no usable id: it must read name@1.2.3')
  }
  return { name: checkName('graph', text.slice(0, at)), version }
}

function toolMap(id: string, tools: readonly Tool[]): Map<string, Tool> {
  if (!Array.isArray(tools)) throw invalid(id, '`tools` must be an array')
  const map = new Map<string, Tool>()
  for (const tool of tools) {
    if (!isTool(tool)) {
      const name = (tool as { name?: unknown } | null)?.name
      throw invalid(id, `lists ${JSON.stringify(name ?? tool)}, which was not made by tool({ … })`)
    }
    if (map.has(tool.name) && map.get(tool.name) !== tool) {
      throw invalid(id, `lists two different tools named "${tool.name}"`)
    }
    map.set(tool.name, tool)
  }
  return map
}

function invalid(id: string, why: string): CounterfoilError {
  return new CounterfoilError('GRAPH_INVALID', `graph "${id}" ${why}`, { details: { graph: id } })
}
