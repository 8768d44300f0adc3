// What is said of a tool when it is registered, and what the engine reads of it: types and words.
import type { ReplayClass } from './replay-class.ts'
import type { InputOf, OutputOf, Schema } from './schema.ts'

export const blastRadii = ['none', 'local', 'external', 'money'] as const
/** How far the effect of a call reaches, for the policy that asks people (E6). */
export type BlastRadius = (typeof blastRadii)[number]

export const beats = ['plan', 'context', 'reason', 'act', 'observe', 'learn'] as const
/** Which part of an agent's work something belongs to (D7). */
export type Beat = (typeof beats)[number]

/** At most `count` calls within `perMs`, over all tools that name the same class. */
export interface RateLimit {
  class: string
  count: number
  perMs: number
}

/** What a call has cost. */
export interface Usage {
  tokensIn?: number
  tokensOut?: number
  usd?: number
}

/** What a tool's functions are told about the call they serve. */
export interface CallInfo {
  readonly runId: string
  readonly node: string
  readonly tool: string
  readonly attempt: number
  /**
   * Names this attempt in the ledger; worth sending along, so that upstream logs can be searched.
   */
  readonly attemptId: string
  readonly idempotencyKey: string | null
  readonly abortSignal: AbortSignal
  /** What the caller gave along (`live`), as it is; nothing of it is recorded. */
  readonly live?: unknown
  /**
   * For a tool with `callbackMs`: the token that its upstream calls back with. What `run` returns
   * does not count from here on; the call ends by `cf.callbacks.settle(token, result)`.
   */
  defer(): string
  /** Says that the call is still under way: puts `heartbeatMs` off, and people see the details. */
  heartbeat(details?: unknown): void
}

/** What an idempotency key may be made of: nothing that moves between two looks. */
export interface KeyInfo {
  readonly runId: string
  readonly node: string
  readonly visit: number
  readonly occurrence: number
}

/** What is known of a call that may have happened, for whoever goes and looks. */
export type LookInfo = Pick<
  CallInfo,
  'runId' | 'node' | 'tool' | 'attempt' | 'attemptId' | 'idempotencyKey'
>

/** Where a person looks whether a call happened: a link (http or https), a sentence, or both. */
export interface WhereToLook {
  url?: string
  say?: string
}

export type ProbeAnswer<Out> = { landed: 'yes'; result: Out } | { landed: 'no' | 'unknown' }

export interface RetryPolicy {
  /** Attempts in all while a worker holds the run, the first included. */
  attemptMax?: number
  backoffMs?: number
  backoffMaxMs?: number
}

/** What is known of a tool besides its class, and makes sense for every class. */
export interface Metadata<Out> {
  /** Words that a policy may refer to. */
  tags?: readonly string[]
  blastRadius?: BlastRadius
  rateLimit?: RateLimit
  /** Read from the result of a fresh call; a replayed one costs nothing. */
  usage?: (result: NoInfer<Out>) => Usage
  beat?: Beat
}

interface Common<In, Raw, Out> extends Metadata<Out> {
  name: string
  timeoutMs?: number
  retry?: RetryPolicy
  run: (input: In, call: CallInfo) => Raw | Promise<Raw>
  /** The upstream's own id for what was done, kept beside the receipt and shown to people. */
  externalId?: (result: NoInfer<Out>) => string
  /** A call that is not heard of (`call.heartbeat`) for so long is taken for lost. */
  heartbeatMs?: number
  /** The second identical call of one visit is answered by the first one's receipt. */
  oncePerVisit?: boolean
  /** How much money, or of whatever a policy counts, a call is about. */
  amount?: (input: In) => number
  /** A result as it may look, shown to whoever has to say with what a call was answered. */
  example?: NoInfer<Out>
}

interface Doubtful<In, Out> {
  /** Asks the upstream whether an attempt landed. */
  probe?: (
    input: In,
    call: CallInfo,
  ) => ProbeAnswer<NoInfer<Out>> | Promise<ProbeAnswer<NoInfer<Out>>>
  /** How long after an attempt's end its bytes may still arrive. An assumption, not a proof. */
  quietMs?: number
  /** It starts processes that live longer than the worker: its death does not end an attempt. */
  outlives?: boolean
  /** Where a person looks whether it happened (A10): shown first on every doubt. */
  whereToLook?: (input: In, call: LookInfo) => WhereToLook
  /** How long a doubt about a call may wait for a person, unless its queue says; 1 h. */
  doubtSlaMs?: number
  /** An asynchronous tool, which may `defer()`: how long its upstream has to call back. */
  callbackMs?: number
}

