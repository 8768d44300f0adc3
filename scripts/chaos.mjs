// Faults on a fleet of real processes, at size:
//   npm run chaos -- [--store postgres|sqlite] [--seconds N] [--kills N] [--seed N] [--only fault]
//                    [--json file]
// `--kills`: how often each fault happens in a round; rounds are repeated with new seeds until
// `--seconds` are over. Exit 1 if anything happened twice, was lost, or was left behind.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const text = /** @type {const} */ ({ type: 'string' })

function read() {
  const options = { store: text, seconds: text, kills: text, seed: text, only: text, json: text }
  const { values } = parseArgs({ options })
  const {
    store = 'postgres',
    seconds = '0',
    kills = '20',
    seed = '1',
    only = '',
    json = '',
  } = values
  if (store !== 'postgres' && store !== 'sqlite') throw new Error('--store is postgres or sqlite')
  for (const [name, value] of Object.entries({ seconds, kills, seed })) {
    if (!/^\d+$/.test(value)) throw new Error(`--${name} is a whole number`)
  }
  const numbers = { seconds: Number(seconds), times: Number(kills), seed: Number(seed) }
  return { store, ...numbers, only, json }
}

/** @param {string[]} command */
function run(command, env = process.env) {
  return spawnSync(process.execPath, command, { cwd: root, env, stdio: 'inherit' }).status ?? 1
}

/** @param {any[]} rows */
function show(rows) {
  const columns = [
    ...['fault', 'injected', 'runs', 'ended', 'beforePerson', 'effects', 'duplicates', 'lost'],
    ...['doubts', 'falseDoubts', 'seconds'],
  ]
  const heads = ['fault', 'injected', 'runs', 'ended', 'waiting', 'effects', 'twice', 'lost']
  const head = [...heads, 'doubts', 'false', 'seconds']
  const cells = [head, ...rows.map((row) => columns.map((name) => String(row[name])))]
  const widths = head.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)))
  for (const line of cells)
    console.log(line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
  console.log('')
  for (const row of rows) console.log(`${row.fault}: ${row.evidence}`)
  const sum = (/** @type {string} */ name) => rows.reduce((all, row) => all + row[name], 0)
  const [effects, doubts, vain] = [sum('effects'), sum('doubts'), sum('falseDoubts')]
  const rate = effects === 0 ? 0 : (100 * vain) / effects
  console.log(
    `\n${sum('injected')} faults, ${sum('runs')} runs, ${effects} effects: ` +
      `${sum('duplicates')} twice, ${sum('lost')} lost. ` +
      `${doubts} calls were put before a person, ` +
      `${vain} of them had not happened (${rate.toFixed(2)} % of all effects).`,
  )
}

const said = read()
const folder = mkdtempSync(join(tmpdir(), 'counterfoil-chaos-'))
const report = join(folder, 'report.json')
const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root }).stdout
console.log(`seed ${said.seed}, commit ${String(commit).trim()}, store ${said.store}`)
const env = { ...process.env, COUNTERFOIL_CHAOS: JSON.stringify({ ...said, report }) }
const file = 'test/crash/postgres/faults.test.ts'
const vitest = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--silent',
  '--reporter=dot',
  '-t',
  'at size',
]
const status = run(['scripts/setup.mjs']) || run([...vitest, file], env)
const rows = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : []
rmSync(folder, { recursive: true, force: true })
show(rows)
const wrong = rows.flatMap((/** @type {any} */ row) =>
  row.wrong.map((/** @type {string} */ each) => `${row.fault}: ${each}`),
)
for (const each of wrong) console.log(`WRONG ${each}`)
if (said.json !== '') {
  const found = { ...said, commit: String(commit).trim(), rows }
  writeFileSync(said.json, `${JSON.stringify(found, null, 2)}\n`)
}
process.exit(status !== 0 || rows.length === 0 || wrong.length > 0 ? 1 : 0)
