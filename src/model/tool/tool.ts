// A tool: a named function with a replay class. Registration refuses what cannot be replayed
// safely; nothing is inferred from names, and nothing has a silent default class.
import { errorFor } from '../errors.ts'
import * as limits from '../limits.ts'
import { checkName } from '../name.ts'
import * as checks from './checks.ts'
import { type InputOf, isSchema, type Schema } from './schema.ts'
import {
  type Answered,
  type AnySpec,
  beats,
  blastRadii,
  type ResultOf,
  type RetryPolicy,
  type Tool,
  type ToolRules,
  type ToolSpec,
} from './spec.ts'

export * from './replay-class.ts'
export * from './spec.ts'

const brand = Symbol.for('counterfoil.tool')

/** Whether "it happened" can be said of a call without saying what it answered. */
export function mayLackResult({ output, resultOptional }: ToolRules): boolean {
  return output === null || resultOptional
}

const recorded = Symbol.for('counterfoil.recordedKey')

/** A random key: made once, written with the intent, and the same for every later attempt. */
export function recordedKey(): () => string {
  const marker = () => {
    throw errorFor('TOOL_INVALID', null, 'recordedKey() is filled in by Counterfoil itself')
  }
  return Object.assign(marker, { [recorded]: true })
}

export function isRecordedKey(key: unknown): boolean {
  return typeof key === 'function' && recorded in key
}

/** Registers a tool. */
export function tool<
  const S extends Schema,
  Raw,
  const O extends Schema | undefined = undefined,
  const R extends boolean = false,
>(spec: ToolSpec<S, Raw, O, R>): Tool<InputOf<S>, Answered<ResultOf<Raw, O>, R>> {
  const name = checkName('tool', spec?.name)
  if (name.startsWith('counterfoil.')) {
    throw checks.invalid(name, 'names that begin with "counterfoil." are its own; choose another')
  }
  if (!isSchema(spec.input)) {
    throw checks.invalid(name, '`input` must be a Standard Schema (zod, valibot, arktype, …)')
  }
  return makeTool(name, spec as unknown as AnySpec)
}

export function makeTool<In, Out>(name: string, spec: AnySpec): Tool<In, Out> {
  const replayClass = checks.checkClass(name, spec.replayClass)
  checks.checkKey(name, replayClass, spec)
  checks.checkFunctions(name, replayClass, spec)
  const heartbeatMs = checks.checkWait(name, 'heartbeatMs', spec.heartbeatMs)
  const own = heartbeatMs === null ? limits.timeoutMs : limits.heardTimeoutMs
  const timeoutMs = checks.checkMs(name, 'timeoutMs', spec.timeoutMs) ?? own
  const callbackMs = checks.checkWait(name, 'callbackMs', spec.callbackMs)
  // A call that is heard of may take a day; what carries its key is sent at its beginning.
  const keyMarginMs = spec.timeoutMs === undefined ? (heartbeatMs ?? timeoutMs) : timeoutMs
  checks.checkWindow(name, spec.keyTtlMs, keyMarginMs)
  // An upstream that was asked to call back may be at work for as long as it may take.
  const quietMs = Math.max(heartbeatMs ?? timeoutMs, callbackMs ?? 0, limits.quietFloorMs)
  const rules: ToolRules = {
    input: (spec.input as Schema) ?? null,
    output: (spec.output as Schema) ?? null,
    timeoutMs,
    quietMs: checks.checkMs(name, 'quietMs', spec.quietMs) ?? quietMs,
    outlives: checks.checkFlag(name, 'outlives', spec.outlives),
    callbackMs,
    heartbeatMs,
    shareMs: checks.checkWait(name, 'shareMs', spec.shareMs),
    oncePerVisit: checks.checkFlag(name, 'oncePerVisit', spec.oncePerVisit),
    keyTtlMs: (spec.keyTtlMs as number) ?? null,
    keyMarginMs,
    retry: checks.checkRetry(name, spec.retry as RetryPolicy | undefined),
    run: spec.run as ToolRules['run'],
    idempotencyKey: (spec.idempotencyKey as ToolRules['idempotencyKey']) ?? null,
    probe: (spec.probe as ToolRules['probe']) ?? null,
    externalId: (spec.externalId as ToolRules['externalId']) ?? null,
    tags: checks.checkTags(name, spec.tags),
    blastRadius: checks.checkWord(name, 'blastRadius', spec.blastRadius, blastRadii),
    rateLimit: checks.checkRateLimit(name, spec.rateLimit),
    amount: (spec.amount as ToolRules['amount']) ?? null,
    usage: (spec.usage as ToolRules['usage']) ?? null,
    beat: checks.checkWord(name, 'beat', spec.beat, beats),
    whereToLook: (spec.whereToLook as ToolRules['whereToLook']) ?? null,
    doubtSlaMs: checks.checkWait(name, 'doubtSlaMs', spec.doubtSlaMs),
    resultOptional: checks.checkFlag(name, 'resultOptional', spec.resultOptional),
    example: checks.checkExample(name, spec.example),
  }
  const made = { name, replayClass, rules: Object.freeze(rules) }
  Object.defineProperty(made, brand, { value: true })
  return Object.freeze(made)
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && brand in value
}
