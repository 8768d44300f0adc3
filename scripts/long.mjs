// The longer programmes, each the larger form of a test in the ordinary suite:
//   npm run failpoints            all pairs: a second death during recovery; every point of graphs
//                                 and scopes
//   npm run kills -- [kills] [seed]   workers, graphs, scopes, several at once, and the agents of
//                                     LangGraph and the AI SDK, on SQLite and Postgres
//   npm run differential -- [sequences] [seed]   random operations through every store, compared
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const [, , what = '', ...args] = process.argv
const crash = (/** @type {string} */ name) => `test/crash/${name}.test.ts`
/** @type {Record<string, { files: string[], env: string[], defaults: string[] }>} */
const programmes = {
  failpoints: {
    files: ['failpoints', 'graph', 'scope'].map(crash),
    env: ['COUNTERFOIL_FAILPOINT_PAIRS'],
    defaults: ['all'],
  },
  kills: {
    files: [
      ...['random-kill', 'graph', 'scope', 'several'].map(crash),
      ...['langgraph', 'ai-sdk'].map((name) => `test/adapters/${name}/kills.test.ts`),
    ],
    env: ['COUNTERFOIL_KILLS', 'COUNTERFOIL_SEED'],
    defaults: ['2000', '1'],
  },
  differential: {
    files: ['test/differential/stores.test.ts'],
    env: ['COUNTERFOIL_SEQUENCES', 'COUNTERFOIL_SEED'],
    defaults: ['20000', '1'],
  },
}

const programme = programmes[what]
if (programme === undefined) {
  console.error(`no programme "${what}"; there are: ${Object.keys(programmes).join(', ')}`)
  process.exit(2)
}
const wrong = args.find((arg) => !/^\d+$/.test(arg))
if (wrong !== undefined || args.length > programme.env.length) {
  console.error(
    `"${wrong ?? args.at(-1)}" is not expected: ` +
      `${what} takes up to ${programme.env.length} whole numbers`,
  )
  process.exit(2)
}
const env = { ...process.env }
programme.env.forEach((name, i) => {
  env[name] = args[i] ?? programme.defaults[i]
})
const root = fileURLToPath(new URL('..', import.meta.url))
const run = (/** @type {string[]} */ command) =>
  spawnSync(process.execPath, command, { cwd: root, env, stdio: 'inherit' }).status ?? 1
const status =
  run(['scripts/setup.mjs']) || run(['node_modules/vitest/vitest.mjs', 'run', ...programme.files])
process.exit(status)
