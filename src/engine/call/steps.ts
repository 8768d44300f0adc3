// What each step of a call does, by its name. A step answers what is to be done next (next.ts).
import { ask, doubt } from '../ask/ask.ts'
import { consult } from '../ask/risk.ts'
import { attempt } from '../attempt/intent.ts'
import { probe, recordProbe } from '../attempt/probe.ts'
import { sendPure } from '../attempt/pure.ts'
import { refuse } from '../attempt/receipt.ts'
import type { Visit } from '../visit/visit.ts'
import { awaitIt, beginWait } from '../wait/waits.ts'
import type { IssuedCall } from './call.ts'
import { judge } from './judge.ts'
import type { Next, Step } from './next.ts'
import { copy, obey } from './obey.ts'

export function take(visit: Visit, call: IssuedCall, step: Step): Next {
  switch (step.do) {
    case 'judge':
      return judge(visit, call, step.quiet === true)
    case 'obey':
      return obey(visit, call)
    case 'copy':
      return copy(visit, call)
    case 'wait':
      return beginWait(visit, call)
    case 'await_callback':
      return awaitIt(visit, call)
    case 'consult':
      return consult(visit, call)
    case 'ask':
      return ask(visit, call)
    case 'doubt':
      return doubt(visit, call, step.reason)
    case 'refuse':
      return refuse(visit, call, step.why)
    case 'probe':
      return probe(visit, call)
    case 'record_probe':
      return recordProbe(visit, call)
    case 'send_pure':
      return sendPure(visit, call)
    case 'send':
      return attempt(visit, call, step.grant)
  }
}
