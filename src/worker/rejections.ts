// A rejection that nobody handles would end the process and with it every run of this worker. One
// that comes from a node is its run's failure instead; any other keeps Node's own meaning.
import { currentVisit, type Visit } from '../engine/visit/visit.ts'

const visits = new WeakMap<Promise<unknown>, Visit>()
let watching = false

/**
 * For the rest of the process: a visit that was parked may reject long after its worker has
 * stopped.
 */
export function watchRejections(): void {
  if (watching) return
  watching = true
  process.on('unhandledRejection', onUnhandled)
  process.on('rejectionHandled', onHandled)
}

function onUnhandled(reason: unknown, promise: Promise<unknown>): void {
  const visit = currentVisit.getStore()
  if (visit) {
    visits.set(promise, visit)
    visit.unhandled.set(promise, reason)
    return
  }
  // Without another listener Node would have ended the process: so does this.
  if (process.listenerCount('unhandledRejection') === 1) throw reason
}

function onHandled(promise: Promise<unknown>): void {
  visits.get(promise)?.unhandled.delete(promise)
}
