// Every error of Counterfoil carries a `code` with a page under docs/errors/, and is recognised by
// a symbol instead of instanceof, so that two copies of the package in one process still agree.
import { lookAt } from './look.ts'
import type { ErrorOptions, Said } from './said.ts'
import { type ErrorCode, type WordedCode, wordings } from './table.ts'

const brand = Symbol.for('counterfoil.error')

/**
 * The base of every error that Counterfoil throws. Its codes are those of the table, unless it is
 * said that another one may come: `new CounterfoilError<string>(code, …)`.
 */
export class CounterfoilError<Code extends string = ErrorCode> extends Error {
  readonly code: string
  readonly retryable: boolean
  readonly details: Record<string, unknown>

  constructor(code: NoInfer<Code>, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
    Object.defineProperty(this, brand, { value: true })
  }
}

/** The error with this code, about these facts. */
export function errorFor<C extends WordedCode>(
  code: C,
  ...facts: Parameters<(typeof wordings)[C]>
): CounterfoilError {
  const wording: (...facts: never[]) => Said = wordings[code]
  const { message, ...options } = wording(...(facts as never[]))
  return new CounterfoilError(code, message, options)
}

/**
 * True for an error of Counterfoil, of this copy of the package or another; with `code`, for that
 * one.
 */
export function isCounterfoilError<Code extends string = ErrorCode>(
  error: unknown,
  code?: NoInfer<Code>,
): error is CounterfoilError {
  if (typeof error !== 'object' || error === null) return false
  // Anything can be thrown, also what throws when it is looked at.
  if (lookAt(() => brand in error) !== true) return false
  return code === undefined || lookAt(() => (error as { code?: unknown }).code) === code
}
