// A call whose input is valid gets its key, and the record that is its own, if there is one.
import { keptText, sha256 } from '../../model/json/canonical.ts'
import type { Entry } from '../../model/replay/entry.ts'
import { stricter } from '../../model/tool/tool.ts'
import type { Visit } from '../visit/visit.ts'
import type { IssuedCall } from './call.ts'
import { judgeIt, type Next } from './next.ts'
import { findEntry, numberCall } from './placed.ts'

/** `once`: the calls of this visit that are made once, by tool and input. */
export function admit(
  { match }: Visit,
  once: Map<string, IssuedCall>,
  call: IssuedCall,
  input: unknown,
): Next {
  call.inputJson = keptText(input === undefined ? null : input)
  call.inputHash = sha256(call.inputJson)
  if (call.tool.rules.oncePerVisit) {
    const key = `${call.tool.name}/${call.inputHash}`
    if (once.has(key)) return { do: 'follow', key }
    once.set(key, call)
  }
  numberCall(match, call)
  const own = match.entries.get(call.key)
  call.entry = findEntry(match, call)
  if (own?.retried) {
    call.retries = own.record
    if (call.entry) call.renumber(call.entry.record.occurrence)
  }
  return call.entry ? { do: 'claim', entry: call.entry } : judgeIt
}

/** The record is the call's from now on. */
export function claim(visit: Visit, call: IssuedCall, entry: Entry): void {
  const { record, unknownAttempts } = entry
  const { tool } = call
  visit.match.claim(entry)
  call.record = record
  call.unknownBefore = unknownAttempts
  call.replayClass = stricter(record.replayClass, tool.replayClass)
  if (record.replayClass === tool.replayClass) return
  const data = { tool: tool.name, was: record.replayClass, is: tool.replayClass }
  visit.append({ events: [visit.event('class_changed', data)] })
}
