// What node code is given. Types only: the engine makes the values.
import type { ClassRules, RetryPolicy, Tool } from './tool.ts'

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
}

export type StepSpec<In, Out> = ClassRules<In, Out> & {
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
    input: C extends Tool<infer In, unknown> ? In : never,
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
}
