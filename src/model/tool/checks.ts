// What is wrong with what a tool says of itself, in words that name the tool.

import { type CounterfoilError, errorFor } from '../errors.ts'
import { plainCopy } from '../json/canonical.ts'
import * as limits from '../limits.ts'
import { isName, shown } from '../name.ts'
import { type ReplayClass, replayClasses } from './replay-class.ts'
import { isSchema } from './schema.ts'
import type { AnySpec, RateLimit, RetryPolicy } from './spec.ts'

export function checkClass(name: string, value: unknown): ReplayClass {
  if (replayClasses.includes(value as ReplayClass)) return value as ReplayClass
  const got = value === undefined ? 'no replayClass' : `replayClass ${shown(value)}`
  throw invalid(
    name,
    `has ${got}. Say what may happen if it is sent twice: "pure" (nothing), ` +
      '"idempotent_with_key" (the upstream drops the second one by its key) or ' +
      '"unsafe_on_replay" (it happens twice)',
  )
}

export function checkKey(name: string, replayClass: ReplayClass, spec: AnySpec): void {
  if (replayClass !== 'idempotent_with_key') {
    if (spec.idempotencyKey !== undefined || spec.keyTtlMs !== undefined) {
      throw invalid(
        name,
        `is ${replayClass}: idempotencyKey and keyTtlMs belong to keyed tools only`,
      )
    }
    return
  }
  if (typeof spec.idempotencyKey !== 'function') {
    throw invalid(
      name,
      'is idempotent_with_key and needs idempotencyKey(input, call), or recordedKey()',
    )
  }
  const ttl = spec.keyTtlMs
  if (typeof ttl !== 'number' || !(ttl > 0)) {
    throw invalid(
      name,
      'is idempotent_with_key and needs keyTtlMs: how long the upstream remembers a key, in ' +
        'milliseconds (Infinity if for ever)',
    )
  }
}

/** A call is sent again only if it would end while its key is known: else it could never be. */
export function checkWindow(name: string, ttlMs: unknown, marginMs: number): void {
  if (typeof ttlMs !== 'number' || ttlMs > marginMs) return
  throw invalid(
    name,
    `has keyTtlMs ${ttlMs}, and may take ${marginMs} ms: its key could be forgotten before ` +
      'it has ended, so it would never be sent again. Say a timeoutMs below keyTtlMs, or, if ' +
      'its upstream forgets so soon, let it be unsafe_on_replay',
  )
}

export function checkFunctions(name: string, replayClass: ReplayClass, spec: AnySpec): void {
  if (typeof spec.run !== 'function') throw invalid(name, 'needs run(input, call)')
  for (const key of ['probe', 'externalId', 'amount', 'usage', 'whereToLook'] as const) {
    if (spec[key] !== undefined && typeof spec[key] !== 'function') {
      throw invalid(name, `\`${key}\` must be a function`)
    }
  }
  if (spec.output !== undefined && !isSchema(spec.output)) {
    throw invalid(name, '`output` must be a Standard Schema (zod, valibot, arktype, …)')
  }
  if (replayClass !== 'pure') {
    if (spec.shareMs === undefined) return
    throw invalid(name, `is ${replayClass}: \`shareMs\` is for pure tools only`)
  }
  for (const key of [
    'probe',
    'quietMs',
    'outlives',
    'callbackMs',
    'whereToLook',
    'doubtSlaMs',
    'resultOptional',
  ] as (keyof AnySpec)[]) {
    if (spec[key] !== undefined) throw invalid(name, `is pure: \`${key}\` has no meaning for it`)
  }
}

export function checkMs(name: string, key: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  // A timer above 2^31 fires at once, which would turn "wait for ever" into "never wait".
  if (typeof value === 'number' && value >= 0 && value <= 2 ** 31 - 1) return value
  throw invalid(name, `\`${key}\` must be milliseconds between 0 and ${2 ** 31 - 1}`)
}

