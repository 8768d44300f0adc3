// Every error of Counterfoil carries a `code` with a page under docs/errors/, and is recognised by
// a symbol instead of instanceof, so that two copies of the package in one process still agree.

const brand = Symbol.for('counterfoil.error')

export interface ErrorOptions {
  retryable?: boolean
  cause?: unknown
  details?: Record<string, unknown>
}

/** The base of every error that Counterfoil throws. */
export class CounterfoilError extends Error {
  readonly code: string
  readonly retryable: boolean
  readonly details: Record<string, unknown>

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
    Object.defineProperty(this, brand, { value: true })
  }
}

/**
 * True for an error of Counterfoil, of this copy of the package or another; with `code`, for that
 * one.
 */
export function isCounterfoilError(error: unknown, code?: string): error is CounterfoilError {
  if (typeof error !== 'object' || error === null) return false
  // Anything can be thrown, also what throws when it is looked at.
  if (lookAt(() => brand in error) !== true) return false
  return code === undefined || lookAt(() => (error as { code?: unknown }).code) === code
}

/** Thrown by a tool's `run`: nothing has been sent, so any class may try again. */
export class NotSentError extends CounterfoilError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('NOT_SENT', message, { retryable: true, ...options })
  }
}

/** Thrown by a tool's `run`: the upstream answered and refused; the call has failed for certain. */
export class RefusedError extends CounterfoilError {
  constructor(message: string, options: ErrorOptions = {}) {
    super('REFUSED', message, options)
  }
}

/**
 * Thrown by a tool's `run` for a host of its own: the call has not ended, and the host will make it
 * again. It rejects with `cause`; nothing is recorded as its end.
 */
export class WithdrawnError extends CounterfoilError {
  /** Whether anything may have gone out. An unsafe call of which nobody knows goes to a person. */
  readonly sent: 'no' | 'unknown'

  constructor(cause: unknown, sent: 'no' | 'unknown') {
    super('WITHDRAWN', 'its host has withdrawn the call, to make it again', { cause })
    this.sent = sent
  }
}

/** What a recorded failure holds; the same for a fresh failure and for its replay. */
export interface FailureData {
  kind: 'refused' | 'not_sent' | 'failed' | 'unknown' | 'decided'
  name: string
  message: string
  code?: string
}

/** A call that failed for certain. Thrown to the node, fresh and replayed alike. */
export class CallFailedError extends CounterfoilError {
  readonly tool: string
  readonly failure: FailureData

  constructor(tool: string, failure: FailureData) {
    super('CALL_FAILED', `${tool}: ${failure.message}`, { details: { tool, failure } })
    this.tool = tool
    this.failure = failure
  }
}

/**
 * A call that a person failed without knowing its outcome. The same call again goes to a person.
 */
export class OutcomeUnknownError extends CounterfoilError {
  readonly tool: string

  constructor(tool: string, reason: string) {
    super('OUTCOME_UNKNOWN', `${tool}: failed by decision, its outcome is not known: ${reason}`, {
      details: { tool, reason },
    })
    this.tool = tool
  }
}

/** The original call of a doubt, as an operator sees it. */
export interface CallData {
  runId: string
  node: string
  tool: string
  replayClass: string
  input: unknown
  attempt: number
  idempotencyKey: string | null
}

/** An unsafe call without a receipt: never sent again by the machine, put before a person. */
export class ReplayUnsafeError extends CounterfoilError {
  readonly call: CallData
  /** What waits in the inbox. */
  readonly itemId: string | null

  constructor(call: CallData, item: ItemData | null = null) {
    const unknown = item === null || item.reason === 'unknown'
    super(
      'REPLAY_UNSAFE',
      item?.message !== undefined
        ? `${item.message}; a person has to decide`
        : unknown
          ? `${call.tool} was dispatched (attempt ${call.attempt}) and nobody knows whether it ` +
            'happened; a person has to decide'
          : `${item.title}: a person has to decide (${item.reason})`,
      { details: { call, ...(item ? { item } : {}) } },
    )
    this.call = call
    this.itemId = item?.itemId ?? null
  }
}

export interface ItemData {
  itemId: string
  title: string
  reason: string
  /** What is known of it beyond that nobody knows. */
  message?: string
}

/** Somebody else has the scope open, in this process or another. */
export class ScopeHeldError extends CounterfoilError {
  constructor(ids: { workflowId: string; nodeId?: string; checkpointId?: string }) {
    const where = ids.nodeId === undefined ? '' : ` at ${ids.nodeId}, ${ids.checkpointId}`
    super('SCOPE_HELD', `${ids.workflowId}${where} is open elsewhere; close it there, or wait`, {
      retryable: true,
      details: { ...ids },
    })
  }
}

/** The failure of a run, as `run.result()` rejects with it. */
export class RunFailedError extends CounterfoilError {
  readonly runId: string

  constructor(runId: string, failure: { name: string; message: string; code?: string }) {
    super('RUN_FAILED', `run ${runId} failed: ${failure.message}`, { details: { failure } })
    this.runId = runId
  }
}

/** What can be kept of any thrown value. */
export function failureOf(error: unknown, kind: FailureData['kind']): FailureData {
  if (lookAt(() => error instanceof Error) !== true) {
    return {
      kind,
      name: 'Error',
      message: typeof error === 'string' ? error : `threw ${describe(error)}`,
    }
  }
  // Somebody else's error may have anything in its fields, also what throws when it is read; what
  // is kept is text.
  const field = (key: 'name' | 'message' | 'code') => lookAt(() => (error as Fields)[key])
  const text = (value: unknown) => (typeof value === 'string' ? value : describe(value))
  const [name, code] = [text(field('name')), field('code')]
  const data: FailureData = { kind, name, message: text(field('message')) || name }
  return typeof code === 'string' ? { ...data, code } : data
}

interface Fields {
  readonly name: unknown
  readonly message: unknown
  readonly code?: unknown
}

const cannotBeShown = 'a value that cannot be shown'
const unreadable = Symbol(cannotBeShown)

function lookAt<T>(look: () => T): T | typeof unreadable {
  try {
    return look()
  } catch {
    return unreadable
  }
}

function describe(value: unknown): string {
  if (value === unreadable) return cannotBeShown
  try {
    return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value))
  } catch {
    return cannotBeShown
  }
}
