// Owns: how a call is settled: the row that says so, and when that is written.
// Invariant: I1 the row is in the run's buffer before anything its result causes.
import type { FailureData } from '../../model/errors.ts'
import * as limits from '../../model/limits.ts'
import { errorOf, parseResult } from '../../model/replay/answers.ts'
import type { Settled } from '../../model/replay/entry.ts'
import type { CallRecord } from '../../model/run/records.ts'
import type { IssuedCall } from '../call/call.ts'
import { answer, type Next, stop } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import type { Result } from './attempt.ts'
import { intent } from './intent-row.ts'
import { beatsOf, usedGrant } from './rows.ts'

export function receipt(visit: Visit, call: IssuedCall, record: CallRecord, result: Result): Next {
  const seq = visit.nextSeq()
  const settledAt = visit.clock.now()
  const { json: resultJson, externalId, usageJson } = result
  const receipt = { status: 'committed', seq, resultJson, externalId, usageJson } as const
  call.record = { ...record, ...receipt, settledAt }
  visit.append({ records: [call.record], events: beatsOf(visit, call) })
  return deliver(visit, { seq, ok: true, value: parseResult(resultJson) })
}

export function failed(
  visit: Visit,
  call: IssuedCall,
  record: CallRecord,
  failure: FailureData,
): Next {
  const seq = visit.nextSeq()
  const settledAt = visit.clock.now()
  const errorJson = JSON.stringify(failure)
  call.record = { ...record, status: 'failed', seq, errorJson, settledAt }
  visit.append({ records: [call.record] })
  return deliver(visit, { seq, ok: false, value: errorOf(record.tool, failure) })
}

/** Written with what the node does next; at once, if the result has to wait for its turn. */
function deliver(visit: Visit, settled: Settled): Next {
  if (visit.phase === 'running' && visit.order.comesNext(settled.seq)) visit.flushOnDelivery()
  else visit.log.flush()
  return answer(settled, false)
}

/** Refused before anything was sent, on record: a replay refuses it again. */
export function refuse(visit: Visit, call: IssuedCall, why: string): Next {
  visit.secure()
  const failure: FailureData = {
    kind: 'refused',
    name: 'Gate',
    code: 'GATE_REFUSED',
    message: why,
  }
  const record = { ...intent(visit, call), attempt: 0 }
  visit.append({ decisions: usedGrant(visit, call) })
  return failed(visit, call, record, failure)
}

/** A pure call: its one row, with its result. */
export function settlePure(
  visit: Visit,
  call: IssuedCall,
  result: Result | null,
  failure: FailureData | null,
): Next {
  if (visit.log.lost) return stop
  const seq = visit.nextSeq()
  const record: CallRecord = {
    ...intent(visit, call),
    status: failure ? 'failed' : 'committed',
    seq,
    inputJson: null,
    resultJson: result?.json ?? null,
    externalId: result?.externalId ?? null,
    usageJson: result?.usageJson ?? null,
    errorJson: failure && JSON.stringify(failure),
    attempt: call.tries,
    settledAt: visit.clock.now(),
  }
  visit.reach()
  visit.append({ records: [record], events: failure ? [] : beatsOf(visit, call) })
  if (call.grant) visit.append({ decisions: usedGrant(visit, call) })
  const value = failure ? errorOf(record.tool, failure) : parseResult(record.resultJson)
  // What was dear goes to the committer before its delivery is queued (D12). Nobody waits for it,
  // but where a commit is one turn (SQLite) it is durable before the node can act on it.
  if (record.usageJson !== null || call.tookMs > limits.dearMs) visit.log.flush()
  else visit.log.flushLater()
  return answer({ seq, ok: failure === null, value }, false)
}