/** A time that is waited for without a timer of its own, so that days are fine. */
export function checkWait(name: string, key: string, value: unknown): number | null {
  if (value === undefined) return null
  if (typeof value === 'number' && value > 0 && value <= limits.waitMsMax) return value
  throw invalid(name, `\`${key}\` must be milliseconds above 0, at most ${limits.waitMsMax}`)
}

/** A flag that weakens nothing by a slip: "yes" is no true, and must not become false. */
export function checkFlag(name: string, key: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw invalid(name, `\`${key}\` must be true or false`)
}

/** Plain data: it is kept in items, and people see it. */
export function checkExample(name: string, value: unknown): unknown {
  if (value === undefined) return undefined
  try {
    return plainCopy(value)
  } catch {
    throw invalid(name, '`example` must be plain data, as its result is recorded')
  }
}

export function checkRetry(name: string, given: RetryPolicy | undefined): Required<RetryPolicy> {
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    throw invalid(name, '`retry` must be an object: { attemptMax, backoffMs, backoffMaxMs }')
  }
  const retry = given ?? {}
  const attemptMax = retry.attemptMax ?? limits.attemptMax
  if (!Number.isInteger(attemptMax) || attemptMax < 1) {
    throw invalid(name, '`retry.attemptMax` must be a whole number of at least 1')
  }
  return {
    attemptMax,
    backoffMs: checkMs(name, 'retry.backoffMs', retry.backoffMs) ?? limits.backoffMs,
    backoffMaxMs: checkMs(name, 'retry.backoffMaxMs', retry.backoffMaxMs) ?? limits.backoffMaxMs,
  }
}

export function checkTags(name: string, value: unknown): readonly string[] {
  if (value === undefined) return Object.freeze([])
  if (!Array.isArray(value)) throw invalid(name, '`tags` must be an array of words')
  for (const tag of value as unknown[]) {
    if (isName(tag)) continue
    throw invalid(name, `has the tag ${shown(tag)}: a tag is letters, digits, _ . : - like a name`)
  }
  return Object.freeze([...new Set(value as string[])])
}

export function checkWord<const W extends string>(
  name: string,
  key: string,
  value: unknown,
  words: readonly W[],
): W | null {
  if (value === undefined) return null
  if (words.includes(value as W)) return value as W
  const list = words.map((word) => `"${word}"`).join(', ')
  throw invalid(name, `has ${key} ${shown(value)}: it must be one of ${list}`)
}

export function checkRateLimit(name: string, value: unknown): Readonly<RateLimit> | null {
  if (value === undefined) return null
  const { class: of, count, perMs } = (value ?? {}) as Partial<Record<keyof RateLimit, unknown>>
  if (!isName(of)) {
    throw invalid(name, '`rateLimit` must be { class, count, perMs }, its class a name')
  }
  if (!Number.isSafeInteger(count) || (count as number) < 1) {
    throw invalid(name, '`rateLimit.count` must be a whole number of at least 1')
  }
  const window = checkMs(name, 'rateLimit.perMs', perMs)
  if (!window) throw invalid(name, '`rateLimit.perMs` must say within how many milliseconds')
  return Object.freeze({ class: of, count: count as number, perMs: window })
}

export function invalid(name: string, why: string): CounterfoilError {
  return errorFor('TOOL_INVALID', name, why)
}

/** Ids that one call of a model's reply answers beside its own; null if they can be. */
export function standsForProblem(
  tool: string,
  { standsFor }: { readonly standsFor?: unknown },
): CounterfoilError | null {
  const ids: readonly unknown[] | null = Array.isArray(standsFor) ? standsFor : null
  if (standsFor === undefined) return null
  if (ids?.every((id) => typeof id === 'string' && id !== '')) return null
  const message = `call of ${tool}: \`standsFor\` must be a list of ids, none of them empty`
  return errorFor('INPUT_INVALID', message)
}
