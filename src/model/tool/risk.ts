// The risk policy: what the operator's own code says about a call before it is dispatched. Types,
// and the reading of its answer; the gate asks and obeys.
import { type ApprovalTerms, termsFault } from '../decisions/approval.ts'
import { type CounterfoilError, errorFor } from '../errors.ts'
import type { ReplayClass } from './tool.ts'

/** A call that is about to be sent for the first time. */
export interface RiskCall {
  readonly namespace: string
  readonly runId: string
  readonly graph: string
  readonly node: string
  readonly tool: string
  readonly input: unknown
  readonly replayClass: ReplayClass
  readonly blastRadius: 'none' | 'local' | 'external' | 'money' | null
  readonly tags: readonly string[]
  /** What the node said, or what the tool makes of the input. */
  readonly amount: number | null
  /** How sure the model is, if the node said so. */
  readonly confidence: number | null
}

/** Puts the call before a person; the approval is bound to this call's input. */
export interface RiskAsk extends Omit<ApprovalTerms, 'expire'> {
  title?: string
  queue?: string
  /** Shown beside the input. */
  data?: unknown
  why?: string
  /** Not sent, if nobody has agreed by then. */
  expire?: { afterMs: number }
}

export type RiskAnswer = 'run' | { ask: RiskAsk | true } | { refuse: string }
export type RiskPolicy = (call: RiskCall) => RiskAnswer | Promise<RiskAnswer>

export type RiskReading =
  | { readonly do: 'run' }
  | { readonly do: 'ask'; readonly ask: RiskAsk }
  | { readonly do: 'refuse'; readonly why: string }

/** The answer, or an error that names the tool: what cannot be understood lets nothing pass. */
export function readAnswer(tool: string, answer: unknown): RiskReading {
  if (answer === 'run') return { do: 'run' }
  const { ask, refuse } = (answer ?? {}) as { ask?: unknown; refuse?: unknown }
  if (typeof refuse === 'string' && refuse !== '') return { do: 'refuse', why: refuse }
  if (ask === true) return { do: 'ask', ask: {} }
  if (typeof ask === 'object' && ask !== null) return { do: 'ask', ask: checkAsk(tool, ask) }
  throw invalid(tool, 'say "run", { ask: { … } } or { refuse: "why" }')
}

function checkAsk(tool: string, ask: RiskAsk): RiskAsk {
  for (const key of ['title', 'queue', 'why'] as const) {
    if (ask[key] !== undefined && typeof ask[key] !== 'string') {
      throw invalid(tool, `\`ask.${key}\` must be a string`)
    }
  }
  const fault = termsFault(ask)
  if (fault !== null) throw invalid(tool, `in \`ask\`, ${fault}`)
  if ((ask.expire as { as?: unknown } | undefined)?.as === 'approve') {
    throw invalid(tool, 'a held call is never sent without a yes: leave out `as`')
  }
  return ask
}

function invalid(tool: string, what: string): CounterfoilError {
  const says = `the gate's answer about ${tool} is invalid`
  const message = `${says}, so nothing was sent: ${what}`
  return errorFor('GATE_INVALID', message, { tool })
}
