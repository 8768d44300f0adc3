// A limit on waiting that leaves no timer behind.
import type { Clock } from '../clock.ts'

/** What `work` gives; rejects if it has not ended after `ms`. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)))
    work.then(resolve, reject).finally(cancel)
  })
}
