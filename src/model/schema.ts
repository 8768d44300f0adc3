// Any Standard Schema library validates; this file turns its answer into ours.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { CounterfoilError } from './errors.ts'

export type Schema<In = unknown, Out = In> = StandardSchemaV1<In, Out>
export type InputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : never
export type OutputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : never

export function isSchema(value: unknown): value is Schema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const standard = (value as Record<string, unknown>)['~standard']
  return (
    typeof standard === 'object' &&
    standard !== null &&
    typeof (standard as { validate?: unknown }).validate === 'function'
  )
}

/**
 * The validated value. Synchronous when the library is, so that a call is issued in the very turn
 * in which the node made it; a schema that answers later gives a promise.
 */
export function validate(
  schema: Schema,
  value: unknown,
  what: { code: 'INPUT_INVALID' | 'OUTPUT_INVALID'; subject: string },
): unknown | Promise<unknown> {
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then((r) => accept(r, what)) : accept(result, what)
}

function accept(
  result: StandardSchemaV1.Result<unknown>,
  what: { code: string; subject: string },
): unknown {
  if (!result.issues) return result.value
  const issues = result.issues.map((issue) => {
    const path = (issue.path ?? [])
      .map((part) => (typeof part === 'object' ? part.key : part))
      .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
      .join('')
    return `$${path}: ${issue.message}`
  })
  throw new CounterfoilError(what.code, `${what.subject} is not valid: ${issues.join('; ')}`, {
    details: { issues },
  })
}
