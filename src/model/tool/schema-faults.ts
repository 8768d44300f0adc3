// As much of JSON Schema as is needed to say what is wrong with an answer, where the tool's own
// schema is not at hand: in the console's forms, and on the command line. The engine asks the
// tool's schema in any case; this only saves a way there and back.

export interface Schema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
}

/** What is wrong, each with its path; nothing if all is well as far as can be seen here. */
export function faults(schema: Schema, value: unknown, path = ''): string[] {
  const at = path === '' ? 'it' : path
  if (schema.const !== undefined && !same(schema.const, value)) {
    return [`${at} must be ${JSON.stringify(schema.const)}`]
  }
  if (schema.enum && !schema.enum.some((one) => same(one, value))) {
    return [`${at} must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}`]
  }
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  if (types.length > 0 && !types.some((type) => isType(type, value))) {
    return [`${at} must be ${types.join(' or ')}`]
  }
  if (typeof value === 'number') return numberFaults(schema, value, at)
  if (typeof value === 'string') return textFaults(schema, value, at)
  if (Array.isArray(value)) return listFaults(schema, value, path, at)
  return typeof value === 'object' && value !== null
    ? fieldFaults(schema, value as Readonly<Record<string, unknown>>, path)
    : []
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function isType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}

function numberFaults(schema: Schema, value: number, at: string): string[] {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema
  if (minimum !== undefined && value < minimum) return [`${at} must be at least ${minimum}`]
  if (maximum !== undefined && value > maximum) return [`${at} must be at most ${maximum}`]
  if (above !== undefined && value <= above) return [`${at} must be more than ${above}`]
  if (below !== undefined && value >= below) return [`${at} must be less than ${below}`]
  return []
}

function textFaults(schema: Schema, value: string, at: string): string[] {
  const { minLength, maxLength, pattern } = schema
  const length = [...value].length
  if (minLength !== undefined && length < minLength) return [`${at} needs ${minLength} characters`]
  if (maxLength !== undefined && length > maxLength) {
    return [`${at} has ${length} characters, ${maxLength} at most`]
  }
  if (pattern !== undefined && !matches(pattern, value)) return [`${at} must match ${pattern}`]
  return []
}

/** A pattern that this browser cannot read is left to the server. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

function listFaults(schema: Schema, value: readonly unknown[], path: string, at: string): string[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items } = schema
  if (value.length < minItems) return [`${at} needs ${minItems} members`]
  if (value.length > maxItems) return [`${at} has ${value.length} members, ${maxItems} at most`]
  return items ? value.flatMap((one, index) => faults(items, one, `${path}[${index}]`)) : []
}

function fieldFaults(schema: Schema, value: Readonly<Record<string, unknown>>, path: string) {
  const named = (name: string) => (path === '' ? name : `${path}.${name}`)
  const known = schema.properties ?? {}
  const missing = (schema.required ?? []).filter((name) => value[name] === undefined)
  const strange =
    schema.additionalProperties === false
      ? Object.keys(value).filter((name) => !Object.hasOwn(known, name))
      : []
  return [
    ...missing.map((name) => `${named(name)} is missing`),
    ...strange.map((name) => `${named(name)} is not known`),
    ...Object.entries(known).flatMap(([name, inner]) =>
      value[name] === undefined ? [] : faults(inner, value[name], named(name)),
    ),
  ]
}
