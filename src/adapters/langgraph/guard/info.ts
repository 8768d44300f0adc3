// What the function of a guarded call can ask about that call.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallInfo } from '../../../index.ts'

/** What `callInfo()` gives inside the function of a guarded tool, node or task. */
export interface GuardedCallInfo extends Omit<CallInfo, 'defer'> {
  /** The model's id of the call, if it has one. */
  readonly callId: string | null
}

export const infos = new AsyncLocalStorage<GuardedCallInfo>()

/** About the guarded call whose function runs: its idempotency key, its attempt, its signal. */
export function callInfo(): GuardedCallInfo | undefined {
  return infos.getStore()
}

export function infoFor(info: CallInfo, callId: string | null): GuardedCallInfo {
  const { runId, node, tool, attempt, attemptId, idempotencyKey } = info
  return {
    runId,
    node,
    tool,
    attempt,
    attemptId,
    idempotencyKey,
    callId,
    get abortSignal() {
      return info.abortSignal
    },
    heartbeat: (details) => info.heartbeat(details),
  }
}
