// Owns: asking the risk policy about a call that would be sent for the first time, and what its
// answer leaves behind. Does not own: what follows (gate.ts).
// A policy that throws lets nothing pass: the call is refused, and nothing of it is recorded.
import { CounterfoilError, failureOf } from '../model/errors.ts'
import { type RiskCall, type RiskPolicy, type RiskReading, readAnswer } from '../model/risk.ts'
import type { Ask, IssuedCall } from './call.ts'
import type { Visit } from './visit.ts'

async function read(policy: RiskPolicy, visit: Visit, call: IssuedCall): Promise<RiskReading> {
  let answer: unknown
  try {
    answer = await policy(riskCall(visit, call))
  } catch (error) {
    const { message } = failureOf(error, 'failed')
    const says = `the gate threw about ${call.tool.name}, so nothing was sent: ${message}`
    throw new CounterfoilError('GATE_FAILED', says, { cause: error })
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
export function askAbout(call: IssuedCall, reading: RiskReading & { do: 'ask' }): Ask {
  const { title, queue, data, deciders, slaMs, why } = reading.ask
  const input = JSON.parse(call.inputJson)
  return {
    kind: 'approval',
    title: title ?? `${call.tool.name}: may it be sent?`,
    data: data === undefined ? { input } : { input, data },
    queue: queue ?? 'approvals',
    deciders: deciders ?? null,
    slaMs: slaMs ?? null,
    schema: call.tool.rules.input,
    why: why ?? null,
  }
}

export interface RiskHooks {
  ask: (call: IssuedCall) => void
  judge: (call: IssuedCall) => void
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
    visit.inflight++
    read(visit.policy, visit, call).then(
      (reading) => {
        visit.inflight--
        this.obey(call, reading)
        visit.touch()
      },
      (error) => {
        visit.inflight--
        this.hooks.deny(call, error)
        visit.touch()
      },
    )
  }

  private obey(call: IssuedCall, reading: RiskReading): void {
    const { visit } = this
    if (visit.phase !== 'running') return
    const why = reading.do === 'refuse' ? reading.why : null
    const { name: tool } = call.tool
    const data = { tool, input_hash: call.inputHash, answer: reading.do, why }
    visit.append({ events: [visit.event('gated', data)] })
    if (reading.do === 'refuse') return this.hooks.refuse(call, reading.why)
    if (reading.do === 'ask') {
      call.ask = askAbout(call, reading)
      call.held = true
      return this.hooks.ask(call)
    }
    call.passed = true
    this.hooks.judge(call)
  }
}
