// Owns: the dispatch of an attempt whose intent is acknowledged, and whom its end is told: the
// call, as long as the run is ours, and the ledger by attempt id, whoever holds the run
// (evidence.ts).
import type { FailureData } from '../../model/errors.ts'
import type { Attempt, CallRecord } from '../../model/run/records.ts'
import { type IssuedCall, inputOf } from '../call/call.ts'
import { type Go, type Next, stop, until } from '../call/next.ts'
import { currentVisit, type Visit } from '../visit/visit.ts'
import { type AttemptEnd, type LiveCall, runOnce } from './attempt.ts'
import { ended } from './ended.ts'
import { reportEvidence } from './evidence.ts'
import { heartbeats } from './heartbeat.ts'
import type { Slot } from './rate-limit.ts'
import { isTooLate, liveCall, tooLate } from './rows.ts'

/** An attempt that is on record and not sent yet. */
export interface Sending {
  readonly record: CallRecord
  readonly attempt: Attempt
  /** The attempt's id, as it was recorded. */
  readonly id: string
  readonly slot: Slot
  /** What its upstream calls back with, if it is asynchronous. */
  readonly token: string | null
  /** A person has allowed it. */
  readonly granted: boolean
}

export function send(visit: Visit, call: IssuedCall, sending: Sending): Next {
  const { record, attempt, slot, granted } = sending
  if (!visit.lease.holds()) {
    slot.free()
    // It may have been taken over while this process stood still: the one thing known is that
    // this attempt was never sent.
    visit.log.lose('lease')
    reportNotSent(visit, attempt, 'the lease had ended before the call was sent')
    return stop
  }
  if (!granted && isTooLate(visit, call)) {
    slot.free()
    return ended(visit, call, attempt, { outcome: 'not_sent', failure: tooLate(call) }, false)
  }
  const live = liveCall(visit, call, record, sending.id, sending.token)
  return until('sent', (go) => runAttempt(visit, call, sending, live, go))
}

function runAttempt(
  visit: Visit,
  call: IssuedCall,
  { attempt: made, slot }: Sending,
  live: LiveCall,
  go: Go,
): void {
  let attempt = made
  live.onBeat = heartbeats(visit, (beat) => {
    attempt = { ...attempt, ...beat }
    return attempt
  })
  const release = visit.hold('function')
  const late = (end: AttemptEnd) => void reportEvidence(visit, attempt, end)
  const returned = () => {
    live.onBeat = () => {}
    release()
  }
  const returnedLate = (end: AttemptEnd) => {
    returned()
    late(end)
  }
  slot.sent()
  run(visit, call, live, returnedLate).then((end) => {
    // The run may be somebody else's by now, and its commit refused: what is known is still
    // reported. A function that has not returned has nothing to report yet.
    const running = end.outcome === 'unknown' && end.running
    if (!running) returned()
    const next = visit.log.lost ? stop : ended(visit, call, attempt, end, live.deferred)
    if (!running) {
      visit.log.watch(
        () => {},
        () => late(end),
      )
    }
    go(next)
  })
}

/**
 * In the visit's own context: an acknowledgement may come in a turn that belongs to another run.
 */
export function run(
  visit: Visit,
  call: IssuedCall,
  live: LiveCall,
  onLate: (end: AttemptEnd) => void,
): Promise<AttemptEnd> {
  const input = inputOf(call)
  return currentVisit.run(visit, () => runOnce(call.tool, input, live, visit.clock, onLate))
}

export function reportNotSent(visit: Visit, attempt: Attempt, message: string): void {
  const failure: FailureData = { kind: 'not_sent', name: 'LeaseLost', message }
  void reportEvidence(visit, attempt, { outcome: 'not_sent', failure })
}
