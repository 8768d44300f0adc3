// A tool: a named function with a replay class. Registration refuses what cannot be replayed
// safely; nothing is inferred from names, and nothing has a silent default class.
import { CounterfoilError } from './errors.ts'
import * as limits from './limits.ts'
import { type InputOf, isSchema, type OutputOf, type Schema } from './schema.ts'

export const replayClasses = ['pure', 'idempotent_with_key', 'unsafe_on_replay'] as const
export type ReplayClass = (typeof replayClasses)[number]

export const blastRadii = ['none', 'local', 'external', 'money'] as const
/** How far the effect of a call reaches, for the policy that asks people (E6). */
export type BlastRadius = (typeof blastRadii)[number]

export const beats = ['plan', 'context', 'reason', 'act', 'observe', 'learn'] as const
/** Which part of an agent's work something belongs to (D7). */
export type Beat = (typeof beats)[number]

/** At most `count` calls within `perMs`, over all tools that name the same class. */
export interface RateLimit {
  class: string
  count: number
  perMs: number
}

/** What a call has cost. */
export interface Usage {
  tokensIn?: number
  tokensOut?: number
  usd?: number
}

/** What a tool's functions are told about the call they serve. */
export interface CallInfo {
  readonly runId: string
  readonly node: string
  readonly tool: string
  readonly attempt: number
  /**
   * Names this attempt in the ledger; worth sending along, so that upstream logs can be searched.
   */
  readonly attemptId: string
  readonly idempotencyKey: string | null
  readonly abortSignal: AbortSignal
  /**
   * For a tool with `callbackMs`: the token that its upstream calls back with. What `run` returns
   * does not count from here on; the call ends by `cf.callbacks.settle(token, result)`.
   */
  defer(): string
  /** Says that the call is still under way: it puts `heartbeatMs` off, and people see the details. */
  heartbeat(details?: unknown): void
}

/** What an idempotency key may be made of: nothing that moves between two looks. */
export interface KeyInfo {
  readonly runId: string
  readonly node: string
  readonly visit: number
  readonly occurrence: number
}

export type ProbeAnswer<Out> = { landed: 'yes'; result: Out } | { landed: 'no' | 'unknown' }

export interface RetryPolicy {
  /** Attempts in all while a worker holds the run, the first included. */
  attemptMax?: number
  backoffMs?: number
  backoffMaxMs?: number
}

/** What is known of a tool besides its class, and makes sense for every class. */
export interface Metadata<Out> {
  /** Words that a policy may refer to. */
  tags?: readonly string[]
  blastRadius?: BlastRadius
  rateLimit?: RateLimit
  /** Read from the result of a fresh call; a replayed one costs nothing. */
  usage?: (result: NoInfer<Out>) => Usage
  beat?: Beat
}

interface Common<In, Raw, Out> extends Metadata<Out> {
  name: string
  timeoutMs?: number
  retry?: RetryPolicy
  run: (input: In, call: CallInfo) => Raw | Promise<Raw>
  /** The upstream's own id for what was done, kept beside the receipt and shown to people. */
  externalId?: (result: NoInfer<Out>) => string
  /** A call that is not heard of (`call.heartbeat`) for so long is taken for lost. */
  heartbeatMs?: number
  /** The second identical call of one visit is answered by the first one's receipt. */
  oncePerVisit?: boolean
  /** How much money, or of whatever a policy counts, a call is about. */
  amount?: (input: In) => number
}

interface Doubtful<In, Out> {
  /** Asks the upstream whether an attempt landed. */
  probe?: (
    input: In,
    call: CallInfo,
  ) => ProbeAnswer<NoInfer<Out>> | Promise<ProbeAnswer<NoInfer<Out>>>
  /** How long after an attempt's end its bytes may still arrive. An assumption, not a proof. */
  quietMs?: number
  /** It starts processes that live longer than the worker: its death does not end an attempt. */
  outlives?: boolean
  /** An asynchronous tool, which may `defer()`: how long its upstream has to call back. */
  callbackMs?: number
}

interface NoKey {
  idempotencyKey?: never
  keyTtlMs?: never
}

interface PureRules extends NoKey {
  replayClass: 'pure'
  /** Identical calls of different runs within this time share one execution. */
  shareMs?: number
  probe?: never
  quietMs?: never
  outlives?: never
  callbackMs?: never
}
type UnsafeRules<In, Out> = { replayClass: 'unsafe_on_replay'; shareMs?: never } & NoKey &
  Doubtful<In, Out>
type KeyedRules<In, Out> = {
  replayClass: 'idempotent_with_key'
  idempotencyKey: (input: In, call: KeyInfo) => string
  /** How long the upstream remembers a key; Infinity is allowed, silence is not. */
  keyTtlMs: number
  shareMs?: never
} & Doubtful<In, Out>

/** The rules of one class, for tools and for steps. */
export type ClassRules<In, Out> = PureRules | KeyedRules<In, Out> | UnsafeRules<In, Out>

