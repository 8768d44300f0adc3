// Failpoints: every call of a store is a place to die, before it and after it. The caller decides
// what happens there; a test kills its own process, for real.
import type { Store } from '../store/store.ts'

const points = [
  'start',
  'load',
  'commit',
  'amend',
  'register',
  'renew',
  'claim',
  'declareDead',
  'stopWorker',
  'putStep',
  'putWrites',
  'loadSteps',
  'pruneSteps',
  'dropThread',
] as const

/**
 * Calls `hit` before and after every call of the store that matters for recovery. The store is
 * changed in place, so that whatever was composed of it passes here too.
 */
export function addFailpoints(store: Store, hit: (name: string) => void): void {
  for (const name of points) {
    const original = store[name] as (...args: unknown[]) => Promise<unknown>
    const wrapped = async (...args: unknown[]) => {
      hit(`before ${name}`)
      const value = await original.apply(store, args)
      hit(`after ${name}`)
      return value
    }
    Object.assign(store, { [name]: wrapped })
  }
}
