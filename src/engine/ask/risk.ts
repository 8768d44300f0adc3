// Owns: asking the risk policy about a call that would be sent for the first time, and what its
// answer leaves behind. Does not own: what follows (gate.ts).
// A policy that throws lets nothing pass: the call is refused, and nothing of it is recorded.
import { errorFor, failureOf } from '../../model/errors.ts'
import { cancelTool } from '../../model/replay/waits.ts'
import {
  type RiskCall,
  type RiskPolicy,
  type RiskReading,
  readAnswer,
} from '../../model/tool/risk.ts'
import type { IssuedCall } from '../call/call.ts'
import { checked } from '../call/checked.ts'
import { deny, judgeIt, type Next, sendIt, stop } from '../call/next.ts'
import type { Visit } from '../visit/visit.ts'
import { ask } from './ask.ts'
import { askAbout } from './ask-about.ts'

async function read(policy: RiskPolicy, visit: Visit, call: IssuedCall): Promise<RiskReading> {
  let answer: unknown
  try {
    answer = await policy(riskCall(visit, call))
  } catch (error) {
    const { message } = failureOf(error, 'failed')
    throw errorFor('GATE_FAILED', call.tool.name, message, error)
  }
  return readAnswer(call.tool.name, answer)
}

function riskCall({ run }: Visit, { tool, inputJson, risk, replayClass }: IssuedCall): RiskCall {
  const input = JSON.parse(inputJson)
  const { blastRadius, tags, amount } = tool.rules
  return {
    namespace: run.namespace,
    runId: run.runId,
    graph: run.graph,
    node: run.node,
    tool: tool.name,
    input,
    replayClass,
    blastRadius,
    tags,
    amount: risk.amount ?? amount?.(input) ?? null,
    confidence: risk.confidence ?? null,
  }
}

/** Before a first send: run, ask a person, or refuse. What it said is on record. */
export function consult(visit: Visit, call: IssuedCall): Next {
  if (visit.policy === null) return stop
  if (call.tool.name === cancelTool) return pass(call) // the policy knows users' tools alone
  const failed = (error: Error) => {
    if (visit.phase === 'running') note(visit, call, 'failed', error.message)
    return deny(error)
  }
  const obeyed = (reading: RiskReading) => obeyReading(visit, call, reading)
  // A policy sends nothing: one that takes its time holds up no pause.
  return checked(visit, read(visit.policy, visit, call), obeyed, failed)
}

function obeyReading(visit: Visit, call: IssuedCall, reading: RiskReading): Next {
  if (visit.phase !== 'running') return stop
  note(visit, call, reading.do, reading.do === 'refuse' ? reading.why : null)
  if (reading.do === 'refuse') return { do: 'refuse', why: reading.why }
  // What is held waits for a person, whatever the policy has come to think of it since.
  if (reading.do === 'run' && call.record === null) return pass(call)
  call.ask = askAbout(call, reading.do === 'ask' ? reading.ask : {})
  call.held = true
  // At once: a policy whose question cannot be shown has failed.
  return ask(visit, call)
}

function pass(call: IssuedCall): Next {
  call.passed = true
  return call.grant ? sendIt(call.grant) : judgeIt
}

function note(
  visit: Visit,
  call: IssuedCall,
  answer: RiskReading['do'] | 'failed',
  why: string | null,
): void {
  const data = { tool: call.tool.name, input_hash: call.inputHash, answer, why }
  visit.append({ events: [visit.event('gated', data)] })
}
