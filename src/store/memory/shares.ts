// Results of pure tools that runs share (B10): a result, or the right to make it.
import type { ShareAnswer, Shared, ShareKey } from '../store.ts'
import type { Data } from './data.ts'

const keyOf = ({ namespace, tool, inputHash }: ShareKey) =>
  JSON.stringify([namespace, tool, inputHash])

const nothing: Shared = { resultJson: null, externalId: null }

export function takeShare(
  data: Data,
  key: ShareKey,
  workerId: string,
  makeMs: number,
): ShareAnswer {
  const now = data.clock.now()
  const known = data.shares.get(keyOf(key))
  if (known && known.until > now) {
    if (known.maker === null) return { do: 'use', shared: known.shared }
    if (!isGone(data, known.maker)) return { do: 'wait' }
  }
  data.shares.set(keyOf(key), { maker: workerId, shared: nothing, until: now + makeMs })
  return { do: 'make' }
}

/** Nobody waits for a maker that cannot come any more. */
function isGone({ workers, clock }: Data, workerId: string): boolean {
  const row = workers.get(workerId)
  if (row === undefined) return false
  return row.diedAt !== null || row.stoppedAt !== null || row.leaseUntil <= clock.mono()
}

export function putShare(
  data: Data,
  key: ShareKey,
  workerId: string,
  shared: Shared | null,
  shareMs: number,
): void {
  const now = data.clock.now()
  const known = data.shares.get(keyOf(key))
  if (known?.maker !== workerId || known.until <= now) return
  if (shared === null) data.shares.delete(keyOf(key))
  else data.shares.set(keyOf(key), { maker: null, shared, until: now + shareMs })
}
