// A risk policy made of rules, for the usual cases: by blast radius, tags, amount and confidence.
// The first rule that fits says what becomes of the call, and its reason is shown to whoever
// decides. What nobody can tell (an amount, a confidence) counts as risky.
import { type CounterfoilError, errorFor } from '../errors.ts'
import { shown } from '../name.ts'
import {
  type RiskAnswer,
  type RiskAsk,
  type RiskCall,
  type RiskPolicy,
  readAnswer,
} from './risk.ts'
import type { ReplayClass } from './tool.ts'

/** All that is named has to fit; of a list, one. */
export interface RiskWhen {
  tool?: string | readonly string[]
  blastRadius?: NonNullable<RiskCall['blastRadius']> | readonly string[]
  tags?: string | readonly string[]
  replayClass?: ReplayClass | readonly ReplayClass[]
  /** More than this, or nobody knows how much. */
  amountAbove?: number
  /** Less sure than this, or the node did not say. */
  confidenceBelow?: number
}

export interface RiskRule {
  when: RiskWhen
  do: 'run' | 'refuse' | { ask: Omit<RiskAsk, 'why'> }
  /** Shown instead of the reason that is made of `when`. */
  why?: string
}

export interface RiskRules {
  rules: readonly RiskRule[]
  /** For calls that no rule fits; `run`, unless told. */
  otherwise?: RiskRule['do']
}

/** For `open({ gate })`. */
export function riskPolicy({ rules, otherwise = 'run' }: RiskRules): RiskPolicy {
  if (!Array.isArray(rules)) throw invalid('`rules` must be a list')
  rules.forEach(checkRule)
  checkAction('otherwise', otherwise)
  return (call) => {
    const rule = rules.find((one) => fits(call, one.when, one.do !== 'run'))
    if (rule === undefined) return answerOf(otherwise, 'no rule lets it pass')
    return answerOf(rule.do, rule.why ?? reasonOf(call, rule.when))
  }
}

function answerOf(action: RiskRule['do'], why: string): RiskAnswer {
  if (action === 'run') return 'run'
  return action === 'refuse'
    ? { refuse: why }
    : { ask: { ...action.ask, why: `held because: ${why}` } }
}

/** `risky`: what is not known fits a rule that holds, and none that lets pass. */
function fits(call: RiskCall, when: RiskWhen, risky: boolean): boolean {
  const { amountAbove, confidenceBelow } = when
  return (
    isOneOf(when.tool, [call.tool]) &&
    isOneOf(when.blastRadius, call.blastRadius === null ? [] : [call.blastRadius]) &&
    isOneOf(when.tags, call.tags) &&
    isOneOf(when.replayClass, [call.replayClass]) &&
    (amountAbove === undefined || (isKnown(call.amount) ? call.amount > amountAbove : risky)) &&
    (confidenceBelow === undefined ||
      (isKnown(call.confidence) ? call.confidence < confidenceBelow : risky))
  )
}

function isOneOf(wanted: string | readonly string[] | undefined, has: readonly string[]): boolean {
  if (wanted === undefined) return true
  return typeof wanted === 'string' ? has.includes(wanted) : wanted.some((one) => has.includes(one))
}

function isKnown(value: number | null): value is number {
  return typeof value === 'number' && !Number.isNaN(value)
}

/** `money above 500 (812.00)`. */
function reasonOf(call: RiskCall, when: RiskWhen): string {
  const { tool, blastRadius, tags, amountAbove, confidenceBelow, replayClass } = when
  const listed = tags === undefined ? [] : [tags].flat()
  const what = [
    ...(tool === undefined ? [] : [call.tool]),
    ...(replayClass === undefined ? [] : [call.replayClass]),
    ...(blastRadius === undefined ? [] : [call.blastRadius ?? '']),
    ...listed.filter((tag) => call.tags.includes(tag)),
  ]
  const name = what.join(', ')
  const parts = [
    ...(amountAbove === undefined ? [] : [`above ${amountAbove} (${amount(call.amount)})`]),
    ...(confidenceBelow === undefined
      ? []
      : [`confidence below ${confidenceBelow} (${confidence(call)})`]),
  ]
  const said = `${name} ${parts.join(', ')}`.trim()
  return said === '' ? 'it asks before every call' : said
}

function confidence({ confidence: said }: RiskCall): string {
  return isKnown(said) ? `${said}` : 'not said'
}

function amount(value: number | null): string {
  return isKnown(value) ? value.toFixed(2) : 'not known'
}

const names = ['tool', 'blastRadius', 'tags', 'replayClass', 'amountAbove', 'confidenceBelow']

function checkRule(rule: RiskRule, n: number): void {
  const { when, do: action } = rule ?? {}
  if (typeof when !== 'object' || when === null) throw invalid(`rule ${n + 1} needs \`when\``)
  // A slip in a name would make a rule that fits everything, or nothing.
  const strange = Object.keys(when).find((key) => !names.includes(key))
  if (strange !== undefined) {
    throw invalid(`rule ${n + 1}: there is no \`when.${strange}\`; there are ${names.join(', ')}`)
  }
  for (const key of ['amountAbove', 'confidenceBelow'] as const) {
    const value = when[key]
    if (value !== undefined && (typeof value !== 'number' || Number.isNaN(value))) {
      throw invalid(`rule ${n + 1}: \`when.${key}\` must be a number, not ${shown(value)}`)
    }
  }
  checkAction(`rule ${n + 1}`, action)
}

function checkAction(where: string, action: RiskRule['do']): void {
  if (action === 'run' || action === 'refuse') return
  if (typeof action?.ask !== 'object') {
    throw invalid(`${where}: say 'run', 'refuse' or { ask: { … } }, not ${shown(action)}`)
  }
  readAnswer(where, action)
}

function invalid(what: string): CounterfoilError {
  return errorFor('GATE_INVALID', `riskPolicy: ${what}`)
}
