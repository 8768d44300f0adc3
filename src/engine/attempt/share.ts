// Pure calls that runs share (B10): of identical ones within `shareMs` one is executed, by whoever
// comes first, in whatever process; the others wait for its result. Only a saving: when the store
// does not answer, or the maker takes too long, the call is executed as any other.
import { pause } from '../../clock.ts'
import * as limits from '../../model/limits.ts'
import type { ShareKey } from '../../store/store.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from '../visit/visit.ts'
import type { Result } from './attempt.ts'

const waitMs = 20
const waitMaxMs = 500

function keyOf({ run }: Visit, call: IssuedCall): ShareKey {
  return { namespace: run.namespace, tool: call.tool.name, inputHash: call.inputHash }
}

/** The result that another run has paid for; null if this one is to make it. */
export async function findShared(visit: Visit, call: IssuedCall): Promise<Result | null> {
  const { store, clock, run } = visit
  const { timeoutMs } = call.tool.rules
  const giveUpMs = clock.mono() + timeoutMs
  for (let ms = waitMs; clock.mono() < giveUpMs; ms = Math.min(ms * 2, waitMaxMs)) {
    const said = await store.takeShare(keyOf(visit, call), run.workerId ?? '', timeoutMs)
    if (said.do === 'use') {
      const { resultJson: json, externalId } = said.shared
      return { json, externalId, usageJson: null }
    }
    if (said.do === 'make') {
      call.shares = true
      return null
    }
    if (visit.phase !== 'running') return null
    await pause(clock, ms)
  }
  return null
}

/** Gives the result to the others, or the right to make it back. */
export function share(visit: Visit, call: IssuedCall, result: Result | null): void {
  if (!call.shares) return
  call.shares = false
  const { shareMs } = call.tool.rules
  const small = result !== null && (result.json?.length ?? 0) <= limits.blobBytesMin / 3
  const shared = small ? { resultJson: result.json, externalId: result.externalId } : null
  visit.store
    .putShare(keyOf(visit, call), visit.run.workerId ?? '', shared, shareMs ?? 0)
    .catch(() => {}) // the right ends by itself
}
