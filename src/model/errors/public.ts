// The same for whoever uses the package: their stores, tools and hosts may have codes of their own.
import * as ours from './error.ts'

/** The base of every error that Counterfoil throws. */
export const CounterfoilError = ours.CounterfoilError<string>
export type CounterfoilError = ours.CounterfoilError<string>

/**
 * True for an error of Counterfoil, of this copy of the package or another; with `code`, for that
 * one.
 */
export const isCounterfoilError = ours.isCounterfoilError<string>
