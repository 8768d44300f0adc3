// What a node can wait for without a worker, and what is known of such a wait.
import type { Graph } from '../../model/graph/graph.ts'
import type { WaitKind } from '../../model/run/records.ts'
import type { Go } from '../call/next.ts'

/** What the node itself asked to wait for. */
export type WaitSpec =
  | { readonly kind: 'timer'; readonly dueAt: () => number }
  | { readonly kind: 'signal'; readonly name: string; readonly dueAt: () => number | null }
  | { readonly kind: 'child'; readonly graph: Graph }

/** One wait of a visit, as its park tells it. */
export interface Waiting {
  readonly kind: WaitKind
  readonly name: string
  readonly since: number
  readonly dueAt: number | null
  readonly cancel: () => void
  /** Goes on with its call. */
  readonly go: Go
}
