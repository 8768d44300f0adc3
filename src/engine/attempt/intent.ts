// Owns: what precedes an attempt of a call that is not pure: its key, its place in line, and its
// intent, which is acknowledged before the call is sent (send.ts).
// Invariants: I1 and I4: nothing is dispatched before its intent is acknowledged. I5: an unsafe
// call is attempted again only under a decision, which the new intent consumes.
import { randomHex } from '../../clock.ts'
import type { Decision } from '../../model/run/records.ts'
import type { IssuedCall } from '../call/call.ts'
import { findKey, hashToSend, mayBeUsed } from '../call/keys.ts'
import { deny, doubtIt, judgeIt, type Next, stop, until } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import { intent } from './intent-row.ts'
import { type Slot, unlimited } from './rate-limit.ts'
import { attemptRow, isTooLate } from './rows.ts'
import { reportNotSent, send } from './send.ts'

export function attempt(visit: Visit, call: IssuedCall, grant: Decision | null): Next {
  const found = findKey(visit, call)
  if ('refused' in found) return deny(found.refused)
  if ('conflict' in found) return doubtIt('key_conflict')
  const { key } = found
  if (key === null || !mayBeUsed(visit, call)) return inLine(visit, call, grant, key)
  const used = (input: string | null): Next => {
    if (input !== null && input !== hashToSend(call)) return doubtIt('key_conflict')
    return visit.phase === 'running' ? inLine(visit, call, grant, key) : stop
  }
  return until('keyed', (go) => {
    visit.store.keyInput(visit.run, call.tool.name, key).then(
      (input) => go(used(input)),
      (error) => visit.log.lose(error),
    )
  })
}

/** When its rate-limit class has room; a visit that parks meanwhile gives its slot back. */
function inLine(visit: Visit, call: IssuedCall, grant: Decision | null, key: string | null): Next {
  if (call.tool.rules.rateLimit === null) return write(visit, call, grant, key, unlimited)
  return until('lined', (go) => {
    visit.limits.when(call.tool, (slot) => {
      if (visit.phase === 'running') return go(write(visit, call, grant, key, slot))
      slot.free()
      go(stop)
    })
  })
}

/** The intent, with all that it consumes; the call is sent once it is acknowledged. */
function write(
  visit: Visit,
  call: IssuedCall,
  grant: Decision | null,
  key: string | null,
  slot: Slot,
): Next {
  if (grant === null && isTooLate(visit, call)) {
    // Its place in the line came too late.
    slot.free()
    return judgeIt
  }
  visit.secure()
  if (call.entry) call.entry.grant = null
  if (grant?.outcome === 'did_not_happen') call.unknownBefore = 0
  const { callbackMs } = call.tool.rules
  const token = callbackMs === null ? null : `cb_${randomHex(32)}`
  call.dispatchedAt = visit.clock.now()
  call.firstSentAt ??= call.dispatchedAt
  if (callbackMs !== null) call.dueAt = call.dispatchedAt + callbackMs
  const record = intent(visit, call, key)
  call.tries++
  const attempt = attemptRow(visit, call, record, token)
  visit.append({ records: [record], attempts: [attempt] })
  if (grant) visit.append({ decisions: [{ ...grant, usedBy: attempt.attemptId }] })
  const { attemptId: id } = attempt
  const sending = { record, attempt, id, slot, token, granted: grant !== null }
  return until('writing', (go) => {
    visit.log.durable(
      () => go(send(visit, call, sending)),
      () => {
        slot.free()
        reportNotSent(visit, attempt, 'the run was lost before the intent was acknowledged')
      },
    )
  })
}
