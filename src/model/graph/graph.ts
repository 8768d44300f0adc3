// A graph: `name@semver`, the tools it may call, its nodes. `workflow()` is a graph with one node.

import { type CounterfoilError, errorFor } from '../errors.ts'
import { checkName, shown } from '../name.ts'
import {
  type Frozen,
  type InputOf,
  isSchema,
  keySchema,
  type OutputOf,
  type Schema,
} from '../tool/schema.ts'
import { isTool, type Tool } from '../tool/tool.ts'
import type { GraphContent } from './content.ts'
import type { Context, NodeContext } from './context.ts'
import { type Dial, parseDial } from './dial.ts'
import { contentOf, fingerprintOf } from './fingerprint.ts'
import { doneWith, type NodeEnd } from './node.ts'
import {
  type CheckpointMode,
  checkpointModes,
  type Graph,
  type NodeFunction,
} from './registered.ts'

export type { GraphContent } from './content.ts'
export type { Dial } from './dial.ts'
export { doneWith, failWith, goTo, isNodeEnd, type NodeEnd } from './node.ts'
export type { CheckpointMode, Graph, NodeFunction } from './registered.ts'

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
  const { id, run } = spec
  if (typeof run !== 'function') throw invalid(id, 'needs run(input, ctx)')
  const node: NodeFunction = async (state, ctx) =>
    doneWith(await run(state as OutputOf<S>, ctx as unknown as Context<T>))
  return register({
    id,
    name,
    version,
    kind: 'workflow',
    tools: toolMap(id, spec.tools ?? []),
    input: checkSchema(id, 'input', spec.input),
    output: spec.output === undefined ? null : checkSchema(id, 'output', spec.output),
    start: 'run',
    nodes: new Map([['run', node]]),
    edges: null,
    dials: new Map([['run', 'always']]),
    checkpoints: 'hybrid',
    document: null,
    assembleContext: null,
  })
}

/** What `ctx.go` may change: any key of the state; one set to undefined is removed. */
export type Patch<In> = unknown extends In
  ? Readonly<Record<string, unknown>>
  : In extends object
    ? { readonly [K in keyof In]?: Frozen<In[K]> | undefined }
    : never

type OutputFor<O, Side> = [O] extends [Schema] ? Side : unknown

/** A node's function. It may be started again from its beginning at any time. */
export type NodeRun<S extends Schema, O, T extends Tool, N extends string> = (
  state: Frozen<OutputOf<S>>,
  ctx: NodeContext<T, N, Patch<InputOf<S>>, OutputFor<O, Frozen<InputOf<O>>>>,
) => Promise<NodeEnd> | NodeEnd

/** A node with its dial: how often arrivals at it are checkpointed; always, unless told. */
export interface NodeSpec<S extends Schema, O, T extends Tool, N extends string> {
  run: NodeRun<S, O, T, N>
  checkpoint?: Dial
}

type GraphNode<S extends Schema, O, T extends Tool, N extends string> =
  | NodeRun<S, O, T, N>
  | NodeSpec<S, O, T, N>

export interface GraphSpec<
  S extends Schema,
  O extends Schema | undefined,
  T extends Tool,
  N extends string,
> {
  /** `name@semver`: a change of content is a new version. */
  id: string
  /** Checked when a run starts, and for the keys that a patch changes. */
  state: S
  output?: O
  /** All that it may call; another is refused. */
  tools?: readonly T[]
  start: NoInfer<N>
  nodes: Record<N, GraphNode<S, O, NoInfer<T>, NoInfer<N>>>
  /**
   * Where each node may go. Optional; when given, `ctx.go` along any other edge fails the run, and
   * a change of edges is a new version. A node that is not named goes nowhere: it ends the run.
   */
  edges?: { readonly [K in NoInfer<N>]?: readonly NoInfer<N>[] }
  /** How states are written: hybrid, unless told. */
  checkpoints?: CheckpointMode
  /** What of the state belongs in the run's document (D7). */
  document?: (state: Frozen<OutputOf<S>>) => Record<string, unknown>
  /** Makes the model's context from the run's document. */
  assembleContext?: (document: unknown) => unknown
}

/** A graph of named nodes: a run goes from one to the next, with a checkpoint between. */
export function graph<
  const S extends Schema,
  N extends string,
  const O extends Schema | undefined = undefined,
  T extends Tool = never,
