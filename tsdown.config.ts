import { basename, dirname } from 'node:path/posix'
import { defineConfig } from 'tsdown'

const entry = [
  ...['src/index.ts', 'src/store/index.ts', 'src/testing/index.ts', 'src/cli/main.ts'],
  ...['langgraph', 'ai-sdk'].map((name) => `src/adapters/${name}/index.ts`),
  // A thread that workers start, and what it loads; nothing imports them.
  ...['src/worker/keeper-thread.ts', 'src/store/sqlite/renewer.ts'],
  'src/store/postgres/renewer.ts',
  // Processes that the demo starts; nothing imports them.
  ...['mail-server', 'plain-worker', 'worker', 'live/upstreams', 'live/worker'].map(
    (name) => `src/cli/demo/${name}.ts`,
  ),
  // Processes that chaos starts, and kills.
  ...['server', 'life'].map((name) => `src/cli/chaos/${name}.ts`),
]

// What nearly every program loads, each with its rooms. To load a module costs Node 0.7 ms whatever
// its size.
const together = ['model', 'store/memory', 'store/sqlite', 'store/postgres', 'store'].concat(
  ...['blob', 'engine', 'worker', 'client'],
)
// What the thread of a worker needs of its layer, so that it does not load the engine.
const ofThread = ['lease-memory', 'renewing', 'within'].map((name) => `worker/${name}`)

/**
 * One output file for each of those folders, `engine/engine.js`, and one for each source file of
 * the others: a stack trace names the layer and the function, and what a file finds beside itself
 * (.sql files, entries of threads and processes) keeps its place.
 */
function fileOf(id: string): string | null {
  const path = /\/(src\/.+)(?<!\.d)\.ts$/.exec(id)?.[1]
  if (path === undefined || entry.includes(`${path}.ts`)) return null
  const name = path.slice('src/'.length)
  if (ofThread.includes(name)) return 'worker/thread-parts'
  const folder = together.find((one) => name.startsWith(`${one}/`))
  return folder === undefined ? name : `${folder}/${basename(folder)}`
}

const common = {
  entry,
  platform: 'node',
  fixedExtension: false,
  target: 'node20.19',
  outDir: 'dist',
} as const

export default defineConfig([
  {
    ...common,
    inputOptions: { preserveEntrySignatures: 'allow-extension' },
    outputOptions: {
      codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: fileOf }] },
      chunkFileNames: '[name].js',
      minifyInternalExports: false,
    },
    dts: false,
    copy: ['sqlite/migrations', 'postgres/migrations', 'postgres/functions'].map((folder) => ({
      from: `src/store/${folder}`,
      to: `dist/store/${dirname(folder)}`,
    })),
  },
  // Types are not loaded by anybody: a file for each source file.
  { ...common, unbundle: true, dts: { emitDtsOnly: true }, clean: false },
])