/** What a tool answers with: what its output schema makes of what `run` returns, or just that. */
export type ResultOf<Raw, O> = [O] extends [Schema] ? OutputOf<O> : Raw
/** `run` returns what the output schema takes; a value of unknown type is left to the schema. */
export type Fits<Raw, O> = unknown extends Raw
  ? unknown
  : [O] extends [Schema]
    ? [Raw] extends [InputOf<O>]
      ? unknown
      : { '`run` returns what the output schema does not take': Raw }
    : unknown

export type ToolSpec<S extends Schema, Raw, O extends Schema | undefined> = Common<
  OutputOf<S>,
  Raw,
  ResultOf<Raw, O>
> &
  ClassRules<OutputOf<S>, Raw> & { input: S; output?: O & Fits<NoInfer<Raw>, O> }

const brand = Symbol.for('counterfoil.tool')

/** A registered tool. Its types are inferred from its schemas; its rules are read by the gate. */
export interface Tool<In = unknown, Out = unknown> {
  readonly name: string
  readonly replayClass: ReplayClass
  readonly rules: ToolRules
  readonly types?: { in: In; out: Out }
}

/** The tool as the engine sees it, with every default filled in. */
export interface ToolRules {
  readonly input: Schema | null
  readonly output: Schema | null
  readonly timeoutMs: number
  readonly quietMs: number
  readonly outlives: boolean
  /** Null for a tool that answers when its function returns. */
  readonly callbackMs: number | null
  readonly heartbeatMs: number | null
  readonly shareMs: number | null
  readonly oncePerVisit: boolean
  readonly keyTtlMs: number | null
  readonly retry: Required<RetryPolicy>
  readonly run: (input: unknown, call: CallInfo) => unknown
  readonly idempotencyKey: ((input: unknown, call: KeyInfo) => string) | null
  readonly probe: ((input: unknown, call: CallInfo) => unknown) | null
  readonly externalId: ((result: unknown) => string) | null
  readonly tags: readonly string[]
  readonly blastRadius: BlastRadius | null
  readonly rateLimit: Readonly<RateLimit> | null
  readonly amount: ((input: unknown) => number) | null
  readonly usage: ((result: unknown) => Usage) | null
  readonly beat: Beat | null
}

const recorded = Symbol.for('counterfoil.recordedKey')

/** A random key: made once, written with the intent, and the same for every later attempt. */
export function recordedKey(): () => string {
  const marker = () => {
    throw new CounterfoilError('TOOL_INVALID', 'recordedKey() is filled in by Counterfoil itself')
  }
  return Object.assign(marker, { [recorded]: true })
}

export function isRecordedKey(key: unknown): boolean {
  return typeof key === 'function' && recorded in key
}

/** Registers a tool. */
export function tool<const S extends Schema, Raw, const O extends Schema | undefined = undefined>(
  spec: ToolSpec<S, Raw, O>,
): Tool<InputOf<S>, ResultOf<Raw, O>> {
  const name = checkName('tool', spec?.name)
  if (name.startsWith('counterfoil.')) {
    throw invalid(name, 'names that begin with "counterfoil." are its own; choose another')
  }
  if (!isSchema(spec.input)) {
    throw invalid(name, '`input` must be a Standard Schema (zod, valibot, arktype, …)')
  }
  return makeTool(name, spec as unknown as AnySpec)
}

/** What `tool` and `ctx.step` have in common, before anything is trusted. */
export type AnySpec = Partial<Record<keyof ToolRules, unknown>> & { replayClass: unknown }

export function makeTool<In, Out>(name: string, spec: AnySpec): Tool<In, Out> {
  const replayClass = checkClass(name, spec.replayClass)
  checkKey(name, replayClass, spec)
  checkFunctions(name, replayClass, spec)
  const heartbeatMs = checkWait(name, 'heartbeatMs', spec.heartbeatMs)
  const own = heartbeatMs === null ? limits.timeoutMs : limits.heardTimeoutMs
  const timeoutMs = checkMs(name, 'timeoutMs', spec.timeoutMs) ?? own
  const callbackMs = checkWait(name, 'callbackMs', spec.callbackMs)
  // An upstream that was asked to call back may be at work for as long as it may take.
  const quietMs = Math.max(heartbeatMs ?? timeoutMs, callbackMs ?? 0, limits.quietFloorMs)
  const rules: ToolRules = {
    input: (spec.input as Schema) ?? null,
    output: (spec.output as Schema) ?? null,
    timeoutMs,
    quietMs: checkMs(name, 'quietMs', spec.quietMs) ?? quietMs,
    outlives: checkFlag(name, 'outlives', spec.outlives),
    callbackMs,
    heartbeatMs,
    shareMs: checkWait(name, 'shareMs', spec.shareMs),
    oncePerVisit: checkFlag(name, 'oncePerVisit', spec.oncePerVisit),
    keyTtlMs: (spec.keyTtlMs as number) ?? null,
    retry: checkRetry(name, spec.retry as RetryPolicy | undefined),
    run: spec.run as ToolRules['run'],
    idempotencyKey: (spec.idempotencyKey as ToolRules['idempotencyKey']) ?? null,
    probe: (spec.probe as ToolRules['probe']) ?? null,
    externalId: (spec.externalId as ToolRules['externalId']) ?? null,
    tags: checkTags(name, spec.tags),
    blastRadius: checkWord(name, 'blastRadius', spec.blastRadius, blastRadii),
    rateLimit: checkRateLimit(name, spec.rateLimit),
    amount: (spec.amount as ToolRules['amount']) ?? null,
    usage: (spec.usage as ToolRules['usage']) ?? null,
    beat: checkWord(name, 'beat', spec.beat, beats),
  }
  const made = { name, replayClass, rules: Object.freeze(rules) }
  Object.defineProperty(made, brand, { value: true })
  return Object.freeze(made)
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && brand in value
}

