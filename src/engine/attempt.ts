// One dispatch of a tool: runs its function once, with a timeout, and says how it ended. It never
// throws and never decides what follows.
import type { Clock } from '../clock.ts'
import { canonical, wellFormed } from '../model/canonical.ts'
import { type FailureData, failureOf, isCounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import { validate } from '../model/schema.ts'
import type { CallInfo, Tool } from '../model/tool.ts'

/** A result as it is recorded: what a replay reads back is what a fresh call delivers. */
export interface Result {
  /** Null when the tool returned nothing. */
  readonly json: string | null
  readonly externalId: string | null
  readonly usageJson: string | null
}

export type AttemptEnd =
  | { readonly outcome: 'landed'; readonly result: Result }
  | { readonly outcome: 'refused' | 'not_sent'; readonly failure: FailureData }
  /** `running`: its time is over, but its function has not returned. */
  | { readonly outcome: 'unknown'; readonly failure: FailureData; readonly running: boolean }

export type ProbeEnd = { landed: 'yes'; result: Result } | { landed: 'no' | 'unknown' }

/** The call as its tool's functions see it; the signal is made only when somebody looks at it. */
export class LiveCall implements CallInfo {
  readonly runId: string
  readonly node: string
  readonly tool: string
  readonly attempt: number
  readonly attemptId: string
  readonly idempotencyKey: string | null
  private controller: AbortController | null = null
  private reason: Error | null = null

  constructor(of: Omit<CallInfo, 'abortSignal'>) {
    this.runId = of.runId
    this.node = of.node
    this.tool = of.tool
    this.attempt = of.attempt
    this.attemptId = of.attemptId
    this.idempotencyKey = of.idempotencyKey
  }

  get abortSignal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.reason) this.controller.abort(this.reason)
    }
    return this.controller.signal
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
    let timedOut = false
    const cancel = clock.after(tool.rules.timeoutMs, () => {
      timedOut = true
      const message = `${tool.name} did not answer within ${tool.rules.timeoutMs} ms`
      const failure: FailureData = { kind: 'unknown', name: 'TimeoutError', message }
      call.abort(Object.assign(new Error(message), { name: 'TimeoutError' }))
      resolve({ outcome: 'unknown', failure, running: true })
    })
    runToEnd(tool, input, call).then((end) => {
      cancel()
      if (timedOut) onLate(end)
      else resolve(end)
    })
  })
}

async function runToEnd(tool: Tool, input: unknown, call: LiveCall): Promise<AttemptEnd> {
  let value: unknown
  try {
    value = await tool.rules.run(input, call)
  } catch (error) {
    if (isCounterfoilError(error, 'NOT_SENT')) {
      return { outcome: 'not_sent', failure: failureOf(error, 'not_sent') }
    }
    if (isCounterfoilError(error, 'REFUSED')) {
      return { outcome: 'refused', failure: failureOf(error, 'refused') }
    }
    return { outcome: 'unknown', failure: failureOf(error, 'failed'), running: false }
  }
  try {
    return { outcome: 'landed', result: await resultOf(tool, value) }
  } catch (error) {
    // It landed, but nobody can say what it answered: for a call that is not pure, a person may
    // know.
    return { outcome: 'unknown', failure: failureOf(error, 'failed'), running: false }
  }
}

async function resultOf(tool: Tool, raw: unknown): Promise<Result> {
  const subject = `result of ${tool.name}`
  const { output } = tool.rules
  const value = output ? await validate(output, raw, { code: 'OUTPUT_INVALID', subject }) : raw
  const json = value === undefined ? null : canonical(value)
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
