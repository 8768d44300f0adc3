// Any Standard Schema library validates; this file turns its answer into ours, and asks it what a
// schema looks like.
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { type CounterfoilError, errorFor } from '../errors.ts'

export type Schema<In = unknown, Out = In> = StandardSchemaV1<In, Out>
export type InputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : never
export type OutputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : never

type Scalar = string | number | bigint | boolean | symbol | null | undefined

/** Plain data that nobody may change, at any depth. What may be changed can be given for it. */
export type Frozen<T> = T extends Scalar
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T

export function isSchema(value: unknown): value is Schema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const standard = (value as Record<string, unknown>)['~standard']
  return (
    typeof standard === 'object' &&
    standard !== null &&
    typeof (standard as { validate?: unknown }).validate === 'function'
  )
}

/** What a value is called when it does not fit, and by which code. */
export interface Checked {
  readonly code: 'INPUT_INVALID' | 'OUTPUT_INVALID' | 'STATE_INVALID'
  readonly subject: string
}

/**
 * The validated value. Synchronous when the library is, so that a call is issued in the very turn
 * in which the node made it; a schema that answers later gives a promise.
 */
export function validate(
  schema: Schema,
  value: unknown,
  what: Checked,
): unknown | Promise<unknown> {
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then((r) => accept(r, what)) : accept(result, what)
}

function accept(result: StandardSchemaV1.Result<unknown>, what: Checked): unknown {
  if (!result.issues) return result.value
  const issues = result.issues.map((issue) => {
    const path = (issue.path ?? [])
      .map((part) => (typeof part === 'object' ? part.key : part))
      .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
      .join('')
    return `$${path}: ${issue.message}`
  })
  throw notValid(what, issues)
}

export function notValid({ code, subject }: Checked, issues: readonly string[]): CounterfoilError {
  return errorFor(code, `${subject} is not valid: ${issues.join('; ')}`, { issues })
}

/** What a library tells of one side of a schema. */
export interface ShownSchema {
  /** JSON Schema, draft 2020-12. */
  readonly json: Readonly<Record<string, unknown>>
  /** It has parts that JSON Schema has no word for; `json` leaves them open. */
  readonly partial: boolean
}

/**
 * The JSON Schema of what a schema takes or gives, by the Standard JSON Schema part of the
 * specification. Null if the library has no such part, or cannot tell.
 */
export function jsonSchemaOf(schema: Schema, side: 'input' | 'output'): ShownSchema | null {
  const standard: Partial<StandardJSONSchemaV1.Props> = schema['~standard']
  const ask = (libraryOptions?: Record<string, unknown>) => {
    const options = { target: 'draft-2020-12', ...(libraryOptions && { libraryOptions }) }
    const json = standard.jsonSchema?.[side](options)
    return json ? { json, partial: libraryOptions !== undefined } : null
  }
  try {
    return ask()
  } catch {
    try {
      // zod's word for: leave out what cannot be said. One date must not hide a whole state.
      return ask({ unrepresentable: 'any' })
    } catch {
      return null
    }
  }
}

type Keys = Readonly<Record<string, unknown>>

/** The schema of one key of an object, where the library shows it; else null. */
export function keySchema(schema: Schema, key: string): Schema | null {
  const keys = keysOf(schema)
  const found = keys && Object.hasOwn(keys, key) ? keys[key] : null
  return isSchema(found) ? found : null
}

function keysOf(schema: Schema): Keys | undefined {
  const { vendor } = schema['~standard']
  if (vendor === 'zod') return (schema as { shape?: Keys }).shape
  if (vendor !== 'valibot') return undefined
  const { entries, pipe = [] } = schema as { entries?: Keys; pipe?: readonly { kind: string }[] }
  // A pipe shows the entries of its first part, whatever the later ones make of them.
  const kept = pipe.slice(1).every(({ kind }) => kind === 'validation' || kind === 'metadata')
  return kept ? entries : undefined
}
