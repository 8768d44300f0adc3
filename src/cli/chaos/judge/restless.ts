// Inputs that move without any crash: a time, a random id. Only what moves of them is left out, or
// who gets the same thing twice, and who never, would look alike.
import { canonical } from '../../../model/json/canonical.ts'

/** Paths of which two runs have not the same values, in whatever order they come. */
export function movingParts(a: readonly unknown[], b: readonly unknown[]): ReadonlySet<string> {
  const [was, is] = [valuesByPath(a), valuesByPath(b)]
  const paths = [...new Set([...was.keys(), ...is.keys()])]
  const sorted = (values: readonly string[] = []) => canonical([...values].sort())
  return new Set(paths.filter((path) => sorted(was.get(path)) !== sorted(is.get(path))))
}

export function withoutParts(value: unknown, parts: ReadonlySet<string>, path = '$'): unknown {
  if (!isBranch(value)) return parts.has(path) ? null : value
  if (Array.isArray(value)) return value.map((one, i) => withoutParts(one, parts, `${path}/${i}`))
  const left = Object.entries(value).filter(([key]) => !parts.has(`${path}/${key}`))
  return Object.fromEntries(
    left.map(([key, one]) => [key, withoutParts(one, parts, `${path}/${key}`)]),
  )
}

function valuesByPath(inputs: readonly unknown[]): ReadonlyMap<string, string[]> {
  const values = new Map<string, string[]>()
  const look = (value: unknown, path: string) => {
    if (isBranch(value)) {
      for (const [key, one] of Object.entries(value)) look(one, `${path}/${key}`)
      return
    }
    const known = values.get(path)
    if (known) known.push(canonical(value))
    else values.set(path, [canonical(value)])
  }
  for (const input of inputs) look(input, '$')
  return values
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
