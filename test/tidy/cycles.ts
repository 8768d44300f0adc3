// No import cycle, types included: files that import each other can only be read, tested and moved
// together. What two files share goes to a third, which both import.
import { posix } from 'node:path'
import type { Source } from './files.ts'
import { specifiers } from './imports.ts'

export function checkCycles(files: readonly Source[]): string[] {
  return knotsOf(importsOf(files)).map(
    (files) =>
      `${nameOf(files)}: import each other; put what they share in a file that both import`,
  )
}

function nameOf(files: readonly string[]): string {
  return [...files].sort().join(', ')
}

type Imports = ReadonlyMap<string, readonly string[]>

/** By the path of a file: those of the others that it imports. */
function importsOf(files: readonly Source[]): Imports {
  const paths = new Set(files.map(({ path }) => path))
  return new Map(
    files.map((file) => {
      const targets = specifiers(file).map(({ text }) => targetOf(file.path, text))
      return [file.path, targets.filter((target) => paths.has(target))]
    }),
  )
}

function targetOf(path: string, specifier: string): string {
  if (specifier === 'counterfoil') return 'src/index.ts'
  if (!specifier.startsWith('.')) return specifier
  // TypeScript finds the same file by the name that it will have when it is built.
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
}

/** Two files are in one knot if each leads to the other. */
function knotsOf(imports: Imports): string[][] {
  const ways = new Map([...imports.keys()].map((path) => [path, reach(imports, path)]))
  const leads = (from: string, to: string) => ways.get(from)?.has(to) === true
  const knots = new Map<string, string[]>()
  for (const path of imports.keys()) {
    if (!leads(path, path)) continue
    const files = [...imports.keys()].filter((other) => leads(path, other) && leads(other, path))
    knots.set(nameOf(files), files)
  }
  return [...knots.values()]
}

/** All that a file leads to; itself only if there is a way back. */
function reach(imports: Imports, from: string): ReadonlySet<string> {
  const seen = new Set<string>()
  const next = [...(imports.get(from) ?? [])]
  for (let path = next.pop(); path !== undefined; path = next.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    next.push(...(imports.get(path) ?? []))
  }
  return seen
}
