// What a version of a graph stands for (F3), as plain data.
import type { ReplayClass } from '../tool/replay-class.ts'

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
