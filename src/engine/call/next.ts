// What a step of a call answers: what is to be done next. No step does it itself: the loop of the
// gate does (gate.ts), so that a call goes on, waits and ends in one place.
import type { Entry, Settled } from '../../model/replay/entry.ts'
import type { Decision, DoubtReason } from '../../model/run/records.ts'
import type { CallState } from './states.ts'

/** Goes on with a call, from wherever it was waited for. */
export type Go = (next: Next) => void

export type Next =
  | Step
  /** The record is its own from now on. */
  | { readonly do: 'claim'; readonly entry: Entry }
  /** Answered as the first call of these words is. */
  | { readonly do: 'follow'; readonly key: string }
  /** Until nothing more can match. */
  | { readonly do: 'hold' }
  /** Goes on when `begin` calls back; by then it is in `state`. */
  | { readonly do: 'until'; readonly state: CallState; readonly begin: (go: Go) => void }
  /** Its result, in its place of the order. */
  | { readonly do: 'answer'; readonly settled: Settled; readonly replayed: boolean }
  /** It goes no further, and nothing of that is on record. */
  | { readonly do: 'deny'; readonly error: unknown }
  /** Nothing more is done about it in this visit. */
  | { readonly do: 'stay'; readonly state: 'asked' | 'in_doubt' }
  /** The visit begins nothing any more. */
  | { readonly do: 'stop' }

/** What a step does by itself (steps.ts). */
export type Step =
  | { readonly do: 'judge'; readonly quiet?: true }
  | { readonly do: 'obey' }
  /** Another call's result is its own. */
  | { readonly do: 'copy' }
  /** Waits for a time, a signal, a child; or for the callback of what was sent. */
  | { readonly do: 'wait' }
  | { readonly do: 'await_callback' }
  | { readonly do: 'consult' }
  | { readonly do: 'ask' }
  | { readonly do: 'doubt'; readonly reason: DoubtReason }
  /** The policy refuses it, on record. */
  | { readonly do: 'refuse'; readonly why: string }
  | { readonly do: 'probe' }
  | { readonly do: 'record_probe' }
  | { readonly do: 'send_pure' }
  | { readonly do: 'send'; readonly grant: Decision | null }

export const stop: Next = { do: 'stop' }
export const judgeIt: Next = { do: 'judge' }
export const askIt: Next = { do: 'ask' }

export function until(state: CallState, begin: (go: Go) => void): Next {
  return { do: 'until', state, begin }
}

export function answer(settled: Settled, replayed: boolean): Next {
  return { do: 'answer', settled, replayed }
}

export function deny(error: unknown): Next {
  return { do: 'deny', error }
}

export function doubtIt(reason: DoubtReason): Next {
  return { do: 'doubt', reason }
}

export function sendIt(grant: Decision | null): Next {
  return { do: 'send', grant }
}