interface NoKey {
  idempotencyKey?: never
  keyTtlMs?: never
}

interface PureRules extends NoKey {
  replayClass: 'pure'
  /** Identical calls of different runs within this time share one execution. */
  shareMs?: number
  probe?: never
  quietMs?: never
  outlives?: never
  callbackMs?: never
  whereToLook?: never
  doubtSlaMs?: never
}
type UnsafeRules<In, Out> = { replayClass: 'unsafe_on_replay'; shareMs?: never } & NoKey &
  Doubtful<In, Out>
type KeyedRules<In, Out> = {
  replayClass: 'idempotent_with_key'
  idempotencyKey: (input: In, call: KeyInfo) => string
  /** How long the upstream remembers a key; Infinity is allowed, silence is not. */
  keyTtlMs: number
  shareMs?: never
} & Doubtful<In, Out>

/** The rules of one class, for tools and for steps. */
export type ClassRules<In, Out> = PureRules | KeyedRules<In, Out> | UnsafeRules<In, Out>

/** What a tool answers with: what its output schema makes of what `run` returns, or just that. */
export type ResultOf<Raw, O> = [O] extends [Schema] ? OutputOf<O> : Raw
/** `run` returns what the output schema takes; a value of unknown type is left to the schema. */
export type Fits<Raw, O> = unknown extends Raw
  ? unknown
  : [O] extends [Schema]
    ? [Raw] extends [InputOf<O>]
      ? unknown
      : { '`run` returns what the output schema does not take': Raw }
    : unknown

export type ToolSpec<
  S extends Schema,
  Raw,
  O extends Schema | undefined,
  R extends boolean = false,
> = Common<OutputOf<S>, Raw, ResultOf<Raw, O>> &
  ClassRules<OutputOf<S>, Raw> & {
    input: S
    output?: O & Fits<NoInfer<Raw>, O>
    /** A person may say "it happened" without its result: the call then answers `undefined`. */
    resultOptional?: R
  }

/** What a call answers with: nothing, where a person may say that it happened and no more. */
export type Answered<Out, R extends boolean> = true extends R ? Out | undefined : Out

/** A registered tool. Its types are inferred from its schemas; its rules are read by the gate. */
export interface Tool<In = unknown, Out = unknown> {
  readonly name: string
  readonly replayClass: ReplayClass
  readonly rules: ToolRules
  readonly types?: { in: In; out: Out }
}

/** The tool as the engine sees it, with every default filled in. */
export interface ToolRules {
  readonly input: Schema | null
  readonly output: Schema | null
  readonly timeoutMs: number
  readonly quietMs: number
  readonly outlives: boolean
  /** Null for a tool that answers when its function returns. */
  readonly callbackMs: number | null
  readonly heartbeatMs: number | null
  readonly shareMs: number | null
  readonly oncePerVisit: boolean
  readonly keyTtlMs: number | null
  /** What is sent again must have ended so long before the key is forgotten. */
  readonly keyMarginMs: number
  readonly retry: Required<RetryPolicy>
  readonly run: (input: unknown, call: CallInfo) => unknown
  readonly idempotencyKey: ((input: unknown, call: KeyInfo) => string) | null
  readonly probe: ((input: unknown, call: CallInfo) => unknown) | null
  readonly externalId: ((result: unknown) => string) | null
  readonly tags: readonly string[]
  readonly blastRadius: BlastRadius | null
  readonly rateLimit: Readonly<RateLimit> | null
  readonly amount: ((input: unknown) => number) | null
  readonly usage: ((result: unknown) => Usage) | null
  readonly beat: Beat | null
  readonly whereToLook: ((input: unknown, call: LookInfo) => unknown) | null
  readonly doubtSlaMs: number | null
  readonly resultOptional: boolean
  /** Undefined if there is none. */
  readonly example: unknown
}

/** What `tool` and `ctx.step` have in common, before anything is trusted. */
export type AnySpec = Partial<Record<keyof ToolRules, unknown>> & { replayClass: unknown }
