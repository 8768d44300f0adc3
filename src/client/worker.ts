// Whether workers live, as far as the store knows.
import type { WorkerRow } from '../store/store.ts'

/** `silent`: its lease has ended, and nothing proves that it is dead. */
export type Life = 'alive' | 'silent' | 'stopped' | 'dead'

export function lifeOf({ diedAt, stoppedAt, expired }: WorkerRow): Life {
  if (diedAt !== null) return 'dead'
  if (stoppedAt !== null) return 'stopped'
  return expired ? 'silent' : 'alive'
}
