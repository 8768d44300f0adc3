// Calls that have a place of their own: where a host says which call it is, by an id and not by the
// order in which it makes them. It may come back for some of its calls only, and in another order.

import { parseResult } from '../../model/replay/answers.ts'
import type { Entry, Settled } from '../../model/replay/entry.ts'
import { type CallRecord, callKey, type Decision, keyOf } from '../../model/run/records.ts'
import { occurrenceOf } from '../../model/run/scope.ts'
import type { Changes } from '../../store/store.ts'
import type { Visit } from '../visit/visit.ts'
import type { IssuedCall } from './call.ts'
import type { Match, Place } from './match.ts'

/** What a person says of the call is bound to its id, however many calls come before it. */
export function placeOf(tool: string, callId: string | null): Place {
  return { tool, nth: occurrenceOf(callId ?? '', 0) }
}

/** A call is known by what it asks for, and by its host's id or by how often it was made before. */
export function numberCall(match: Match, call: IssuedCall): void {
  const { tool, callId, inputHash } = call
  do {
    call.renumber(
      callId === null
        ? match.nextOccurrence(tool.name, inputHash)
        : occurrenceOf(callId, match.nextOccurrence(tool.name, `${inputHash}/${callId}`)),
    )
  } while (match.isTaken(call.key))
  call.ruling = match.rulingOn(call.key, call.place)
}

/** The record that answers the call: its own, or the only free one by another id of it. */
export function findEntry(match: Match, call: IssuedCall): Entry | null {
  const own = match.find(call)
  if (own !== null || call.placed === null) return own
  const keys = (call.placed.aliases ?? []).map((id) =>
    callKey(call.tool.name, call.inputHash, occurrenceOf(id, 0)),
  )
  const other = match.onlyFree(keys)
  if (other) call.renumber(other.record.occurrence)
  // The same place with another input: its record is not one that is over and done with.
  else match.recall(call.place)
  return other
}

/** The row of a call that is answered with another's result: nothing was sent for it. */
export function copiedRow(intent: CallRecord, settled: Settled, at: number): CallRecord {
  return { ...intent, status: 'committed', attempt: 0, seq: settled.seq, settledAt: at }
}

/** A person gave another call's result to this one: that is its receipt from now on. */
export function isCopied({ reason, outcome }: Decision): boolean {
  return reason === 'same_effect' && outcome === 'use_record'
}

/** The same words have a receipt: its result answers this call too, which gets its own row. */
export function copyOf(
  visit: Visit,
  { callId }: IssuedCall,
  answer: CallRecord,
  intent: CallRecord,
): { settled: Settled; changes: Changes } {
  const { resultJson, externalId } = answer
  const settled = { seq: visit.nextSeq(), ok: true, value: parseResult(resultJson) }
  const row = { ...copiedRow(intent, settled, visit.clock.now()), resultJson, externalId }
  const event = visit.event('copied', { tool: row.tool, callId, from: keyOf(answer) })
  return { settled, changes: { records: [row], events: [event] } }
}
