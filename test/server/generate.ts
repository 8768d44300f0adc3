// Values for a JSON Schema, as OpenAPI has it: a plain valid one, and ones that are off.
import { fc } from '../seed.ts'

export interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  pattern?: string
  format?: string
  minimum?: number
  minItems?: number
  minLength?: number
}

/** The least that fits. */
export function plain(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf?.[0]) return plain(schema.anyOf[0])
  if (schema.type === 'string') return text(schema)
  if (schema.type === 'integer' || schema.type === 'number') return Math.max(1, schema.minimum ?? 1)
  if (schema.type === 'boolean') return true
  if (schema.type === 'array') {
    return Array.from({ length: schema.minItems ?? 0 }, () => plain(schema.items ?? {}))
  }
  if (schema.type !== 'object') return null
  const required = schema.required ?? []
  return Object.fromEntries(required.map((key) => [key, plain(schema.properties?.[key] ?? {})]))
}

function text({ format, pattern }: Schema): string {
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  if (format === 'uri') return 'https://example.com/'
  return pattern?.includes('\\d') ? '1' : 'a'
}

const nasty = [
  ...['', ' ', '\u0000', '\ud800', '../../etc/passwd', '%2e%2e%2f', "'; drop table runs; --"],
  ...['<script>alert(1)</script>', '__proto__', 'constructor', '💥'.repeat(50), 'a'.repeat(5_000)],
  ...['{{7*7}}', '$(id)', '\r\nSet-Cookie: a=b', '-1', '1e309', 'NaN', 'null', '[]'],
]

const anything = fc.oneof(
  fc.constantFrom(...nasty),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 3 }),
)

export const nastyText = fc.oneof(
  fc.constantFrom(...nasty),
  fc.string({ unit: 'binary', maxLength: 60 }),
)

/** Sometimes right, mostly nearly so. */
export function fuzz(schema: Schema): fc.Arbitrary<unknown> {
  const near: fc.Arbitrary<unknown> = within(schema)
  return fc.oneof({ weight: 6, arbitrary: near }, { weight: 1, arbitrary: anything })
}

function within(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fuzz))
  if (schema.type === 'string') return fc.oneof(fc.constant(text(schema)), nastyText)
  if (schema.type === 'integer' || schema.type === 'number') return fc.oneof(fc.nat(), fc.double())
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'array') return fc.array(fuzz(schema.items ?? {}), { maxLength: 4 })
  if (schema.type !== 'object') return anything
  const entries = Object.entries(schema.properties ?? {}).map(
    ([key, value]) => [key, fuzz(value)] as const,
  )
  const known = fc.record(Object.fromEntries(entries), {
    requiredKeys: schema.required ?? [],
  } as never)
  const missing = fc.record(Object.fromEntries(entries), { requiredKeys: [] } as never)
  const more = fc.tuple(known, fc.dictionary(fc.string(), anything, { maxKeys: 2 }))
  return fc.oneof(
    { weight: 4, arbitrary: known },
    missing,
    more.map(([a, b]) => ({ ...(a as object), ...b })),
  )
}
