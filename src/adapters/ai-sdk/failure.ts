// Failures of a model, between the AI SDK and the ledger. The AI SDK tries again what says that it
// may be tried again; a replay has to say the same, without the wait.
import { isCounterfoilError, RefusedError } from '../../model/errors.ts'

// In the ledger a failure has a name and a text, and no more.
const again = 'RetryableModelError'

// How the AI SDK recognises its own errors, whatever copy of it they come from.
const markers = ['vercel.ai.error', 'vercel.ai.error.AI_APICallError'].map((key) => Symbol.for(key))

interface ApiError {
  readonly statusCode?: unknown
  readonly isRetryable?: unknown
}

/** What the ledger is told instead of the provider's error, which may hold the whole request. */
export function failureToRecord(error: unknown): Error {
  const { statusCode, isRetryable } = (error ?? {}) as ApiError
  const message = error instanceof Error ? error.message : String(error)
  const own = error instanceof Error ? error.name : 'Error'
  const name = isRetryable === true ? again : own
  // The provider has answered, and said no: nothing was done, whatever the class of the call.
  const refused = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  return Object.assign(refused ? new RefusedError(message) : new Error(message), { name })
}

/** A recorded failure, as the AI SDK would have seen it when it happened. */
export function failureToThrow(recorded: unknown): unknown {
  const { failure } = recorded as { failure?: { name: string; message: string } }
  if (!isCounterfoilError(recorded, 'CALL_FAILED') || failure === undefined) return recorded
  const { name, message } = failure
  const error = Object.assign(new Error(message, { cause: recorded }), { name })
  if (name !== again) return error
  for (const marker of markers) Object.defineProperty(error, marker, { value: true })
  // Whoever waited the first time need not wait again.
  return Object.assign(error, { isRetryable: true, responseHeaders: { 'retry-after-ms': '0' } })
}

/** What the model is told about its tool call: it failed for certain, or by a person's word. */
export function isAnswer(error: unknown): boolean {
  if (!isCounterfoilError(error)) return true
  return error.code === 'CALL_FAILED' || error.code === 'OUTCOME_UNKNOWN'
}
