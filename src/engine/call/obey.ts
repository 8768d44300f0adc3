// What a person has decided about a call, or about its place, is done.
import { keptText } from '../../model/json/canonical.ts'
import { ruledRecord } from '../../model/replay/answers.ts'
import type { Entry, Settled } from '../../model/replay/entry.ts'
import type { CallRecord, Decision } from '../../model/run/records.ts'
import { occurrenceOf } from '../../model/run/scope.ts'
import { externalIdOf } from '../attempt/attempt.ts'
import { intent } from '../attempt/intent-row.ts'
import type { Visit } from '../visit/visit.ts'
import type { IssuedCall } from './call.ts'
import { checked } from './checked.ts'
import { first } from './judge.ts'
import { answer, askIt, doubtIt, type Next, sendIt, stop, until } from './next.ts'
import { copiedRow, copyOf, isCopied } from './placed.ts'
import { checkEdit, checkOf, noteUnusable } from './ruling.ts'

export function obey(visit: Visit, call: IssuedCall): Next {
  const { entry, ruling } = call
  if (entry?.ruling) {
    return obeyAnswer(visit, call, entry.settled, ruledRecord(entry, visit.clock.now()))
  }
  if (entry?.grant) return obeyGrant(visit, call, entry, entry.grant)
  if (ruling?.settled) {
    const { settled, decision } = ruling
    const at = visit.clock.now()
    const row = isCopied(decision) ? copiedRow(intent(visit, call), settled, at) : null
    return obeyAnswer(visit, call, settled, row)
  }
  const send = visit.match.takeSend(ruling)
  return send ? obeySend(visit, call, send.decision) : stop
}

/**
 * One send is allowed of a call that has no record yet; what the risk policy says still holds.
 */
function obeySend(visit: Visit, call: IssuedCall, grant: Decision): Next {
  call.grant = grant
  // The failed record keeps its number: what is tried again has a record of its own.
  if (grant.reason === 'failed') call.renumber(occurrenceOf(grant.decisionId, 0))
  return first(call) ?? (visit.policy ? { do: 'consult' } : sendIt(grant))
}

/** Of what was recorded, or of what a person has put in its place; asked again if it is unfit. */
function obeyGrant(visit: Visit, call: IssuedCall, entry: Entry, grant: Decision): Next {
  if (grant.kind !== 'approval') return sendIt(grant)
  const pass = () => {
    call.passed = true
    return sendIt(grant)
  }
  const { input: schema } = call.tool.rules
  if (grant.outcome !== 'edit' || grant.resultJson === null) return pass()
  const edited = JSON.parse(grant.resultJson)
  const check = async () => keptText(schema ? await checkEdit(call, schema, edited) : edited)
  const accept = (json: string) => {
    call.editedJson = json
    return visit.phase === 'running' ? pass() : stop
  }
  return checked(visit, check(), accept, (error) => {
    if (visit.phase !== 'running') return stop
    entry.grant = null
    noteUnusable(visit, call, error)
    return askIt
  })
}

/** A person's result is checked like a tool's: one that does not fit is asked for again. */
function obeyAnswer(
  visit: Visit,
  call: IssuedCall,
  settled: Settled | null,
  record: CallRecord | null,
): Next {
  if (settled === null) return stop
  const accept = (value: unknown): Next => {
    const externalId = settled.ok ? externalIdOf(call.tool, value) : null
    const resultJson = settled.ok && value !== undefined ? keptText(value) : null
    if (record) visit.append({ records: [{ ...record, resultJson, externalId }] })
    const given = answer({ ...settled, value }, true)
    return record && call.alike.length > 0 ? whenDurable(visit, given) : given
  }
  const check = settled.ok ? checkOf(call, settled.value) : null
  if (check === null) return accept(settled.value)
  return checked(visit, Promise.resolve().then(check), accept, (error) => {
    const reason = noteUnusable(visit, call, error)
    if (call.entry) call.entry.ruling = null
    return call.ask ? askIt : doubtIt(reason)
  })
}

/** The result of another call answers this one too: with a row of its own, and nothing is sent. */
export function copy(visit: Visit, call: IssuedCall): Next {
  const source = call.placed?.answer
  if (!source) return stop
  const { settled, changes } = copyOf(visit, call, source, intent(visit, call))
  visit.secure()
  visit.append(changes)
  // Whoever looks for a free record next must find that this one is taken.
  return whenDurable(visit, answer(settled, true))
}

function whenDurable(visit: Visit, next: Next): Next {
  return until('writing', (go) => visit.log.durable(() => go(next)))
}
