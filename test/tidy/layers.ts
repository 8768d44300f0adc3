// Who may import whom: section "Layers" of docs/architecture.md as a table.
import { posix } from 'node:path'
import ts from 'typescript'
import { at, lineOf, parse, type Source } from './files.ts'
import { specifiers } from './imports.ts'

interface Layer {
  /** Which files belong to it, by their path inside src. */
  files: RegExp
  /** Names of the layers it may import, besides itself. */
  layers: readonly string[]
  /** Packages and built-ins it may import: exact, `prefix*`, or `*` for all. */
  packages: readonly string[]
}

const ENGINE_BELOW = ['model', 'clock', 'contract', 'engine']
const ALL_BUT_TESTING = [
  ...ENGINE_BELOW,
  ...['memory', 'sqlite', 'postgres', 'redis', 'blob', 'worker', 'client', 'shapes', 'versions'],
  ...['server', 'cli', 'adapters', 'telemetry', 'open', 'index'],
]

function folder(name: string): RegExp {
  return new RegExp(`^${name}/`)
}

function store(name: string, ...drivers: string[]): Layer {
  const layers = ['model', 'clock', 'contract']
  return { files: folder(`store/${name}`), layers, packages: ['node:*', ...drivers] }
}

const LAYERS: Readonly<Record<string, Layer>> = {
  index: { files: /^index\.ts$/, layers: ALL_BUT_TESTING, packages: [] },
  open: { files: /^open\.ts$/, layers: ALL_BUT_TESTING, packages: ['*'] },
  clock: { files: /^clock\.ts$/, layers: ['model'], packages: ['node:crypto', 'node:timers'] },
  model: { files: folder('model'), layers: ['clock'], packages: ['@standard-schema/spec'] },
  contract: {
    files: /^store\/(?:(?:ports|rules|schema|sql|whole-runs)\/)?[^/]+$/,
    layers: ['model', 'clock'],
    packages: [],
  },
  memory: store('memory'),
  sqlite: store('sqlite', 'better-sqlite3'),
  postgres: store('postgres', 'pg', 'pg-*'),
  redis: store('redis', 'ioredis'),
  blob: {
    files: folder('blob'),
    layers: ['model', 'clock', 'contract'],
    packages: ['node:*', 's3mini', 'aws4fetch'],
  },
  engine: { files: folder('engine'), layers: ENGINE_BELOW, packages: ['node:*'] },
  worker: { files: folder('worker'), layers: ENGINE_BELOW, packages: ['node:*'] },
  shapes: { files: folder('shapes'), layers: ENGINE_BELOW, packages: ['node:*'] },
  versions: { files: folder('versions'), layers: ENGINE_BELOW, packages: ['node:*'] },
  client: { files: folder('client'), layers: ['model', 'clock', 'contract'], packages: ['node:*'] },
  telemetry: {
    files: folder('telemetry'),
    layers: ['model', 'clock', 'contract'],
    packages: ['@opentelemetry/api'],
  },
  server: {
    files: folder('server'),
    layers: ['model', 'clock', 'contract', 'client'],
    packages: [
      'node:*',
      'hono',
      'hono/*',
      '@hono/*',
      'hono-openapi',
      'standardwebhooks',
      'pino',
      'zod',
    ],
  },
  cli: { files: folder('cli'), layers: ALL_BUT_TESTING, packages: ['*'] },
  adapters: { files: folder('adapters'), layers: ['index', 'model'], packages: ['*'] },
  testing: { files: folder('testing'), layers: ALL_BUT_TESTING, packages: ['*'] },
}

// Built-ins in layers that are otherwise pure: each file with its reason.
const LISTED: Readonly<Record<string, readonly string[]>> = {
  // The hash of canonical JSON.
  'model/json/canonical.ts': ['node:crypto'],
  // The MAC of a record, the same for every store.
  'store/seal.ts': ['node:crypto'],
  // Which boot this is: leases on the monotonic clock and proofs of death both depend on it.
  'store/boot.ts': ['node:fs', 'node:child_process'],
}

function layerOf(path: string): string | undefined {
  return Object.keys(LAYERS).find((name) => LAYERS[name]?.files.test(path))
}

/** Every layer imports only what the table allows. */
export function checkImports(source: Source): string[] {
  const path = source.path.replace(/^src\//, '')
  const name = layerOf(path)
  const layer = name === undefined ? undefined : LAYERS[name]
  if (name === undefined || layer === undefined) {
    return [`${source.path} belongs to no layer: give its folder a place in test/tidy/layers.ts`]
  }
  return specifiers(source).flatMap(({ text, line }) => {
    const target = targetOf(path, text)
    const allowed =
      target === undefined
        ? [...layer.packages, ...(LISTED[path] ?? [])].some((pattern) => covers(pattern, text))
        : target === name || layer.layers.includes(target)
    return allowed ? [] : [at(source, line, `layer ${name} may not import ${target ?? text}`)]
  })
}

/** The layer that a specifier leads to; undefined for a package or a built-in. */
function targetOf(path: string, specifier: string): string | undefined {
  if (specifier === 'counterfoil') return 'index'
  if (specifier.startsWith('counterfoil/')) return specifier.slice('counterfoil/'.length)
  if (!specifier.startsWith('.')) return undefined
  const target = posix.join(posix.dirname(path), specifier)
  return layerOf(target) ?? `${target} (outside of every layer)`
}

function covers(pattern: string, specifier: string): boolean {
  return pattern.endsWith('*') ? specifier.startsWith(pattern.slice(0, -1)) : pattern === specifier
}

/** index.ts gives names to the outside and holds nothing itself. */
export function checkOnlyReexports(source: Source): string[] {
  return parse(source)
    .statements.filter((node) => !(ts.isExportDeclaration(node) && node.moduleSpecifier))
    .map((node) => at(source, lineOf(node), 'may only re-export names from other files'))
}
