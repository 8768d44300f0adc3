// Owns: the idempotency key of a call: made once, holding still, for one input (key-book.ts).

import { type CounterfoilError, errorFor, failureOf } from '../../model/errors.ts'
import { sha256, wellFormed } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { type CallRecord, isHeld } from '../../model/run/records.ts'
import { isRecordedKey, type ToolRules } from '../../model/tool/tool.ts'
import { knownOf } from '../attempt/rows.ts'
import type { Visit } from '../visit/visit.ts'
import type { IssuedCall } from './call.ts'

type KeyFunction = NonNullable<ToolRules['idempotencyKey']>

/**
 * The key to send with, or why there is none: it does not hold still, or stands for another input.
 */
export type KeyFound = { key: string | null } | { refused: Error } | { conflict: true }

/** Whether an earlier visit of the run may have used the key: nothing of it is loaded here. */
export function mayBeUsed(visit: Visit, call: IssuedCall): boolean {
  const { tool, record } = call
  const fresh = record === null || isHeld(record)
  const make = tool.rules.idempotencyKey
  return fresh && make !== null && !isRecordedKey(make) && visit.run.visit > 1
}

/** Of what the upstream sees with the key: a person may have edited it. */
export function hashToSend({ editedJson, inputHash }: IssuedCall): string {
  return editedJson === null ? inputHash : sha256(editedJson)
}

/** The recorded key whatever its function says now, or a new one. */
export function findKey(visit: Visit, call: IssuedCall): KeyFound {
  const { tool, record } = call
  const make = tool.rules.idempotencyKey
  if (record !== null && !isHeld(record)) {
    noteMoved(visit, call, record)
    return { key: record.idempotencyKey }
  }
  if (make === null) return { key: null }
  const before = unresolvedKey(visit, call)
  if (before !== null) return { key: before }
  const key = isRecordedKey(make) ? visit.clock.uuid() : stableKey(visit, call, make)
  if (key instanceof Error) return { refused: key }
  return visit.keys.take(tool.name, key, hashToSend(call)) ? { key } : { conflict: true }
}

/** Nobody knows what became of it: what is sent again has the same key while that is known. */
function unresolvedKey(visit: Visit, call: IssuedCall): string | null {
  const { retries } = call
  if (!retries?.unresolved) return null
  const { keyWindow } = knownOf(visit, call, retries)
  return keyWindow === 'open' ? retries.idempotencyKey : null
}

function stableKey(visit: Visit, call: IssuedCall, make: KeyFunction): string | Error {
  const input = call.editedJson ?? call.inputJson
  const keys = [0, 1].map(() => compute(visit, call, make, input))
  const [first] = keys
  if (first instanceof Error) return first
  if (typeof first === 'string' && first !== '' && first === keys[1]) {
    const key = wellFormed(first)
    return isKeepable(key) ? key : notKeepable(call, key)
  }
  return errorFor(
    'KEY_UNSTABLE',
    call.tool.name,
    `gave ${JSON.stringify(keys[0])} and then ${JSON.stringify(keys[1])} for the same call; ` +
      'nothing was sent. Make it of the input and the run alone, or use recordedKey()',
    { keys },
  )
}

function noteMoved(visit: Visit, call: IssuedCall, record: CallRecord): void {
  const make = call.tool.rules.idempotencyKey
  if (make === null || record.idempotencyKey === null || isRecordedKey(make)) return
  const now = compute(visit, call, make, record.inputJson ?? call.inputJson)
  if (now === record.idempotencyKey) return
  const is = now instanceof Error ? now.message : now
  const data = { tool: record.tool, was: record.idempotencyKey, is }
  visit.append({ events: [visit.event('key_moved', data)] })
}

function compute(
  { run: { runId, node, visit } }: Visit,
  call: IssuedCall,
  make: KeyFunction,
  inputJson: string,
): string | Error {
  const { occurrence } = call.retries ?? call
  try {
    return make(JSON.parse(inputJson), { runId, node, visit, occurrence })
  } catch (error) {
    const { message } = failureOf(error, 'failed')
    return errorFor('KEY_UNSTABLE', call.tool.name, `threw: ${message}`)
  }
}

/** Whether every store keeps it as it is: what is sent again must be what was sent. */
function isKeepable(key: string): boolean {
  return key.length <= limits.keyLengthMax && !key.includes('\0')
}

function notKeepable({ tool: { name } }: IssuedCall, key: string): CounterfoilError {
  const why =
    `gave ${key.length} characters; at most ${limits.keyLengthMax} can be recorded, none of them ` +
    'a NUL; nothing was sent. Hash what it is made of'
  return errorFor('KEY_UNSTABLE', name, why)
}
