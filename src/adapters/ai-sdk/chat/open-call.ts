// Calls of earlier turns whose end the client does not know, and what can be said of them.
import type { Counterfoil, Tool } from '../../../index.ts'
import type { Past, PlainIds, Row } from '../past.ts'
import type { UiPart } from './messages.ts'

/** A call of an earlier turn of whose end the client does not tell. */
export interface OpenCall {
  readonly turn: EarlierTurn
  readonly tool: string
  readonly toolCallId: string
  readonly input: unknown
  readonly row: Row | null
  /** What a decision about it is bound to. */
  readonly nth: number
  readonly callId: string
  /** Where the client's messages have it; null if they do not. */
  readonly part: UiPart | null
}

export interface EarlierTurn {
  readonly past: Past
  readonly userAt: number
  readonly messageId: string
  readonly parts: readonly { readonly part: UiPart; readonly reply: number }[]
}

/** What is known of a call. */
export type Answer =
  | { readonly state: 'done'; readonly output: unknown }
  | { readonly state: 'failed' | 'given_up' | 'open'; readonly message: string }

/** Where they are looked for, and settled. */
export interface Where {
  readonly cf: Counterfoil
  readonly ids: PlainIds
  /** What the model's calls are called in the ledger. */
  readonly model: string
  readonly tools: ReadonlyMap<string, Tool>
  /** Takes the scope of the present turn anew: what was settled is no longer open to it. */
  readonly anew: () => Promise<void>
}