>(spec: GraphSpec<S, O, T, N>): Graph<InputOf<S>, OutputFor<O, OutputOf<O>>> {
  const { name, version } = parseGraphId(spec?.id)
  const { id } = spec
  const { nodes, dials } = nodeMaps(id, spec.nodes)
  if (!nodes.has(spec.start)) {
    const known = [...nodes.keys()].join(', ')
    throw invalid(
      id,
      `starts at ${shown(spec.start)}, which is not one of its nodes: it has ${known}`,
    )
  }
  const checkpoints = spec.checkpoints ?? 'hybrid'
  if (!checkpointModes.includes(checkpoints)) {
    const modes = checkpointModes.join(', ')
    throw invalid(id, `has checkpoints ${shown(checkpoints)}: it must be one of ${modes}`)
  }
  return register({
    id,
    name,
    version,
    kind: 'graph',
    tools: toolMap(id, spec.tools ?? []),
    input: checkSchema(id, 'state', spec.state),
    output: spec.output === undefined ? null : checkSchema(id, 'output', spec.output),
    start: spec.start,
    nodes,
    edges: edgeMap(id, nodes, spec.edges),
    dials,
    checkpoints,
    document: checkHook(id, 'document', spec.document) as Graph['document'],
    assembleContext: checkHook(id, 'assembleContext', spec.assembleContext),
  })
}

type Parts = Omit<Graph, 'stateKey' | 'content' | 'fingerprint' | 'types'>

/** Asking every schema what it looks like takes time, and most processes never need it. */
function register(parts: Parts): Graph<never, never> {
  let content: GraphContent | undefined
  let fingerprint: string | undefined
  const made = {
    ...parts,
    stateKey: (key: string) => keySchema(parts.input, key),
    get content(): GraphContent {
      content ??= contentOf(parts)
      return content
    },
    get fingerprint(): string {
      fingerprint ??= fingerprintOf(made.content)
      return fingerprint
    },
  }
  return Object.freeze(made)
}

const semver = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/

/** Splits `name@semver`. */
export function parseGraphId(id: unknown): { name: string; version: string } {
  const text = typeof id === 'string' ? id : ''
  const at = text.lastIndexOf('@')
  const version = text.slice(at + 1)
  if (at < 1 || !semver.test(version)) {
    throw invalid(String(id), 'has no usable id: it must be name@1.2.3')
  }
  return { name: checkName('graph', text.slice(0, at)), version }
}

function nodeMaps(id: string, given: unknown): Pick<Parts, 'nodes' | 'dials'> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid(id, '`nodes` must be an object of functions: { plan: async (state, ctx) => … }')
  }
  const nodes = new Map<string, NodeFunction>()
  const dials = new Map<string, Dial>()
  for (const [key, value] of Object.entries(given as Record<string, unknown>)) {
    const name = checkName(`graph "${id}": node`, key)
    const { run, checkpoint = 'always' } = (
      typeof value === 'object' ? (value ?? {}) : { run: value }
    ) as { run?: unknown; checkpoint?: unknown }
    if (typeof run !== 'function') {
      throw invalid(id, `node "${name}" must be a function, or { run, checkpoint }`)
    }
    if (parseDial(checkpoint) === null) {
      const wanted = '"always", "before_effects" or "every:N", N a whole number of at least 1'
      throw invalid(id, `node "${name}" has checkpoint ${shown(checkpoint)}: it must be ${wanted}`)
    }
    nodes.set(name, run as NodeFunction)
    dials.set(name, checkpoint as Dial)
  }
  if (nodes.size === 0) throw invalid(id, 'has no nodes: `nodes` needs one at least')
  return { nodes, dials }
}

function edgeMap(id: string, nodes: Parts['nodes'], given: unknown): Parts['edges'] {
  if (given === undefined) return null
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid(id, '`edges` must be an object of lists: { plan: ["send"], send: [] }')
  }
  const isNode = (name: unknown): name is string => nodes.has(name as string)
  const edges = Object.entries(given as Record<string, unknown>).map(([from, to]) => {
    if (!isNode(from))
      throw invalid(id, `has edges from ${shown(from)}, which is not one of its nodes`)
    if (!Array.isArray(to)) throw invalid(id, `\`edges.${from}\` must be a list of nodes`)
    const odd = to.find((name) => !isNode(name))
    if (odd !== undefined) {
      throw invalid(
        id,
        `has an edge from "${from}" to ${shown(odd)}, which is not one of its nodes`,
      )
    }
    return [from, new Set<string>(to)] as const
  })
  return new Map(edges)
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

function checkSchema(id: string, key: string, value: unknown): Schema {
  if (isSchema(value)) return value
  throw invalid(id, `\`${key}\` must be a Standard Schema (zod, valibot, arktype, …)`)
}

function checkHook<F>(id: string, key: string, value: F | undefined): F | null {
  if (value === undefined) return null
  if (typeof value === 'function') return value
  throw invalid(id, `\`${key}\` must be a function`)
}

function invalid(id: string, why: string): CounterfoilError {
  return errorFor('GRAPH_INVALID', id, why)
}
