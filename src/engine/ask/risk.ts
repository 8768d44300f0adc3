// Owns: asking the risk policy about a call that would be sent for the first time, and what its
// answer leaves behind. Does not own: what follows (gate.ts).
// A policy that throws lets nothing pass: the call is refused, and nothing of it is recorded.
import { errorFor, failureOf } from '../../model/errors.ts'
import { cancelTool } from '../../model/replay/waits.ts'
import {
  type RiskAsk,
  type RiskCall,
  type RiskPolicy,
  type RiskReading,
  readAnswer,
} from '../../model/tool/risk.ts'
import type { Ask, IssuedCall } from '../call/call.ts'
import { rest } from '../call/ruling.ts'
import type { Visit } from '../visit/visit.ts'

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

/** What a person is shown about a held call: its input, and what the policy adds. */
export function askAbout(call: IssuedCall, said: RiskAsk): Ask {
  const { title, queue, data, why, ...terms } = said
  const input = JSON.parse(call.inputJson)
  return {
    kind: 'approval',
    title: title ?? `${call.tool.name}: may it be sent?`,
    data: data === undefined ? { input } : { input, data },
    queue: queue ?? 'approvals',
    terms,
    schema: call.tool.rules.input,
    why: why ?? null,
  }
}

export interface RiskHooks {
  ask: (call: IssuedCall) => void
  pass: (call: IssuedCall) => void
  deny: (call: IssuedCall, error: unknown) => void
  refuse: (call: IssuedCall, why: string) => void
}

export class RiskGate {
  private readonly visit: Visit
  private readonly hooks: RiskHooks

  constructor(visit: Visit, hooks: RiskHooks) {
    this.visit = visit
    this.hooks = hooks
  }

  /** Before a first send: run, ask a person, or refuse. What it said is on record. */
  consult(call: IssuedCall): void {
    const { visit } = this
    if (visit.policy === null) return
    if (call.tool.name === cancelTool) return this.pass(call) // the policy knows users' tools alone
    const failed = (error: Error) => {
      if (visit.phase === 'running') this.note(call, 'failed', error.message)
      this.hooks.deny(call, error)
    }
    // A policy sends nothing: one that takes its time holds up no pause.
    rest(visit, read(visit.policy, visit, call), (reading) => this.obey(call, reading), failed)
  }

  private obey(call: IssuedCall, reading: RiskReading): void {
    if (this.visit.phase !== 'running') return
    this.note(call, reading.do, reading.do === 'refuse' ? reading.why : null)
    if (reading.do === 'refuse') return this.hooks.refuse(call, reading.why)
    // What is held waits for a person, whatever the policy has come to think of it since.
    if (reading.do === 'run' && call.record === null) return this.pass(call)
    call.ask = askAbout(call, reading.do === 'ask' ? reading.ask : {})
    call.held = true
    this.hooks.ask(call)
  }

  private pass(call: IssuedCall): void {
    call.passed = true
    this.hooks.pass(call)
  }

  private note(call: IssuedCall, answer: RiskReading['do'] | 'failed', why: string | null): void {
    const data = { tool: call.tool.name, input_hash: call.inputHash, answer, why }
    this.visit.append({ events: [this.visit.event('gated', data)] })
  }
}
