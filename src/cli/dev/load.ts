// Finds what a user's file exports: graphs, and the gate that their calls pass.
import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import type { RiskPolicy } from '../../model/tool/risk.ts'
import { nearPath, shellWord } from '../show/text.ts'
import { usageError } from '../usage.ts'

/** The command that loads a file. */
export type Loader = 'chaos' | 'dev' | 'serve' | 'worker'

/** What a worker carries. */
export interface Carried {
  readonly graphs: readonly Graph[]
  readonly gate?: RiskPolicy
}

/** Of several files one may have a gate: it is asked about every call. */
export async function loadFiles(files: readonly string[], command: Loader): Promise<Carried> {
  const all = await Promise.all(files.map((file) => loadFile(file, command)))
  const gates = [...new Set(all.flatMap(({ gate }) => gate ?? []))]
  if (gates.length > 1) throw usageError('more than one of the files exports a `gate`')
  const [gate] = gates
  return { graphs: all.flatMap(({ graphs }) => graphs), ...(gate ? { gate } : {}) }
}

export async function loadFile(file: string, command: Loader): Promise<Carried> {
  const { path, exported } = await importFile(file, command)
  const carried = carriedIn(path, exported)
  if (carried.graphs.length > 0) return carried
  throw withoutGraph(path, exported)
}

export type Exported = Readonly<Record<string, unknown>>

/** All that a file exports. */
export async function importFile(
  file: string,
  command: Loader,
): Promise<{ path: string; exported: Exported }> {
  const path = resolve(file)
  if (!existsSync(path)) throw notLoaded(`there is no file ${path}`)
  return { path, exported: await load(path, command) }
}

/** What of it a worker carries; it may be nothing. */
export function carriedIn(path: string, exported: Exported): Carried {
  const graphs = [...new Set(Object.values(exported).flatMap(graphsIn))]
  const { gate } = exported
  if (gate !== undefined && typeof gate !== 'function') {
    throw notLoaded(`${path} exports \`gate\`, which must be a function of a call`)
  }
  return { graphs, ...(gate ? { gate: gate as RiskPolicy } : {}) }
}

export function withoutGraph(path: string, exported: Exported, otherwise = ''): CounterfoilError {
  return errorFor('MODULE_WITHOUT_GRAPH', path, Object.keys(exported), otherwise)
}

async function load(path: string, command: Loader): Promise<Exported> {
  try {
    return (await import(pathToFileURL(path).href)) as Exported
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const typescript = ['.ts', '.mts', '.cts'].includes(extname(path))
    if (typescript && (code === 'ERR_UNKNOWN_FILE_EXTENSION' || error instanceof SyntaxError)) {
      throw notLoaded(typescriptHelp(path, command), error)
    }
    throw notLoaded(`${path} cannot be imported: ${message ?? String(error)}`, error)
  }
}

/** Chaos loads files in processes of its own: what was started there is no command of a user. */
function typescriptHelp(path: string, command: Loader): string {
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  const [script, file] = [main, path].map((one) => shellWord(nearPath(one)))
  return (
    `Node ${process.versions.node} cannot import TypeScript by itself. Run it through tsx: ` +
    `npm install --save-dev tsx, then node --import tsx ${script} ${command} ${file}; or build ` +
    'it to JavaScript, or use Node 22.18 or newer'
  )
}

function notLoaded(message: string, cause?: unknown): CounterfoilError {
  return errorFor('MODULE_NOT_LOADED', message, cause)
}

function graphsIn(value: unknown): Graph[] {
  if (Array.isArray(value)) return value.flatMap(graphsIn)
  return isGraph(value) ? [value] : []
}

// By its shape: the file may have made it with another copy of the package.
function isGraph(value: unknown): value is Graph {
  if (typeof value !== 'object' || value === null) return false
  const { id, name, version, nodes, tools } = value as Partial<Record<keyof Graph, unknown>>
  const named = [id, name, version].every((text) => typeof text === 'string')
  return named && nodes instanceof Map && tools instanceof Map
}
