// The errors that are told apart by more than their code: each is made by its class.
import { CounterfoilError } from './error.ts'
import type { FailureData } from './failure.ts'
import type { ErrorOptions } from './said.ts'

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
