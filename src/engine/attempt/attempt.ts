// One dispatch of a tool: runs its function once, with a timeout, and says how it ended. It never
// throws and never decides what follows.
import type { Clock } from '../../clock.ts'
import {
  errorFor,
  type FailureData,
  failureOf,
  isCounterfoilError,
  type WithdrawnError,
} from '../../model/errors.ts'
import { canonical, keptText, wellFormed } from '../../model/json/canonical.ts'
import * as limits from '../../model/limits.ts'
import { validate } from '../../model/tool/schema.ts'
import type { CallInfo, Tool } from '../../model/tool/tool.ts'

/** A result as it is recorded: what a replay reads back is what a fresh call delivers. */
export interface Result {
  /** Null when the tool returned nothing. */
  readonly json: string | null
  readonly externalId: string | null
  readonly usageJson: string | null
}

export type AttemptEnd =
  | { readonly outcome: 'landed'; readonly result: Result }
  | {
      readonly outcome: 'refused' | 'not_sent'
      readonly failure: FailureData
      readonly withdrawn?: Withdrawn
    }
  /** Its function has returned; its upstream calls back. */
  | { readonly outcome: 'deferred' }
  /** `running`: its time is over, but its function has not returned. */
  | {
      readonly outcome: 'unknown'
      readonly failure: FailureData
      readonly running: boolean
      readonly withdrawn?: Withdrawn
      /** Its function has returned what cannot be recorded: so it happened, most likely. */
      readonly answered?: true
    }

/** The call has no end: its host makes it again, and is told why by this. */
interface Withdrawn {
  readonly cause: unknown
}

/** The end of an attempt for whoever does not wait for its callback. */
export function certainEnd(
  end: AttemptEnd,
): Exclude<AttemptEnd, { outcome: 'deferred' | 'landed' }> {
  if ('failure' in end) return end
  const message = 'its upstream is to call back'
  const failure: FailureData = { kind: 'unknown', name: 'Deferred', message }
  return { outcome: 'unknown', failure, running: false }
}

export type ProbeEnd = { landed: 'yes'; result: Result } | { landed: 'no' | 'unknown' }

/** The call as its tool's functions see it; the signal is made only when somebody looks at it. */
export class LiveCall implements CallInfo {
  readonly runId: string
  readonly node: string
  readonly tool: string
  readonly attempt: number
  readonly idempotencyKey: string | null
  readonly live: unknown
  /** `generation#visit/tool/hash/occurrence`: for our own tools, which are told of every call. */
  readonly place: string
  deferred = false
  /** Told of every heartbeat, with its details as JSON. */
  onBeat: (json: string) => void = () => {}
  private readonly token: string | null
  private readonly name: () => string
  private controller: AbortController | null = null
  private reason: Error | null = null

  /**
   * `name`: what the attempt is known by, made when somebody looks at it. `token`: what an
   * asynchronous tool's upstream calls back with.
   */
  constructor(
    of: Omit<CallInfo, 'attemptId' | 'abortSignal' | 'defer' | 'heartbeat'>,
    name: () => string,
    token: string | null,
    place: string,
  ) {
    this.name = name
    this.token = token
    this.place = place
    this.runId = of.runId
    this.node = of.node
    this.tool = of.tool
    this.attempt = of.attempt
    this.idempotencyKey = of.idempotencyKey
    this.live = of.live
  }

  get attemptId(): string {
    return this.name()
  }

  get abortSignal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.reason) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }

  defer(): string {
    if (this.token === null) {
      const why = 'calls defer() without `callbackMs`: say how long its upstream has to call back'
      throw errorFor('DEFER_INVALID', this.tool, why)
    }
    this.deferred = true
    return this.token
  }

  heartbeat(details: unknown = null): void {
    const json = keptText(details)
    if (json.length > limits.beatLengthMax) {
      const message =
        `${this.tool}: the details of a heartbeat have ${json.length} characters; ` +
        `at most ${limits.beatLengthMax} are kept`
      throw errorFor('INPUT_INVALID', message)
    }
    this.onBeat(json)
  }

  abort(reason: Error): void {
    this.reason = reason
    this.controller?.abort(reason)
  }
}

/**
 * Runs the tool once. Resolves at its end or at its timeout, whichever is first; what a function
 * returns after its timeout goes to `onLate`.
 */
export function runOnce(
  tool: Tool,
  input: unknown,
  call: LiveCall,
  clock: Clock,
  onLate: (end: AttemptEnd) => void,
): Promise<AttemptEnd> {
  return new Promise((resolve) => {
    const { timeoutMs, heartbeatMs } = tool.rules
    let timedOut = false
    let cancelBeat = () => {}
    const giveUp = (what: string) => {
      if (timedOut) return
      timedOut = true
      cancel()
      cancelBeat()
      const message = `${tool.name} ${what}`
      const failure: FailureData = { kind: 'unknown', name: 'TimeoutError', message }
      call.abort(Object.assign(new Error(message), { name: 'TimeoutError' }))
      resolve({ outcome: 'unknown', failure, running: true })
    }
    const cancel = clock.after(timeoutMs, () => giveUp(`did not answer within ${timeoutMs} ms`))
    const listen = () => {
      if (heartbeatMs === null || timedOut) return
      cancelBeat()
      const silent = () => giveUp(`was not heard of for ${heartbeatMs} ms`)
      cancelBeat = clock.after(Math.min(heartbeatMs, timerMsMax), silent)
    }
    const { onBeat } = call
    call.onBeat = (json) => {
      listen()
      onBeat(json)
    }
    listen()
    const sentAt = clock.mono()
    runToEnd(tool, input, call).then((end) => {
      cancel()
      cancelBeat()
      if (timedOut) onLate(end)
      else resolve(withWindow(tool, end, clock.mono() - sentAt))
    })
  })
}

