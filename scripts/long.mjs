// The longer programmes, each the larger form of a test in the ordinary suite:
//   npm run sim -- [programs] [from seed] [crash points a program]
//   npm run failpoints            all pairs: a second death during recovery
//   npm run kills -- [kills] [seed]
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const [, , what = '', ...args] = process.argv
/** @type {Record<string, { file: string, env: string[], defaults: string[] }>} */
const programmes = {
  sim: {
    file: 'test/sim/random.test.ts',
    env: ['COUNTERFOIL_SIM_PROGRAMS', 'COUNTERFOIL_SIM_FROM', 'COUNTERFOIL_SIM_POINTS'],
    defaults: ['1000', '1', '10000'],
  },
  failpoints: {
    file: 'test/crash/failpoints.test.ts',
    env: ['COUNTERFOIL_FAILPOINT_PAIRS'],
    defaults: ['all'],
  },
  kills: {
    file: 'test/crash/random-kill.test.ts',
    env: ['COUNTERFOIL_KILLS', 'COUNTERFOIL_SEED'],
    defaults: ['2000', '1'],
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
  run(['scripts/setup.mjs']) || run(['node_modules/vitest/vitest.mjs', 'run', programme.file])
process.exit(status)
