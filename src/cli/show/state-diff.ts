// Two states, as a person compares them: which paths are new, gone or other. Nothing here recurses
// on the stack, since a state may nest as deep as canonical JSON may.
import { canonical } from '../../model/json/canonical.ts'

export interface Change {
  /** `messages[3].text`; the empty path is the state itself. */
  readonly path: string
  readonly kind: 'added' | 'removed' | 'changed'
  readonly before?: unknown
  readonly after?: unknown
}

interface Pair {
  readonly path: string
  readonly before: unknown
  readonly after: unknown
}

export function stateDiff(before: unknown, after: unknown): Change[] {
  const changes: Change[] = []
  const rest: (Pair | Change)[] = [{ path: '', before, after }]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if ('kind' in next) changes.push(next)
    else if (Array.isArray(next.before) && Array.isArray(next.after)) rest.push(...members(next))
    else if (isFields(next.before) && isFields(next.after)) rest.push(...fields(next))
    else if (next.before !== next.after) changes.push({ ...next, kind: 'changed' })
  }
  return changes
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Last first, as the stack wants them. */
function fields({ path, before, after }: Pair): (Pair | Change)[] {
  const a = before as Readonly<Record<string, unknown>>
  const b = after as Readonly<Record<string, unknown>>
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort().reverse()
  return keys.map((key): Pair | Change => {
    const inner = path + keyPath(path, key)
    if (!Object.hasOwn(b, key)) return { path: inner, kind: 'removed', before: a[key] }
    if (!Object.hasOwn(a, key)) return { path: inner, kind: 'added', after: b[key] }
    return { path: inner, before: a[key], after: b[key] }
  })
}

/** What two lists have in common at both ends is left out, so that an insertion reads as one. */
function members({ path, before, after }: Pair): (Pair | Change)[] {
  const [a, b] = [before as readonly unknown[], after as readonly unknown[]]
  const sizeMin = Math.min(a.length, b.length)
  let start = 0
  while (start < sizeMin && isEqual(a[start], b[start])) start++
  let end = 0
  while (end < sizeMin - start && isEqual(a[a.length - 1 - end], b[b.length - 1 - end])) end++
  const found: (Pair | Change)[] = []
  for (let i = start; i < Math.max(a.length, b.length) - end; i++) {
    const inner = `${path}[${i}]`
    if (i >= b.length - end) found.push({ path: inner, kind: 'removed', before: a[i] })
    else if (i >= a.length - end) found.push({ path: inner, kind: 'added', after: b[i] })
    else found.push({ path: inner, before: a[i], after: b[i] })
  }
  return found.reverse()
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a === b || typeof a !== 'object' || typeof b !== 'object') return a === b
  return canonical(a) === canonical(b)
}

function keyPath(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `[${JSON.stringify(key)}]`
  return path === '' ? key : `.${key}`
}