/** The stricter of two classes: what is stored with an intent binds later code, and the reverse. */
export function stricter(a: ReplayClass, b: ReplayClass): ReplayClass {
  return replayClasses.indexOf(a) > replayClasses.indexOf(b) ? a : b
}

export function isName(name: unknown): name is string {
  if (typeof name !== 'string' || name.length > limits.nameLengthMax) return false
  return /^\w[\w.:-]*$/.test(name)
}

export function checkName(what: string, name: unknown): string {
  if (isName(name)) return name
  throw new CounterfoilError(
    what === 'tool' ? 'TOOL_INVALID' : 'GRAPH_INVALID',
    `${what} name ${shown(name)} is not usable: letters, digits, _ . : - and at most ` +
      `${limits.nameLengthMax} of them`,
    { details: { name } },
  )
}

function checkClass(name: string, value: unknown): ReplayClass {
  if (replayClasses.includes(value as ReplayClass)) return value as ReplayClass
  const got = value === undefined ? 'no replayClass' : `replayClass ${shown(value)}`
  throw invalid(
    name,
    `has ${got}. Say what may happen if it is sent twice: "pure" (nothing), ` +
      '"idempotent_with_key" (the upstream drops the second one by its key) or ' +
      '"unsafe_on_replay" (it happens twice)',
  )
}

function checkKey(name: string, replayClass: ReplayClass, spec: AnySpec): void {
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

function checkFunctions(name: string, replayClass: ReplayClass, spec: AnySpec): void {
  if (typeof spec.run !== 'function') throw invalid(name, 'needs run(input, call)')
  for (const key of ['probe', 'externalId', 'amount', 'usage'] as const) {
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
  for (const key of ['probe', 'quietMs', 'outlives', 'callbackMs'] as const) {
    if (spec[key] !== undefined) throw invalid(name, `is pure: \`${key}\` has no meaning for it`)
  }
}

function checkMs(name: string, key: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  // A timer above 2^31 fires at once, which would turn "wait for ever" into "never wait".
  if (typeof value === 'number' && value >= 0 && value <= 2 ** 31 - 1) return value
  throw invalid(name, `\`${key}\` must be milliseconds between 0 and ${2 ** 31 - 1}`)
}

/** A time that is waited for without a timer of its own, so that days are fine. */
function checkWait(name: string, key: string, value: unknown): number | null {
  if (value === undefined) return null
  if (typeof value === 'number' && value > 0 && value <= limits.waitMsMax) return value
  throw invalid(name, `\`${key}\` must be milliseconds above 0, at most ${limits.waitMsMax}`)
}

/** A flag that weakens nothing by a slip: "yes" is no true, and must not become false. */
function checkFlag(name: string, key: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw invalid(name, `\`${key}\` must be true or false`)
}

function checkRetry(name: string, given: RetryPolicy | undefined): Required<RetryPolicy> {
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

function checkTags(name: string, value: unknown): readonly string[] {
  if (value === undefined) return Object.freeze([])
  if (!Array.isArray(value)) throw invalid(name, '`tags` must be an array of words')
  for (const tag of value as unknown[]) {
    if (isName(tag)) continue
    throw invalid(name, `has the tag ${shown(tag)}: a tag is letters, digits, _ . : - like a name`)
  }
  return Object.freeze([...new Set(value as string[])])
}

function checkWord<const W extends string>(
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

function checkRateLimit(name: string, value: unknown): Readonly<RateLimit> | null {
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

/** JSON where there is any: a BigInt has none. */
export function shown(value: unknown): string {
  const bare = typeof value === 'bigint' || typeof value === 'symbol'
  return bare ? String(value) : JSON.stringify(value)
}

function invalid(name: string, why: string): CounterfoilError {
  return new CounterfoilError('TOOL_INVALID', `tool "${name}" ${why}`, { details: { tool: name } })
}
