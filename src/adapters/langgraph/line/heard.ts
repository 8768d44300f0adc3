// LangGraph begins its writes and looks at what became of them when its loop is over. A rejection
// that nobody looks at until then ends the process.
import type { Counterfoil } from '../../../index.ts'
import { isCounterfoilError } from '../../../model/errors.ts'

/** A promise whose rejection waits until somebody looks at it, and so do those made from it. */
export class Heard<T> extends Promise<T> {
  static of<T>(work: Promise<T>): Promise<T> {
    return new Heard<T>((resolve, reject) => void work.then(resolve, reject))
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  override then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const next = super.then(done, failed)
    Promise.prototype.then.call(next, undefined, () => {})
    return next
  }
}

const retryMs = 50
/** About three seconds in all: a server that starts anew, a file that is locked. */
const retriesMax = 6

/** Tries again what a store could not do just now. */
export async function insisted<T>(cf: Counterfoil, work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await work()
    } catch (error) {
      const isFinal = isCounterfoilError(error) && !error.retryable
      if (isFinal || retries >= retriesMax) throw error
      await pause(cf, retryMs * 2 ** retries)
    }
  }
}

export function pause({ store }: Counterfoil, ms: number): Promise<void> {
  return new Promise((resolve) => {
    store.clock.after(ms, resolve)
  })
}
