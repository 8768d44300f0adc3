// Two values, as a person compares them: which paths are new, gone or other.

export interface Change {
  /** `messages[3].text`; the empty path is the value itself. */
  readonly path: string
  readonly kind: 'added' | 'removed' | 'changed'
  readonly before?: unknown
  readonly after?: unknown
}

type Fields = Readonly<Record<string, unknown>>

export function diff(before: unknown, after: unknown, path = ''): Change[] {
  if (isEqual(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after)) return members(before, after, path)
  if (isFields(before) && isFields(after)) return fields(before, after, path)
  return [{ path, kind: 'changed', before, after }]
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The order of fields says nothing. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => isEqual(one, b[index]))
  }
  if (!isFields(a) || !isFields(b)) return false
  const names = Object.keys(a)
  const same = (name: string) => Object.hasOwn(b, name) && isEqual(a[name], b[name])
  return names.length === Object.keys(b).length && names.every(same)
}

function fields(a: Fields, b: Fields, path: string): Change[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return names.flatMap((name): Change[] => {
    const inner = path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(b, name)) return [{ path: inner, kind: 'removed', before: a[name] }]
    if (!Object.hasOwn(a, name)) return [{ path: inner, kind: 'added', after: b[name] }]
    return diff(a[name], b[name], inner)
  })
}

/** What two lists have in common at both ends is left out, so that an insertion reads as one. */
function members(a: readonly unknown[], b: readonly unknown[], path: string): Change[] {
  const least = Math.min(a.length, b.length)
  let start = 0
  while (start < least && isEqual(a[start], b[start])) start++
  let end = 0
  while (end < least - start && isEqual(a[a.length - 1 - end], b[b.length - 1 - end])) end++
  const found: Change[] = []
  for (let i = start; i < Math.max(a.length, b.length) - end; i++) {
    const inner = `${path}[${i}]`
    if (i >= b.length - end) found.push({ path: inner, kind: 'removed', before: a[i] })
    else if (i >= a.length - end) found.push({ path: inner, kind: 'added', after: b[i] })
    else found.push(...diff(a[i], b[i], inner))
  }
  return found
}