// A timer that is longer fires at once.
const timerMsMax = 2 ** 31 - 1

async function runToEnd(tool: Tool, input: unknown, call: LiveCall): Promise<AttemptEnd> {
  let value: unknown
  try {
    value = await tool.rules.run(input, call)
  } catch (error) {
    if (isCounterfoilError(error, 'NOT_SENT')) {
      return { outcome: 'not_sent', failure: failureOf(error, 'not_sent') }
    }
    if (isCounterfoilError(error, 'WITHDRAWN')) {
      const { cause, sent } = error as WithdrawnError
      const failure = failureOf(error, sent === 'no' ? 'not_sent' : 'unknown')
      const withdrawn = { cause }
      if (sent === 'no') return { outcome: 'not_sent', failure, withdrawn }
      return { outcome: 'unknown', failure, running: false, withdrawn }
    }
    if (isCounterfoilError(error, 'REFUSED')) {
      return { outcome: 'refused', failure: failureOf(error, 'refused') }
    }
    return { outcome: 'unknown', failure: failureOf(error, 'failed'), running: false }
  }
  if (call.deferred) return { outcome: 'deferred' }
  try {
    return { outcome: 'landed', result: await resultOf(tool, value) }
  } catch (error) {
    // It landed, but nobody can say what it answered: for a call that is not pure, a person may
    // know.
    const failure = failureOf(error, 'failed')
    return { outcome: 'unknown', failure, running: false, answered: true }
  }
}

/**
 * With the time from its dispatch to its receipt: only the attempt itself can tell. A result that
 * a probe, a person or a callback brought has none.
 */
function withWindow(tool: Tool, end: AttemptEnd, ms: number): AttemptEnd {
  if (end.outcome !== 'landed' || tool.replayClass !== 'unsafe_on_replay') return end
  const told = end.result.usageJson === null ? {} : JSON.parse(end.result.usageJson)
  const windowMs = Math.max(0, Math.round(ms * 10) / 10)
  return { ...end, result: { ...end.result, usageJson: canonical({ ...told, windowMs }) } }
}

async function resultOf(tool: Tool, raw: unknown): Promise<Result> {
  const subject = `result of ${tool.name}`
  const { output } = tool.rules
  const value = output ? await validate(output, raw, { code: 'OUTPUT_INVALID', subject }) : raw
  const json = value === undefined ? null : keptText(value)
  return { json, externalId: externalIdOf(tool, value), usageJson: usageOf(tool, value) }
}

/** The upstream's own id, if the tool can tell; a tool that fails at it has landed all the same. */
export function externalIdOf(tool: Tool, value: unknown): string | null {
  try {
    const id = tool.rules.externalId?.(value)
    return typeof id === 'string' ? wellFormed(id) : null
  } catch {
    return null
  }
}

/** What it has cost; a tool that fails at telling has landed all the same. */
function usageOf(tool: Tool, value: unknown): string | null {
  if (tool.rules.usage === null) return null
  try {
    const said = tool.rules.usage(value)
    const numbers = Object.entries(said ?? {}).filter(([, n]) => Number.isFinite(n))
    return numbers.length === 0 ? null : canonical(Object.fromEntries(numbers))
  } catch {
    return null
  }
}

/**
 * Asks the tool's probe. No answer, an error or a strange answer all mean that it does not know.
 */
export function askProbe(
  tool: Tool,
  input: unknown,
  call: LiveCall,
  clock: Clock,
): Promise<ProbeEnd> {
  return new Promise((resolve) => {
    const cancel = clock.after(limits.probeTimeoutMs, () => {
      call.abort(new Error('the probe took too long'))
      resolve({ landed: 'unknown' })
    })
    const answer = async (): Promise<ProbeEnd> => {
      const said = (await tool.rules.probe?.(input, call)) as { landed?: unknown; result?: unknown }
      if (said?.landed === 'yes') {
        return { landed: 'yes', result: await resultOf(tool, said.result) }
      }
      return { landed: said?.landed === 'no' ? 'no' : 'unknown' }
    }
    answer()
      .catch((): ProbeEnd => ({ landed: 'unknown' }))
      .then((end) => {
        cancel()
        resolve(end)
      })
  })
}

/**
 * How long to wait before the attempt after `attempt`; jitter keeps a fleet from marching in step.
 */
export function backoffMs(tool: Tool, attempt: number, clock: Clock): number {
  const { backoffMs: first, backoffMaxMs } = tool.rules.retry
  const full = Math.min(first * 2 ** (attempt - 1), backoffMaxMs)
  return full / 2 + (clock.random() * full) / 2
}
