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
    return known.maker === null ? { do: 'use', shared: known.shared } : { do: 'wait' }
  }
  data.shares.set(keyOf(key), { maker: workerId, shared: nothing, until: now + makeMs })
  return { do: 'make' }
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
