// The verdict on a call, and what is to be done about it.
import { askKey } from '../../model/replay/entry.ts'
import { type Verdict, verdict } from '../../model/replay/verdict.ts'
import { isHeld } from '../../model/run/records.ts'
import { knownOf } from '../attempt/rows.ts'
import type { Visit } from '../visit/visit.ts'
import { type IssuedCall, triesSpent } from './call.ts'
import { checked } from './checked.ts'
import { answer, askIt, deny, doubtIt, judgeIt, type Next, sendIt, stop } from './next.ts'

/**
 * While parking nothing is answered or sent, but a person should see all doubts at once, and what a
 * probe has learnt is kept.
 */
const whileParking: readonly Verdict['do'][] = ['doubt', 'stay_parked', 'record_probe']

export function judge(visit: Visit, call: IssuedCall, quiet: boolean): Next {
  if (visit.phase === 'closed') return stop
  const said = verdictOn(visit, call, quiet)
  if (visit.phase !== 'running' && !whileParking.includes(said.do)) return stop
  if (sendsUndecided(call, said)) {
    if (call.unasked) return doubtIt('unknown')
    const first = call.cleared ? null : doubtFirst(visit, call)
    if (first) return first
  }
  return nextOf(visit, call, said)
}

function verdictOn(visit: Visit, call: IssuedCall, quiet: boolean): Verdict {
  const { match, opening } = visit
  const { entry, record, ruling } = call
  const placed = record === null && (ruling?.settled != null || match.canSend(ruling))
  return verdict({
    replayClass: call.replayClass,
    decided: placed || (entry?.ruling ?? entry?.grant ?? null) !== null,
    record: record && knownOf(visit, call, record),
    unmatched: match.hasUnclaimed(),
    quiet,
    unresolved: opening.unresolved.has(askKey(call.subject)),
    alike: call.placed?.answer ? 'answers' : call.alike.length > 0 ? 'asks' : 'none',
    probe: call.probed,
  })
}

/**
 * Whether something that is not pure would be sent without a person's word about its doubt. That of
 * the risk policy is none: it was asked whether the call may be made, not what else is open.
 */
function sendsUndecided(call: IssuedCall, said: Verdict): boolean {
  if (call.replayClass === 'pure' || call.wait !== null || call.ask !== null) return false
  if (said.do === 'obey') return call.entry?.grant?.kind === 'approval'
  return said.do === 'dispatch' || said.do === 'resend'
}

/** Nothing is sent while a person has to decide something else first. */
function doubtFirst(visit: Visit, call: IssuedCall): Next | null {
  const asked = visit.doubtBefore()
  if (asked === null) return null
  call.cleared = true
  return checked(
    visit,
    asked,
    (item) => {
      if (item === null) return judgeIt
      visit.doubt(item, {})
      return { do: 'stay', state: 'in_doubt' }
    },
    deny,
  )
}

function nextOf(visit: Visit, call: IssuedCall, said: Verdict): Next {
  switch (said.do) {
    case 'obey':
    case 'copy':
    case 'probe':
    case 'record_probe':
    case 'doubt':
      return said
    case 'return':
    case 'throw':
      return call.entry?.settled ? answer(call.entry.settled, true) : stop
    case 'stay_parked':
      return doubtIt('unknown')
    case 'wait_for_quiet':
      return { do: 'hold' }
    case 'wait_for_callback': {
      const isAsked = call.ask !== null || (call.record !== null && isHeld(call.record))
      return isAsked ? askIt : { do: 'await_callback' }
    }
    case 'dispatch':
      return first(call) ?? (asksPolicy(visit, call) ? { do: 'consult' } : sendIt(null))
    case 'resend':
      return triesSpent(call) ? doubtIt('unknown') : sendIt(null)
  }
}

function asksPolicy(visit: Visit, call: IssuedCall): boolean {
  return visit.policy !== null && !call.passed && call.record === null
}

/** What becomes of a call that is made for the first time, unless it has an effect. */
export function first(call: IssuedCall): Next | null {
  if (call.wait) return { do: 'wait' }
  if (call.ask) return askIt
  return call.replayClass === 'pure' ? { do: 'send_pure' } : null
}
