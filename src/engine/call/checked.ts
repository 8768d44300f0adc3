// A look at something that sends nothing: it does not hold up a park.
import type { Visit } from '../visit/visit.ts'
import { type Next, stop, until } from './next.ts'

/**
 * A visit that is over by then has nothing to say any more: its log may be another visit's.
 */
export function checked<T>(
  visit: Visit,
  work: Promise<T>,
  then: (value: T) => Next,
  failed: (error: Error) => Next,
): Next {
  const open = <V>(fn: (value: V) => Next) => {
    return (value: V) => (visit.phase === 'closed' ? stop : fn(value))
  }
  return until('checked', (go) => {
    work.then(open(then)).catch(open(failed)).then(go)
  })
}
