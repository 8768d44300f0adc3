// What is asked for after the end is refused.
import { errorFor } from '../../model/errors.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from './visit.ts'

/**
 * The node is over: what its code still asks for is refused, and said. In a turn of its own, so
 * that a loop which catches everything cannot starve the process.
 */
export function refuseLate(visit: Visit, call: IssuedCall): IssuedCall {
  const { run, clock, store } = visit
  const error = errorFor('NODE_ENDED', call.tool.name, run)
  clock.turn(() => call.reject(error))
  const event = visit.event('call_refused', { tool: call.tool.name, message: error.message })
  // The refusal itself does not depend on its event.
  store.amend(run, 'client', () => ({ changes: { events: [event] }, value: null })).catch(() => {})
  return call
}
