// Names of tools, graphs, nodes, namespaces.
import { errorFor } from './errors.ts'
import * as limits from './limits.ts'

export function isName(name: unknown): name is string {
  if (typeof name !== 'string' || name.length > limits.nameLengthMax) return false
  return /^\w[\w.:-]*$/.test(name)
}

export function checkName(what: string, name: unknown): string {
  if (isName(name)) return name
  const code = what === 'tool' ? 'TOOL_INVALID' : 'GRAPH_INVALID'
  const why = `letters, digits, _ . : - and at most ${limits.nameLengthMax} of them`
  throw errorFor(code, null, `${what} name ${shown(name)} is not usable: ${why}`, { name })
}

/** JSON where there is any: a BigInt has none. */
export function shown(value: unknown): string {
  const bare = typeof value === 'bigint' || typeof value === 'symbol'
  return bare ? String(value) : JSON.stringify(value)
}
