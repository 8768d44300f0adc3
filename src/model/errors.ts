// Errors: the base and its factory, the classes, the failures that are recorded.

export * from './errors/classes.ts'
export { CounterfoilError, errorFor, isCounterfoilError } from './errors/error.ts'
export { type FailureData, failureOf } from './errors/failure.ts'
export type { ErrorOptions } from './errors/said.ts'
export { type ErrorCode, errorCodes } from './errors/table.ts'
