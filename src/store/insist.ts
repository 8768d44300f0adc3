// I4 in one place: an error from a write says nothing about what became of it. So the same is
// written again until it is acknowledged, or until no repetition could help.
import { type Clock, pause } from '../clock.ts'
import { isCounterfoilError } from '../model/errors.ts'

export interface Insistence {
  readonly clock: Clock
  readonly waitMs: number
  readonly waitMaxMs: number
  /** Told of every error: whether it is worth another try. */
  readonly goesOn?: (error: unknown) => boolean
}

/** An error that is not the store's own is taken for a passing one. */
export function mayPass(error: unknown): boolean {
  return !isCounterfoilError(error) || error.retryable
}

/**
 * Answers what `write` answers; it has to be the same write each time. Throws the error that is
 * worth no other try.
 */
export async function writeUntilAcknowledged<T>(
  write: () => Promise<T | 'locked'>,
  { clock, waitMs: firstMs, waitMaxMs, goesOn = mayPass }: Insistence,
): Promise<T> {
  for (let waitMs = firstMs; ; waitMs = Math.min(waitMs * 2, waitMaxMs)) {
    try {
      const answer = await write()
      if (answer !== 'locked') return answer
    } catch (error) {
      if (!goesOn(error)) throw error
    }
    await pause(clock, waitMs)
  }
}
