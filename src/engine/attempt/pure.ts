// A pure call: no intent, sent at once; its receipt follows when it is convenient.
import { type IssuedCall, triesSpent } from '../call/call.ts'
import { checked } from '../call/checked.ts'
import { deny, type Go, type Next, stop, until } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import { type AttemptEnd, certainEnd, type Result } from './attempt.ts'
import { rest } from './ended.ts'
import { settlePure } from './receipt.ts'
import { livePure } from './rows.ts'
import { run } from './send.ts'
import { findShared, share } from './share.ts'

export function sendPure(visit: Visit, call: IssuedCall): Next {
  if (call.tool.rules.shareMs === null || call.tries > 0) return inLine(visit, call)
  const use = (result: Result | null): Next => {
    if (visit.phase !== 'running') {
      share(visit, call, null)
      return stop
    }
    if (result === null) return inLine(visit, call)
    visit.append({ events: [visit.event('call_shared', { tool: call.tool.name })] })
    return settlePure(visit, call, result, null)
  }
  return checked(visit, findShared(visit, call), use, () => inLine(visit, call))
}

function inLine(visit: Visit, call: IssuedCall): Next {
  const sent = until('sent', (go) => runPure(visit, call, go))
  if (call.tool.rules.rateLimit === null) return sent
  return until('lined', (go) => {
    visit.limits.when(call.tool, (slot) => {
      if (visit.phase === 'running') slot.sent()
      else slot.free()
      go(visit.phase === 'running' ? sent : stop)
    })
  })
}

function runPure(visit: Visit, call: IssuedCall, go: Go): void {
  call.tries++
  const sentAt = visit.clock.mono()
  run(visit, call, livePure(visit, call), () => {}).then((end) => {
    call.tookMs += visit.clock.mono() - sentAt
    go(endedPure(visit, call, end))
  })
}

function endedPure(visit: Visit, call: IssuedCall, end: AttemptEnd): Next {
  if ('withdrawn' in end && end.withdrawn) {
    share(visit, call, null)
    return deny(end.withdrawn.cause)
  }
  const landed = end.outcome === 'landed' ? end.result : null
  const spent = landed !== null || end.outcome === 'refused' || triesSpent(call)
  if (spent) share(visit, call, landed)
  if (landed) return settlePure(visit, call, landed, null)
  if (!spent) return rest(visit, call, { do: 'send_pure' })
  return settlePure(visit, call, null, { ...certainEnd(end).failure, kind: 'failed' })
}
