// Owns: the idempotency keys of a visit: made once, holding still, each for one input.

import { type CounterfoilError, errorFor, failureOf } from '../../model/errors.ts'
import { sha256, wellFormed } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { type CallRecord, isHeld, sentHash } from '../../model/run/records.ts'
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

export class Keys {
  private readonly visit: Visit
  /** Which input a key of this run stands for. */
  private readonly inputs = new Map<string, string>()

  constructor(visit: Visit) {
    this.visit = visit
    for (const { record } of visit.match.entries.values()) this.note(record)
  }

  note(record: CallRecord): void {
    const { tool, idempotencyKey } = record
    if (idempotencyKey !== null) this.inputs.set(`${tool}\n${idempotencyKey}`, sentHash(record))
  }

  /** The recorded key whatever its function says now, or a new one. */
  find(call: IssuedCall): KeyFound {
    const make = call.tool.rules.idempotencyKey
    if (call.record !== null && !isHeld(call.record)) {
      this.noteMoved(call, call.record)
      return { key: call.record.idempotencyKey }
    }
    if (make === null) return { key: null }
    const before = this.unresolvedKey(call)
    if (before !== null) return { key: before }
    const key = isRecordedKey(make) ? this.visit.clock.uuid() : this.stable(call, make)
    if (key instanceof Error) return { refused: key }
    const place = `${call.tool.name}\n${key}`
    const input = this.inputs.get(place)
    const sent = hashToSend(call)
    if (input !== undefined && input !== sent) return { conflict: true }
    // From here on, not from its intent: a parallel call may ask before that is written.
    this.inputs.set(place, sent)
    return { key }
  }

  /** Nobody knows what became of it: what is sent again has the same key while that is known. */
  private unresolvedKey(call: IssuedCall): string | null {
    const { retries } = call
    if (!retries?.unresolved) return null
    const { keyWindow } = knownOf(this.visit, call, retries)
    return keyWindow === 'open' ? retries.idempotencyKey : null
  }

  private stable(call: IssuedCall, make: KeyFunction): string | Error {
    const input = call.editedJson ?? call.inputJson
    const keys = [0, 1].map(() => this.compute(call, make, input))
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

  private noteMoved(call: IssuedCall, record: CallRecord): void {
    const make = call.tool.rules.idempotencyKey
    if (make === null || record.idempotencyKey === null || isRecordedKey(make)) return
    const now = this.compute(call, make, record.inputJson ?? call.inputJson)
    if (now === record.idempotencyKey) return
    const is = now instanceof Error ? now.message : now
    const data = { tool: record.tool, was: record.idempotencyKey, is }
    this.visit.append({ events: [this.visit.event('key_moved', data)] })
  }

  private compute(call: IssuedCall, make: KeyFunction, inputJson: string): string | Error {
    const { runId, node, visit } = this.visit.run
    const { occurrence } = call.retries ?? call
    try {
      return make(JSON.parse(inputJson), { runId, node, visit, occurrence })
    } catch (error) {
      const { message } = failureOf(error, 'failed')
      return errorFor('KEY_UNSTABLE', call.tool.name, `threw: ${message}`)
    }
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
