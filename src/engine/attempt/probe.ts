// Asking a tool whether an attempt of it has happened, and the receipt of one that has.
import { type IssuedCall, inputOf } from '../call/call.ts'
import { judgeIt, type Next, stop, until } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import { askProbe } from './attempt.ts'
import { receipt } from './receipt.ts'
import { liveCall } from './rows.ts'

export function probe(visit: Visit, call: IssuedCall): Next {
  const { record } = call
  if (record === null) return stop
  return until('probed', (go) => {
    const live = liveCall(visit, call, record)
    askProbe(call.tool, inputOf(call), live, visit.clock).then((said) => {
      call.probed = said.landed
      call.probeResult = said.landed === 'yes' ? said.result : null
      visit.append({
        events: [visit.event('probed', { tool: record.tool, landed: said.landed })],
      })
      visit.touch({ flush: true })
      go(judgeIt)
    })
  })
}

export function recordProbe(visit: Visit, call: IssuedCall): Next {
  const { record, probeResult } = call
  return record && probeResult ? receipt(visit, call, record, probeResult) : stop
}
