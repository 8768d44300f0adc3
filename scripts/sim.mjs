// The simulators, in their longer form:
//   npm run sim -- fleet [count] [from]       schedules of whole fleets
//   npm run sim -- programs [count] [from]    random programs of one run, of every kind
//   npm run sim -- trace <seed>               one schedule, line by line
//   npm run sim -- shrink <seed>              the smallest form of a schedule that fails
//   [--json FILE] [--processes N] [--state FILE]: with a state file a run that was interrupted goes
//   on where it was
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundleFor } from '../test/mutants/layers.mjs'
import { mutants } from '../test/mutants/mutants.mjs'
import { bundle, root } from './bundle.mjs'

/** @typedef {import('../test/sim/fleet/batch.ts').Totals} Totals */

const entry = 'test/sim/fleet/main.ts'
const chunk = 1_000
// Seen in more than one schedule of ten, by what matters most.
const [controlMutant, controlSeeds] = ['no-quiet-time', 200]

/** @param {string} file @param {string[]} args @returns {Promise<string>} */
function run(file, args) {
  return new Promise((resolve, reject) => {
    let text = ''
    const child = spawn(process.execPath, [file, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.on('data', (/** @type {Buffer} */ part) => {
      text += part
    })
    child.on('close', (code) => {
      if (code === 0) resolve(text)
      else reject(new Error(`${args.join(' ')} ended with ${code}`))
    })
  })
}

/**
 * Seeds shared out over processes, in pieces; `onPiece` is told of each piece that is done.
 *
 * @param {{ from: number, count: number, processes: number, kind?: string,
 *   onPiece?: (totals: Totals) => void }} options
 * @returns {Promise<Totals>}
 */
export async function batchInProcesses({ from, count, processes, kind = '', onPiece }) {
  const file = await bundle(entry, 'sim')
  let next = from
  /** @type {Totals[]} */
  const parts = []
  const size = Math.min(chunk, Math.ceil(count / processes))
  const work = async () => {
    while (next < from + count) {
      const first = next
      const many = Math.min(size, from + count - first)
      next += many
      const totals = JSON.parse(await run(file, ['batch', `${first}`, `${many}`, kind]))
      parts.push(totals)
      onPiece?.(totals)
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
  return sum(parts)
}

/** @param {readonly Totals[]} parts @returns {Totals} */
function sum(parts) {
  /** @type {any} */
  const total = {}
  for (const part of parts) add(total, part)
  return total
}

/** @param {any} into @param {any} from */
function add(into, from) {
  for (const [key, value] of Object.entries(from)) {
    if (Array.isArray(value)) into[key] = [...(into[key] ?? []), ...value]
    else if (typeof value === 'object') {
      into[key] ??= {}
      add(into[key], value)
    } else if (key.endsWith('Max')) into[key] = Math.max(into[key] ?? 0, value)
    else into[key] = (into[key] ?? 0) + value
  }
}

function read() {
  const text = /** @type {const} */ ({ type: 'string' })
  const options = { json: text, processes: text, state: text }
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    console.error(/** @type {Error} */ (error).message)
    process.exit(2)
  }
}

async function main() {
  const { values, positionals } = read()
  const [what = 'fleet', first = '', second = '1'] = positionals
  const { processes: many = `${availableParallelism()}` } = values
  const seeded = what === 'trace' || what === 'shrink'
  const isNumber = (/** @type {string} */ text) => /^[1-9]\d*$/.test(text)
  const numbers = [...(first || seeded ? [first] : []), second, many]
  if (!['fleet', 'programs', 'trace', 'shrink'].includes(what) || !numbers.every(isNumber)) {
    console.error('npm run sim -- fleet|programs [count] [from], or trace|shrink <seed>')
    process.exit(2)
  }
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  if (seeded) {
    process.stdout.write(await run(await bundle(entry, 'sim'), [what, first]))
    return
  }
  if (what === 'programs') {
    const file = await bundle(entry, 'sim')
    for (const kind of ['plain', 'short', 'long', 'nondet', 'version', 'waits']) {
      const text = await run(file, ['programs', second, first || '1000', kind])
      const { bad, ...figures } = JSON.parse(text)
      console.log(`${kind}: ${JSON.stringify(figures)}`, bad.slice(0, 10))
      if (bad.length > 0) process.exitCode = 1
    }
    return
  }
  const [count, from] = [Number(first || 20_000), Number(second)]
  const processes = Number(many)
  console.log(`fleets: seeds ${from}…${from + count - 1}, commit ${commit}`)
  const totals = await resumable({ from, count, processes }, values.state)
  const { bad, ...figures } = totals
  console.log(JSON.stringify(figures))
  for (const { seed, found } of bad) console.log(`seed ${seed}: ${found.join('; ')}`)
  if (bad[0]) console.log(`npm run sim -- shrink ${bad[0].seed}`)
  process.exitCode = bad.length === 0 ? 0 : 1
  if (values.json === undefined) return
  const control = await controlAt(from)
  if (!control.failed) process.exitCode = 1
  const report = { ...reportOf(totals, from, commit), controls: [control] }
  writeFileSync(values.json, `${JSON.stringify(report)}\n`)
}

/**
 * The first of the same schedules with a bug in the engine: effects must be found to happen twice.
 *
 * @param {number} from
 */
async function controlAt(from) {
  const mutant = mutants.find(({ name }) => name === controlMutant)
  if (mutant === undefined) throw new Error(`there is no mutant ${controlMutant}`)
  const text = await run(await bundleFor(mutant), ['batch', `${from}`, `${controlSeeds}`])
  /** @type {Totals} */
  const { seeds, bad } = JSON.parse(text)
  const twice = bad.filter(({ found }) => found.some((each) => /TWICE/.test(each))).length
  const evidence = `${seeds} schedules, ${twice} of them with an effect twice`
  return { name: `mutant ${controlMutant}`, failed: twice > 0, evidence }
}

/**
 * @param {{ from: number, count: number, processes: number }} options
 * @param {string | undefined} state @returns {Promise<Totals>}
 */
async function resumable({ from, count, processes }, state) {
  let total = {
    seeds: 0,
    ...(state && existsSync(state) ? JSON.parse(readFileSync(state, 'utf8')) : {}),
  }
  // In rounds: what is in the state file is everything below a seed, and nothing above it.
  while (total.seeds < count) {
    const left = Math.min(count - total.seeds, chunk * processes)
    total = sum([
      total,
      await batchInProcesses({ from: from + total.seeds, count: left, processes }),
    ])
    if (state) writeFileSync(state, JSON.stringify(total))
    console.log(`${total.seeds} of ${count}, ${total.bad.length} bad`)
    if (total.bad.length > 0) break
  }
  return total
}

/** @param {Totals} totals @param {number} from @param {string} commit */
function reportOf({ bad, schedules, faults, doubts, falseDoubts }, from, commit) {
  const found = bad.flatMap((each) => each.found)
  const injected = Object.values(faults).reduce((sum, count) => sum + count, 0)
  return {
    layer: 'simulator',
    cases: schedules,
    faults: injected,
    duplicates: found.filter((each) => /TWICE/.test(each)).length,
    lost: found.filter((each) => /WITHOUT EFFECT|NOT ON RECORD|DID NOT END/.test(each)).length,
    surfaced: doubts,
    falseSurfaced: falseDoubts,
    seed: from,
    commit,
    bad,
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
