// Owns: what follows from how an attempt ended: its receipt, a certain failure, another try, or the
// verdict once more.
// Invariant: G2: a call has failed for certain only if every attempt did.
import type { Attempt, CallRecord } from '../../model/run/records.ts'
import { type IssuedCall, triesSpent } from '../call/call.ts'
import { deny, judgeIt, type Next, stop, until } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import { type AttemptEnd, backoffMs } from './attempt.ts'
import { failed, receipt } from './receipt.ts'

/** `hasDeferred`: its upstream may call back, though its function has thrown since. */
export function ended(
  visit: Visit,
  call: IssuedCall,
  attempt: Attempt,
  end: AttemptEnd,
  hasDeferred: boolean,
): Next {
  const { record } = call
  if (record === null) return stop
  // The receipt says how a landed attempt ended; a row of its own would be the same again.
  if (end.outcome === 'landed') return receipt(visit, call, record, end.result)
  if (end.outcome === 'deferred') return deferred(visit, call, record, attempt)
  const { outcome, failure } = end
  const running = outcome === 'unknown' && end.running
  const over = running ? [] : [{ ...attempt, endedAt: visit.clock.now(), outcome }]
  // Nobody has the token of an attempt that did not defer: no callback can come.
  if (record.dueAt !== null && !running && !hasDeferred) expectNothing(visit, call, record)
  const data = { attempt_id: attempt.attemptId, outcome, message: failure.message }
  const event = visit.event('call_attempt_failed', data)
  const certain = outcome !== 'unknown' && call.unknownBefore === 0
  visit.append({ attempts: over, events: [event] })
  const { withdrawn } = end
  if (withdrawn) return withdraw(visit, withdrawn.cause)
  if (certain && (outcome === 'refused' || triesSpent(call))) {
    return failed(visit, call, record, failure)
  }
  if (outcome === 'unknown') call.unknownBefore++
  call.unrecorded = outcome === 'unknown' && end.answered ? failure.message : null
  if (call.probed !== 'none') call.probed = 'unasked'
  // An unsafe call is not tried again by itself; nor is any when its tries are spent.
  const ask = (call.replayClass === 'unsafe_on_replay' && !certain) || triesSpent(call)
  return ask ? judgeIt : rest(visit, call, judgeIt)
}

/** Its host makes it again: not before it is durable how far this attempt has come. */
function withdraw(visit: Visit, cause: unknown): Next {
  return until('writing', (go) => visit.log.durable(() => go(deny(cause))))
}

/** Its function has returned and its upstream is at work: the call waits for the callback. */
function deferred(visit: Visit, call: IssuedCall, record: CallRecord, attempt: Attempt): Next {
  const over = { ...attempt, endedAt: visit.clock.now(), outcome: 'unknown' as const }
  const data = { attempt_id: attempt.attemptId, due_at: record.dueAt }
  visit.append({ attempts: [over], events: [visit.event('call_deferred', data)] })
  visit.log.flush()
  call.unknownBefore++
  return judgeIt
}

function expectNothing(visit: Visit, call: IssuedCall, record: CallRecord): void {
  call.dueAt = null
  call.record = { ...record, dueAt: null }
  visit.append({ records: [call.record] })
}

/** Before the next attempt. A visit that parks waits for what is under way, and for no new try. */
export function rest(visit: Visit, call: IssuedCall, next: Next): Next {
  if (visit.phase !== 'running') return stop
  visit.log.flush()
  return until('resting', (go) => {
    const waitMs = backoffMs(call.tool, call.tries, visit.clock)
    visit.clock.after(waitMs, () => go(visit.phase === 'running' ? next : stop))
  })
}
