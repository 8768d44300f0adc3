// What is asked for after the end is refused.
import { CounterfoilError } from '../../model/errors.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from './visit.ts'

/**
 * The node is over: what its code still asks for is refused, and said. In a turn of its own, so
 * that a loop which catches everything cannot starve the process.
 */
export function refuseLate(visit: Visit, call: IssuedCall): IssuedCall {
  const { run, clock, store } = visit
  const message =
    `${call.tool.name} was called after node ${run.node} of run ${run.runId} had ended; ` +
    'await every branch before the node returns'
  clock.turn(() => call.reject(new CounterfoilError('NODE_ENDED', message)))
  const event = visit.event('call_refused', { tool: call.tool.name, message })
  // The refusal itself does not depend on its event.
  store.amend(run, 'client', () => ({ changes: { events: [event] }, value: null })).catch(() => {})
  return call
}
