// A JSON Schema in the one form that says nothing but what is valid.
import { canonical, sha256 } from '../json/canonical.ts'
import { own } from '../json/own.ts'

type Json = Readonly<Record<string, unknown>>

// The keywords that say what is valid, by what they hold. All others describe: by the JSON Schema
// specification one that nobody knows is a remark, as a title is.
const holdsSchema = new Set(
  (
    'additionalItems additionalProperties allOf anyOf contains contentSchema else if items not ' +
    'oneOf prefixItems propertyNames then unevaluatedItems unevaluatedProperties'
  ).split(' '),
)
const holdsSchemas = new Set(['dependentSchemas', 'patternProperties', 'properties'])
const holdsData = new Set(
  (
    'const contentEncoding contentMediaType dependentRequired enum exclusiveMaximum ' +
    'exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum minContains ' +
    'minItems minLength minProperties minimum multipleOf pattern required type uniqueItems'
  ).split(' '),
)
const isSet = new Set(['allOf', 'anyOf', 'enum', 'oneOf', 'required', 'type'])

/**
 * A JSON Schema without remarks, in which definitions are named by a hash of what they say:
 * libraries number them as they meet them, some of them over the whole process. The hashes are made
 * in rounds, each from the ones before, until a round tells no more definitions apart.
 */
export function normalSchema(root: Json): unknown {
  const targets = new Map<string, unknown>()
  const visit = (ref: string): string => {
    if (!targets.has(ref)) {
      targets.set(ref, targetOf(root, ref))
      normal(targets.get(ref), visit)
    }
    return ref
  }
  normal(root, visit)
  let names = new Map([...targets.keys()].map((ref) => [ref, '']))
  const named = (ref: string) => names.get(ref) as string
  for (let known = 0, found = 1; found > known; ) {
    names = new Map([...targets].map(([ref, to]) => [ref, nameOf(normal(to, named))]))
    known = found
    found = new Set(names.values()).size
  }
  const defs = Object.fromEntries([...targets].map(([ref, to]) => [named(ref), normal(to, named)]))
  return { ...(normal(root, named) as Json), ...(targets.size > 0 && { $defs: defs }) }
}

function nameOf(definition: unknown): string {
  return sha256(canonical(definition)).slice(0, 16)
}

function normal(schema: unknown, named: (ref: string) => string): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((part) => normal(part, named))
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$ref') out[key] = named(String(value))
    else if (holdsSchema.has(key)) out[key] = normal(value, named)
    else if (holdsData.has(key)) out[key] = value
    else if (holdsSchemas.has(key)) {
      const each = Object.entries(value as Json).map(([name, part]) => [name, normal(part, named)])
      out[key] = Object.fromEntries(each)
    }
    if (isSet.has(key) && Array.isArray(out[key])) out[key] = sortedSet(out[key])
  }
  return out
}

function sortedSet(members: readonly unknown[]): unknown[] {
  const texts = members.map((member) => canonical(member)).sort()
  return texts.map((text) => JSON.parse(text))
}

/** What a reference inside the document leads to; any other stands for itself. */
function targetOf(root: Json, ref: string): unknown {
  const defs = '#/$defs/'
  // As it is written, first: not every library escapes the names that users give.
  const named = ref.startsWith(defs) && own((root['$defs'] ?? {}) as Json, ref.slice(defs.length))
  if (named) return named
  if (ref !== '#' && !ref.startsWith('#/')) return { const: ref }
  let at: unknown = root
  for (const step of decodeURIComponent(ref).split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null ? own(at as Json, key) : undefined
  }
  return at ?? { const: ref }
}
