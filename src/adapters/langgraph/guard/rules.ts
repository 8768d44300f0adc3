// What people declare of a tool, a node or a task: its replay class, and what goes with it.
import type { Beat, BlastRadius, RateLimit } from '../../../index.ts'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { isRecord } from '../../../model/run/state.ts'
import type { Schema } from '../../../model/tool/schema.ts'
import {
  type AnySpec,
  type ClassRules,
  makeTool,
  type RetryPolicy,
  type Usage,
} from '../../../model/tool/tool.ts'

// biome-ignore lint/suspicious/noExplicitAny: inputs and results of tools of any kind
type Any = any

/** How a call may be made again, and what is known of it besides. */
export type GuardRules = ClassRules<Any, Any> & {
  /**
   * What its result must fit: any Standard Schema. A person who says that a call happened is asked
   * again if what they state as its result does not.
   */
  output?: Schema
  timeoutMs?: number
  retry?: RetryPolicy
  heartbeatMs?: number
  /** The upstream's own id for what was done, kept beside the receipt and shown to people. */
  externalId?: (result: Any) => string
  /** How much money, or of whatever a policy counts, a call is about. */
  amount?: (input: Any) => number
  usage?: (result: Any) => Usage
  tags?: readonly string[]
  blastRadius?: BlastRadius
  rateLimit?: RateLimit
  beat?: Beat
  /**
   * An unsafe tool that calls interrupt(), and sends nothing before it: then its interrupt is
   * passed on, and it runs again from its beginning when it is answered.
   */
  interrupts?: boolean
  /** An unsafe tool whose identical calls in one reply of a model are all meant. */
  allowIdentical?: boolean
}

const forClass: readonly (keyof GuardRules | 'shareMs')[] = [
  'replayClass',
  'output',
  'timeoutMs',
  'retry',
  'heartbeatMs',
  'externalId',
  'amount',
  'usage',
  'tags',
  'blastRadius',
  'rateLimit',
  'beat',
  'probe',
  'quietMs',
  'outlives',
  'idempotencyKey',
  'keyTtlMs',
  'whereToLook',
  'doubtSlaMs',
]
const forUnsafe = ['interrupts', 'allowIdentical'] as const

/** What is wrong with the rules of one tool; empty if nothing is. */
export function faultsOf(name: string, rules: unknown): string[] {
  if (!isRecord(rules)) return [`${name}: its rules must be an object`]
  const unsafe = rules['replayClass'] === 'unsafe_on_replay'
  const known: readonly string[] = unsafe ? [...forClass, ...forUnsafe] : forClass
  const unknown = Object.keys(rules)
    .filter((key) => !known.includes(key))
    .map((key) => `${name}: \`${key}\` has no meaning here${remedyOf(key)}`)
  const flags = forUnsafe
    .filter((key) => rules[key] !== undefined && typeof rules[key] !== 'boolean')
    .map((key) => `${name}: \`${key}\` must be true or false`)
  const { interrupts: _, allowIdentical: __, ...spec } = rules
  try {
    makeTool(name, { ...spec, run: () => {} } as unknown as AnySpec)
  } catch (error) {
    return [...unknown, ...flags, (error as Error).message]
  }
  return [...unknown, ...flags]
}

function remedyOf(key: string): string {
  if (key === 'callbackMs') return ': a graph of LangGraph cannot wait for a callback'
  if (key === 'interrupts' || key === 'allowIdentical') return ': it is for unsafe tools only'
  return ''
}

/** All that is wrong with a declaration, at once. */
export function checkAll(names: readonly string[], classes: unknown): void {
  const given = isRecord(classes) ? classes : {}
  const twice = names.filter((name, i) => names.indexOf(name) < i)
  const faults = [
    ...twice.map((name) => `${name}: two tools have this name`),
    ...Object.keys(given)
      .filter((name) => !names.includes(name))
      .map((name) => `${name}: there is no such tool among ${names.join(', ') || 'none'}`),
    ...Object.entries(given).flatMap(([name, rules]) =>
      names.includes(name) ? faultsOf(name, rules) : [],
    ),
  ]
  const missing = names.filter((name) => !Object.hasOwn(given, name))
  if (missing.length > 0) faults.push(unclassified(missing))
  if (faults.length > 0) throw refused('guard()', faults)
}

function unclassified(names: readonly string[]): string {
  const lines = names.map((name) => `  ${name}: { replayClass: '…' },`)
  return [
    'say what may happen if these are sent twice: "pure" (nothing), ' +
      '"idempotent_with_key" (the upstream drops the second one by its key) or ' +
      '"unsafe_on_replay" (it happens twice):',
    ...lines,
  ].join('\n')
}

export function refused(what: string, faults: readonly string[]): CounterfoilError {
  return errorFor('GUARD_INVALID', [`${what}:`, ...faults].join('\n'), { faults })
}
