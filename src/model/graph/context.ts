// What node code is given. Types only: the engine makes the values.
import type { ApprovalTerms, Vote } from '../decisions/approval.ts'
import type { Frozen, Schema } from '../tool/schema.ts'
import type { Beat, ClassRules, Metadata, RetryPolicy, Tool } from '../tool/tool.ts'
import type { NodeEnd } from './node.ts'
import type { Graph } from './registered.ts'

/** The promise of a call's result. `replayed` is known once it has settled. */
export interface Call<T> extends Promise<T> {
  /** True if the result was read back from the ledger, false if it is fresh. */
  readonly replayed: boolean | undefined
}

/** What a person answered to `ctx.ask`. */
export interface Answer<T = unknown> {
  readonly answer: T
  readonly by: string
  readonly reason: string
}

export interface Question {
  title: string
  /** Plain data shown beside the title. */
  data?: unknown
  queue?: string
  /** How long the answer may take, unless the queue says; 1 h. */
  slaMs?: number
}

/** What a person is asked to approve. */
export interface ApprovalRequest<D = unknown> extends ApprovalTerms {
  title: string
  /** Plain data, exactly what the person sees: the approval is bound to it. */
  data?: D
  queue?: string
  /** What an edit must fit. */
  schema?: Schema
}

/** What a person decided about `ctx.approval`. */
export interface Approval<D = unknown> {
  /** True for approve and edit, and for what expired as approved. */
  readonly approved: boolean
  /** `expire`: nobody decided in time. */
  readonly outcome: 'approve' | 'edit' | 'reject' | 'respond' | 'expire'
  /** What was approved: the edit, or what was shown. */
  readonly data: D
  /** What was said instead of a decision (respond). */
  readonly answer: unknown
  readonly by: string
  readonly reason: string
  readonly at: number
  readonly itemId: string
  /** Where several had to agree, what each of them but the last said. */
  readonly votes: readonly Vote[]
  /** The decision as a message for the run's history and the model's context (E4). */
  readonly message: DecisionMessage
}

/** A type, and no interface: so it fits schemas of objects with further keys. */
export type DecisionMessage = {
  readonly role: 'human'
  readonly kind: 'decision'
  readonly item: string
  readonly outcome: string
  readonly by: string
  readonly reason: string
  readonly at: number
  readonly content: unknown
}

/** What is known of one call, for the policy that asks people. */
export interface CallOptions {
  /** How sure the agent is, from 0 to 1. */
  confidence?: number
  /** Instead of what the tool's `amount` makes of the input. */
  amount?: number
  /** Ids of calls that a model asked for word for word like this one, which answers them too. */
  standsFor?: readonly string[]
  /** For the tool's function, as `call.live`: a signal, a listener. Nothing of it is recorded. */
  live?: unknown
}

/** A signal as the node sees it. */
export interface ReceivedSignal<D = unknown> {
  readonly name: string
  readonly id: string
  readonly data: D
  readonly at: number
}

/** How a child run ended. */
export type ChildEnd<Out = unknown> =
  | { readonly runId: string; readonly state: 'completed'; readonly output: Out }
  | {
      readonly runId: string
      readonly state: 'failed' | 'cancelled'
      readonly error: { readonly code?: string; readonly message: string } | null
    }

/** The promise of a child's end, and the child itself. */
export interface Child<Out = unknown> extends Call<ChildEnd<Out>> {
  /** The child's run: the same at every replay. */
  readonly runId: string
  /**
   * Asks the child to stop, for this reason. It resolves once that is asked, not once the child has
   * ended; one that has ended already stays as it is.
   */
  cancel(why: string): Call<void>
}

export type StepSpec<In, Out> = ClassRules<In, Out> &
  Metadata<Out> & {
    name: string
    input?: In
    timeoutMs?: number
    retry?: RetryPolicy
    externalId?: (result: Out) => string
  }

/** The context of one visit. `T` is the union of the tools that the graph declares. */
export interface Context<T extends Tool = Tool> {
  readonly runId: string
  readonly node: string
  readonly visit: number
  /** Calls a declared tool; answered from the ledger when the call has a receipt. */
  call<const C extends T>(
    tool: C,
    input: C extends Tool<infer In, unknown> ? Frozen<In> : never,
    options?: CallOptions,
  ): Call<C extends Tool<infer _In, infer Out> ? Out : never>
  /** An inline tool: the same rules as `call`, for a function that is used in one place. */
  step<In, Out>(
    spec: StepSpec<In, Out>,
    run: (
      input: In,
      call: { abortSignal: AbortSignal; idempotencyKey: string | null },
    ) => Out | Promise<Out>,
  ): Call<Out>
  now(): Call<number>
  random(): Call<number>
  uuid(): Call<string>
  /** A line of the run's history; said once, however often the node is replayed. */
  log(message: string, data?: unknown): void
  /** Asks a person and waits without holding a worker. */
  ask<A = unknown>(question: Question): Call<Answer<A>>
  /** Asks a person to approve exactly what is shown, and waits without holding a worker. */
  approval<D>(
    request: ApprovalRequest<Frozen<NoInfer<D>>> & { schema: Schema<unknown, D> },
  ): Call<Approval<D>>
  approval<D>(request: ApprovalRequest<D> & { schema?: never }): Call<Approval<D>>
  /** Waits without holding a worker; a replay goes on waiting for the first time's end. */
  sleep(ms: number): Call<void>
  /** The same until a time, in milliseconds since 1970 or as a Date. */
  sleepUntil(time: number | Date): Call<void>
  /**
   * Waits for a signal of this name, or takes the first that came before and nobody took; null if
   * none comes within `timeoutMs`.
   */
  signal<D = unknown>(name: string): Call<ReceivedSignal<D>>
  signal<D = unknown>(name: string, options: { timeoutMs?: number }): Call<ReceivedSignal<D> | null>
  /**
   * Starts a run of another graph, made with this record. Await it for its end, or race it with
   * `ctx.sleep`: a child that nobody waits for any more goes on, unless it is cancelled.
   */
  spawn<In, Out>(graph: Graph<In, Out>, input: In): Child<Out>
  /** The model's context, made by the graph's `assembleContext` from the run's document. */
  context(): Call<unknown>
  /** Shows in the run's history which part of its work begins. */
  beat(name: Beat, data?: unknown): void
}

/** What a graph's nodes are given besides: the ways to end. */
export interface NodeContext<
  T extends Tool = Tool,
  N extends string = string,
  Patch = Record<string, unknown>,
  Out = unknown,
> extends Context<T> {
  /** The run goes on at that node. `patch` is merged shallowly; a key set to undefined goes. */
  go(node: N, patch?: Patch): NodeEnd
  /** The run has completed. */
  done(...output: undefined extends Out ? [output?: Out] : [output: Out]): NodeEnd
  /** The run has failed. */
  fail(message: string, details?: unknown): NodeEnd
}
