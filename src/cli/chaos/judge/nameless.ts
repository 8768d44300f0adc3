// A run's own id is no part of what it does: keys and inputs are made of it.
import { canonical } from '../../../model/json/canonical.ts'

/** Ids that chaos makes are in nothing else; `42` or `a` may be in any name. */
const ownStart = 'chaos-'

export function nameless(value: unknown, runId: string): unknown {
  const withoutId = (text: string) => text.replaceAll(runId, '<run>')
  const nameOf = runId.startsWith(ownStart) ? withoutId : (name: string) => name
  const walk = (one: unknown): unknown => {
    if (typeof one === 'string') return withoutId(one)
    if (typeof one !== 'object' || one === null) return one
    if (Array.isArray(one)) return one.map(walk)
    return Object.fromEntries(Object.entries(one).map(([key, part]) => [nameOf(key), walk(part)]))
  }
  return walk(JSON.parse(canonical(value ?? null)))
}
