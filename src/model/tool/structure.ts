// What a schema's own object tells where its library gives no JSON Schema: valibot's schemas are
// plain objects that name their type, entries and pipe. Only properties that are known to say what
// is valid are read. A function cannot be compared: where one decides, the result is partial.

/** What was read of a schema. */
export interface Structure {
  readonly parts: unknown
  /** Functions, classes or cycles have a say in it, and changes of those are not seen. */
  readonly partial: boolean
}

// In valibot's words. What decides by being a function (`check`, `transform`, `lazy`) shows a type.
const nested = ['entries', 'item', 'items', 'rest', 'wrapped', 'key', 'value', 'options', 'pipe']
const data = ['type', 'kind', 'literal', 'enum', 'requirement', 'bundle', 'brand', 'name']
const byFunction = new Set(
  (
    'check check_items partial_check raw_check raw_transform transform lazy custom instance ' +
    'filter_items find_item map_items reduce_items sort_items some_item every_item function'
  ).split(' '),
)
const depthMax = 64

/** Null where the object shows nothing that can be read. */
export function structureOf(schema: object): Structure | null {
  const { type, kind } = schema as { type?: unknown; kind?: unknown }
  if (typeof type !== 'string' || kind !== 'schema') return null
  let partial = false
  const open = (what: string) => {
    partial = true
    return { open: what }
  }
  const read = (value: unknown, above: readonly object[]): unknown => {
    if (typeof value === 'function') return open('function')
    if (typeof value === 'bigint') return { bigint: `${value}` }
    if (typeof value === 'symbol' || value === undefined) return open(typeof value)
    if (typeof value === 'number' && !Number.isFinite(value)) return { number: `${value}` }
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof RegExp) return { pattern: value.source, flags: value.flags }
    if (value instanceof Date) return { date: value.getTime() }
    if (above.includes(value) || above.length > depthMax) return open('cycle')
    const within = [...above, value]
    if (Array.isArray(value)) return value.map((one) => read(one, within))
    const own = value as Readonly<Record<string, unknown>>
    const isPart = typeof own['kind'] === 'string' && typeof own['type'] === 'string'
    if (isPart && byFunction.has(own['type'] as string)) partial = true
    const known = [...data, ...nested].filter((name) => name in own && !isLibrarys(own, name))
    const names = isPart ? known : Object.keys(own)
    // The first part of a pipe is the schema itself, as it was before.
    const shown = isPart && Array.isArray(own['pipe']) && above.at(-1) !== own['pipe']
    const kept = shown ? ['kind', 'type', 'pipe'] : names.filter((name) => name !== 'pipe')
    return Object.fromEntries(kept.map((name) => [name, read(own[name], within)]))
  }
  const parts = read(schema, [])
  return { parts, partial }
}

/** What `email` or `integer` mean is the library's, and may be put better by its next release. */
function isLibrarys(part: Readonly<Record<string, unknown>>, name: string): boolean {
  const { type, requirement } = part
  if (name !== 'requirement') return false
  return typeof requirement === 'function' || (requirement instanceof RegExp && type !== 'regex')
}
