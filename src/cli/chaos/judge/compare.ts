// Where two plain values differ, as paths: `output.items.0.id`.
import { canonical } from '../../../model/json/canonical.ts'

export interface Difference {
  readonly path: string
  readonly was: unknown
  readonly is: unknown
}

export function differences(was: unknown, is: unknown, path: string): Difference[] {
  if (canonical(was ?? null) === canonical(is ?? null)) return []
  if (!isObject(was) || !isObject(is) || Array.isArray(was) !== Array.isArray(is)) {
    return [{ path, was, is }]
  }
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return keys.flatMap((key) => differences(was[key], is[key], `${path}.${key}`))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Whether a path is one of these or below one; `*` stands for any one part. */
export function isWithin(path: string, patterns: readonly string[]): boolean {
  const parts = path.split('.')
  return patterns.some((pattern) =>
    pattern.split('.').every((part, index) => part === '*' || part === parts[index]),
  )
}
