// What the API answers with. The forms of rows are the server's own; only what a route adds to them
// is written down here.
import type { checkpointJson } from '../../src/client/wire/checkpoint.ts'
import type { entryJson } from '../../src/client/wire/ledger.ts'
import type {
  decisionJson,
  eventJson,
  itemJson,
  itemViewJson,
  runJson,
} from '../../src/client/wire/rows.ts'
import type { previewJson } from '../../src/client/wire/run.ts'
import type { workerJson } from '../../src/client/wire/worker.ts'

export type { Outcome } from '../../src/model/run/records.ts'
export type { RunState } from '../../src/model/run/states.ts'

export type Run = ReturnType<typeof runJson>
export type Item = ReturnType<typeof itemJson>
export type ItemView = ReturnType<typeof itemViewJson>
export type Entry = ReturnType<typeof entryJson>
export type Checkpoint = ReturnType<typeof checkpointJson>
export type Preview = ReturnType<typeof previewJson>
export type Worker = ReturnType<typeof workerJson>
export type Decision = ReturnType<typeof decisionJson>
export type Event = ReturnType<typeof eventJson> & { readonly id?: number }

export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

export type Role = 'viewer' | 'operator' | 'admin'

export interface Session {
  readonly name: string
  readonly role: Role
  readonly namespace: string
  /** Its token is for all of them: one says with each request which one is meant. */
  readonly every_namespace: boolean
  /** `role:…` and `group:…`: what an approval may be for, besides names. */
  readonly claims: readonly string[]
  readonly csrf: string | null
  readonly version: string
  readonly store: string
  /** Whether the live demo runs behind the server. */
  readonly demo: boolean
}

/** An item in the list, with what tells it apart. */
export type ItemRow = Item & {
  readonly waited_ms: number
  readonly overdue: boolean
  readonly call: { readonly tool_name: string; readonly nth: number } | null
  /** The same for items that one decision can be about. */
  readonly alike: string
  /** What can be said of many at once. */
  readonly many: readonly Pick<Choice, 'outcome' | 'label' | 'grave'>[]
}

/** An outcome as the server offers it: what follows, what it needs, whether it can be said yet. */
export type Choice = ItemView['choices'][number]

/** An item with all that is known around it. */
export type ItemPageData = ItemView & {
  readonly run: Run & { readonly started_by: string | null }
  readonly events: readonly Event[]
  readonly quiet_until: string | null
  /** What its run does now that it is decided. */
  readonly what_next: string | null
  /** What the same person can decide next. */
  readonly next: Item | null
  /** What "it happened" must fit, if the server knows. */
  readonly result_schema: unknown
}

export interface FailedCall {
  readonly name: string
  readonly input: unknown
  readonly error: unknown
  /** Failed by a person who did not know whether it had happened. */
  readonly unresolved: boolean
}

export type RunView = Run & {
  readonly children_count: number
  readonly started_by: string | null
  readonly path: readonly { readonly node: string; readonly visit: number; readonly at: string }[]
}

export interface GraphView {
  readonly start: string
  /** Its program is at hand: nodes that were never visited are known too. */
  readonly known: boolean
  readonly nodes: readonly string[]
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}

export interface Version {
  readonly graph: string
  readonly version: string
  readonly registered_at: string | null
  readonly live: number
  readonly ended: number
  readonly states: Readonly<Record<string, number>>
  /** This server's own programs have it. */
  readonly carried: boolean
}

export interface ToolRow {
  readonly tool_name: string
  readonly graph: string
  readonly replay_class: string
  readonly key_ttl_ms: number | null
  readonly key_for_ever: boolean
  readonly has_probe: boolean
  readonly quiet_ms: number
  readonly outlives: boolean
  readonly blast_radius: string | null
  /** What happens to a call that was under way when its worker died. */
  readonly recovery: string
}
