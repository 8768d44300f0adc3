// A graph as it is once it is registered: what the engine and the stores read of it.
import type { Schema } from '../tool/schema.ts'
import type { Tool } from '../tool/tool.ts'
import type { GraphContent } from './content.ts'
import type { Dial } from './dial.ts'
import type { NodeEnd } from './node.ts'

/** What its state and its context are is known where it was written, and not here. */
export type NodeFunction = (state: unknown, ctx: unknown) => Promise<NodeEnd> | NodeEnd

export const checkpointModes = ['hybrid', 'full', 'delta'] as const
/** Deltas and now and then a whole state, only whole states, or only deltas after the first. */
export type CheckpointMode = (typeof checkpointModes)[number]

/** A registered graph. Its types are inferred; the engine reads the rest. */
export interface Graph<In = unknown, Out = unknown> {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly kind: 'graph' | 'workflow'
  readonly tools: ReadonlyMap<string, Tool>
  /** Of what a run is started with: a workflow's input, a graph's state. */
  readonly input: Schema
  readonly output: Schema | null
  readonly start: string
  readonly nodes: ReadonlyMap<string, NodeFunction>
  /** Where each node may go; null if the graph does not say, and any node may follow any. */
  readonly edges: ReadonlyMap<string, ReadonlySet<string>> | null
  /** For every node. */
  readonly dials: ReadonlyMap<string, Dial>
  readonly checkpoints: CheckpointMode
  /** The schema of one key of the state where the library shows it, else null. */
  readonly stateKey: (key: string) => Schema | null
  readonly document: ((state: unknown) => Record<string, unknown>) | null
  readonly assembleContext: ((document: unknown) => unknown) | null
  /** What a version stands for (F3); made at first use, like its fingerprint. */
  readonly content: GraphContent
  readonly fingerprint: string
  readonly types?: { in: In; out: Out }
}
