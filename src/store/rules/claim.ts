// What a claim means, for every store.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { ClaimRequest } from '../store.ts'

/** Where a claim looks; null if nothing can be meant. */
export function askedOf(
  request: ClaimRequest,
): { readonly namespace?: string; readonly runId?: string } | null {
  const { countMax, namespace, only } = request
  if (countMax <= 0) return null
  if (only === undefined) return namespace === undefined ? {} : { namespace }
  return namespace === undefined || namespace === only.namespace ? only : null
}

export function workerDead(workerId: string): CounterfoilError {
  const why = 'is not registered, has stopped or was declared dead; start a new one'
  return errorFor('WORKER_DEAD', workerId, why)
}
