// The record of a call before it is settled, made where its key is noted and it is the call's own.
import type { CallRecord } from '../../model/run/records.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from '../visit/visit.ts'
import { intentRow } from './rows.ts'

/** The record that precedes an attempt or a question. */
export function intent(
  visit: Visit,
  call: IssuedCall,
  idempotencyKey: string | null = null,
): CallRecord {
  const record = intentRow(visit, call, idempotencyKey)
  const { standsFor = [] } = call.risk
  if (call.record === null && standsFor.length > 0) {
    const data = { tool: record.tool, callId: call.callId, standsFor }
    visit.append({ events: [visit.event('collapsed', data)] })
  }
  call.record = record
  visit.keys.note(record)
  return record
}
