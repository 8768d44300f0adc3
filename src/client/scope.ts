// What a foreign runtime holds while its code is at one place.

import { errorFor } from '../model/errors.ts'
import type { Call, CallOptions } from '../model/graph/context.ts'
import type { CallRecord } from '../model/run/records.ts'
import { standsForProblem } from '../model/tool/checks.ts'
import { isTool, type Tool } from '../model/tool/tool.ts'

/** What the host says about a call besides its input. */
export interface ScopeCallOptions extends CallOptions {
  /** Its own id of the call (a model's tool_call_id): it stands for the occurrence. */
  callId?: string
  /** The id is a place of its own: the order in which the host makes its calls says nothing. */
  placed?: PlacedCall
}

/** What the host knows of a call and the ledger cannot see. */
export interface PlacedCall {
  /** Other ids that the same call may be on record by: the only one that is free answers. */
  readonly aliases?: readonly string[]
  /** Calls on record that may have had the same effect: a person sees both, nothing is sent. */
  readonly alike?: readonly CallRecord[]
  /** One of them that asks for the same and has a receipt: its result answers the call. */
  readonly answer?: CallRecord | null
}

interface Opened {
  readonly visit: {
    call(tool: Tool, input: unknown, options: ScopeCallOptions): Call<unknown>
    seen(calls: Iterable<{ readonly tool: string; readonly callId: string }>): void
    stepOver(): Promise<void>
  }
  close(): Promise<void>
}

interface Ids {
  readonly workflowId: string
  readonly nodeId: string
  readonly checkpointId: string
}

/** One visit of a foreign runtime. Leased until it is closed, or its process dies. */
export class Scope {
  readonly workflowId: string
  readonly nodeId: string
  readonly checkpointId: string
  private readonly opened: Opened

  constructor(opened: Opened, { workflowId, nodeId, checkpointId }: Ids) {
    this.opened = opened
    this.workflowId = workflowId
    this.nodeId = nodeId
    this.checkpointId = checkpointId
  }

  /**
   * Calls a tool through the gate. Where a node would park, it rejects with a ReplayUnsafeError,
   * which is not to be retried: a person decides, and the scope is opened again.
   */
  call<In, Out>(tool: Tool<In, Out>, input: In, options: ScopeCallOptions = {}): Call<Out> {
    if (!isTool(tool)) {
      const message = 'scope.call needs a tool that was made by tool({ … })'
      return refused(errorFor('TOOL_INVALID', null, message))
    }
    const { callId } = options
    if (callId !== undefined && (typeof callId !== 'string' || callId === '')) {
      const message = `scope.call of ${tool.name}: \`callId\` must be a string, and not empty`
      return refused(errorFor('INPUT_INVALID', message))
    }
    if (options.placed && callId === undefined) {
      const message = `scope.call of ${tool.name}: a call with \`placed\` needs a \`callId\``
      return refused(errorFor('INPUT_INVALID', message))
    }
    const wrong = standsForProblem(tool.name, options)
    if (wrong) return refused(wrong)
    return this.opened.visit.call(tool as Tool, input, options) as Call<Out>
  }

  /**
   * The host knows how these calls with a place of their own ended, and will not make them again:
   * their records are not taken for calls that the host has forgotten.
   */
  seen(calls: Iterable<{ readonly tool: string; readonly callId: string }>): void {
    this.opened.visit.seen(calls)
  }

  /**
   * The host goes on to its next step: of records of this one that have happened, and that it has
   * not asked for, a person is told.
   */
  over(): Promise<void> {
    return this.opened.visit.stepOver()
  }

  /** Waits for the calls that were issued, and gives the hold back. Later calls are refused. */
  close(): Promise<void> {
    return this.opened.close()
  }
}

/** As every other failure of a call: a rejection, of which nobody need take notice. */
function refused(error: Error): Call<never> {
  const promise = Promise.reject(error)
  promise.catch(() => {})
  return promise as unknown as Call<never>
}
