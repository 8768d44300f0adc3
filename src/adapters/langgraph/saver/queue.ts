// What is being put, by space: one after the other.
import { keyOf } from './cache.ts'
import type { Space } from './chain.ts'

export class PutQueue {
  readonly #putting = new Map<string, Promise<unknown>>()

  /** The last that is under way or waits for its turn. */
  last(space: Space): Promise<unknown> | undefined {
    return this.#putting.get(keyOf(space))
  }

  async run<T>(space: Space, work: () => Promise<T>): Promise<T> {
    const key = keyOf(space)
    const before = this.#putting.get(key) ?? Promise.resolve()
    const turn = before.catch(() => {}).then(work)
    this.#putting.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#putting.get(key) === turn) this.#putting.delete(key)
    }
  }
}
