// What the parts of chaos exchange: what a user's file may bring, what goes to the upstream, what a
// life of the killed process was like.

import type { ProbeAnswer, ReplayClass } from '../../model/tool/tool.ts'
import type { Counterfoil } from '../../open.ts'

/** What a mock is told about the call that it serves. */
export interface MockCall {
  readonly runId: string
  readonly node: string
  readonly tool: string
  readonly attempt: number
  readonly attemptId: string
  readonly idempotencyKey: string | null
  /** Something happens now. A mock that never says so has one effect each time it is asked. */
  effect(): void
  /** An upstream that honours keys: one effect for each key, and the first answer for all. */
  once<T>(make: () => T | Promise<T>): Promise<T>
}

// biome-ignore lint/suspicious/noExplicitAny: the tool's schema says what it is.
export type MockFunction = (input: any, call: MockCall) => unknown
export interface MockPair {
  run: MockFunction
  /** Without it the tool is taken to have none. */
  // biome-ignore lint/suspicious/noExplicitAny: the tool's schema says what it is.
  probe?: (input: any, call: MockCall) => ProbeAnswer<unknown> | Promise<ProbeAnswer<unknown>>
}
/** By the name of a tool or step. */
export type Mocks = Readonly<Record<string, MockFunction | MockPair>>

/** What a person is asked, as `answers` sees it. */
export interface Asked {
  readonly kind: 'question' | 'approval'
  readonly title: string
  readonly queue: string
  readonly data: unknown
  readonly runId: string
  /** The tool whose call was held; null for what the node itself asks. */
  readonly tool: string | null
  /** The very call or question: `visit/tool/hash/occurrence`. */
  readonly call: string | null
}

/** For an approval one of these; an answer to a question may be anything. */
export type Ruling =
  | 'approve'
  | 'reject'
  | { readonly edit: unknown }
  | { readonly respond: unknown }

/** By title, or a function; what it does not know gets its default. */
export type Answers = Readonly<Record<string, unknown>> | ((asked: Asked) => unknown)
export type Signals =
  | Readonly<Record<string, unknown>>
  | ((signal: { name: string; runId: string }) => unknown)

/** Runs or resumes an agent on somebody else's runtime; what it returns is its end. */
export type Agent = (cf: Counterfoil, given: AgentInput) => unknown
export interface AgentInput {
  readonly input: unknown
  /** The thread or workflow id to use: the same after every death. */
  readonly runId: string
  /** A folder that outlives the process, for what the runtime keeps itself. */
  readonly dir: string
  /** Asks the mock of a tool that is not called through `cf`: guarded ones do so by themselves. */
  readonly upstream: (tool: string, input?: unknown, how?: Unguarded) => Promise<unknown>
}

/** What may be said of a call that nobody guards. */
export interface Unguarded {
  /** `pure`: what is done twice does no harm. Without a class, whatever happens is counted. */
  readonly replayClass?: ReplayClass
  readonly idempotencyKey?: string
}

/** How many effects there have been so far, by tool; asked of a sandbox. */
export type Effects = () => Record<string, number> | Promise<Record<string, number>>

/** A call on its way to the upstream. */
export interface Ask {
  readonly what: 'run' | 'probe'
  readonly runId: string
  readonly node: string
  readonly tool: string
  /** Null if nobody guards it, and it was said of no class. */
  readonly replayClass: ReplayClass | null
  readonly attempt: number
  readonly attemptId: string
  /** The very call: `generation#visit/tool/hash/occurrence`, or one that nobody guards. */
  readonly callId: string
  readonly key: string | null
  readonly input: unknown
  /** What the upstream of an asynchronous tool calls back with. */
  readonly token: string | null
  /** The tool's own function is run, in the process that dies. */
  readonly real: boolean
}

export interface Failure {
  readonly name: string
  readonly message: string
  readonly code?: string
  /** An error of Counterfoil itself, which says what to do. */
  readonly ours?: boolean
  /** In the recording nobody knew whether it had happened, and a person failed it. */
  readonly givenUp?: boolean
}

export type Reply =
  | { readonly ok: true; readonly value?: unknown }
  | { readonly ok: false; readonly error: Failure }

/** One use of the upstream, as its log has it. */
export interface Entry extends Ask {
  /** Null while nobody has answered it: for ever, if its process died. */
  readonly reply: Reply | null
  /** What the mock said it did; null if it said nothing. */
  readonly effects: number | null
}

export interface GraphFacts {
  readonly id: string
  readonly name: string
  readonly tools: readonly { readonly name: string; readonly replayClass: ReplayClass }[]
}

/** What a user's file brings. */
export interface Facts {
  readonly graphs: readonly GraphFacts[]
  readonly agent: boolean
  readonly mocks: readonly string[]
  /** Mocks that bring a probe. */
  readonly probes: readonly string[]
  readonly effects: boolean
  /** Present if the file exports one. */
  readonly input?: unknown
}

/** How a run may be meant to end. */
export const chaosEnds = ['completed', 'failed'] as const
export type ChaosEnd = (typeof chaosEnds)[number]

export interface End {
  readonly state: string
  readonly output: unknown
  /** The last state of a graph; null for agents. */
  readonly lastState: unknown
  readonly error: string | null
}

/** `end` is an agent's, if it has come to one. */
export type Rest = (end: End | null) => Promise<boolean>

/** One life of the process that is killed. */
export interface Life {
  /** The boundaries that it came to, in order. */
  readonly hits: readonly string[]
  /** Where it was killed; null if it came to its end. */
  readonly died: string | null
  /** An agent's; a run's is in the store. */
  readonly end: End | null
  /** It broke down by itself. */
  readonly fault: Failure | null
}

/** A fresh store with an upstream of its own, and lives that follow each other on it. */
export interface Stage {
  readonly runId: string
  /** Whether time may go on while a life is under way. */
  readonly jumpsAlive: boolean
  /** `rest` is asked whenever nothing is left to do; the life goes on as long as it says true. */
  live(dieAt: number, rest: Rest): Promise<Life>
  /** A connection of somebody who is not killed. */
  look<T>(work: (desk: Desk) => Promise<T>): Promise<T>
  /** When all that a dead process had sent is in the log. */
  settled(): Promise<void>
  entries(): readonly Entry[]
  answer(asked: Asked): Promise<unknown>
  signal(name: string, runId: string): Promise<unknown>
  /** The sandbox's own count; null if nobody counts there. */
  totals(): Promise<Readonly<Record<string, number>> | null>
  /** Time goes on to this moment. */
  jump(toMs: number): Promise<void>
  close(): Promise<void>
}

export type Desk = Pick<Counterfoil, 'store' | 'inbox' | 'callbacks' | 'run'> & {
  readonly namespace: string
}
