// Checks the protocol models of test/models with spin: as they are, none may be violated; with each
// of their mutants, every one must be.
//   npm run models [-- --full] [--json FILE]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {{ name: string, base: string[], full: string[], mutants: string[][] }} Model
 * @typedef {{ model: string, flags: string[], states: number, violated: boolean,
 *   complete: boolean }} Checked
 * @typedef {Checked & { mutant: boolean }} Noted
 */

/** @type {readonly Model[]} */
export const models = [
  {
    name: 'lease',
    base: [],
    full: ['-DW=3', '-DFAULTS=2'],
    mutants: [['-DNO_INTENT'], ['-DNO_GUARD'], ['-DSENT_AGAIN'], ['-DNO_PROOF']],
  },
  {
    name: 'attempts',
    base: [],
    full: ['-DW=3', '-DFAULTS=2'],
    mutants: [
      ['-DNO_PROOF'],
      ['-DNO_QUIET'],
      ['-DHASTY', '-DBY_KEY'],
      ['-DHASTY', '-DNO_VOID'],
      ['-DSPLIT_GRANT'],
    ],
  },
  { name: 'park', base: [], full: ['-DSENDERS=4'], mutants: [['-DNO_ARRIVALS']] },
  { name: 'keyed', base: [], full: ['-DA=6'], mutants: [['-DLAST_ATTEMPT']] },
]

/** Installs spin and gcc where that needs nobody's leave: on Debian, as root, as CI is. */
export function obtain() {
  const isRoot = process.getuid?.() === 0
  if (missing() === null || !isRoot || spawnSync('apt-get', ['--version']).error) return
  const options = /** @type {const} */ ({ stdio: 'ignore', timeout: 300_000 })
  spawnSync('apt-get', ['update'], options)
  const words = ['install', '-y', '--no-install-recommends', 'spin', 'gcc', 'libc6-dev']
  spawnSync('apt-get', words, {
    ...options,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

/** What is needed and is not installed. */
export function missing() {
  const lacks = ['spin', 'gcc'].filter(
    (command) => spawnSync(command, [command === 'gcc' ? '--version' : '-V']).error,
  )
  return lacks.length === 0 ? null : lacks.join(' and ')
}

/**
 * @param {string} name
 * @param {string[]} flags
 * @returns {Checked}
 */
export function check(name, flags) {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-spin-'))
  try {
    const model = join(root, `test/models/${name}.pml`)
    const options = { cwd: folder, stdio: /** @type {const} */ ('pipe'), encoding: 'utf8' }
    execFileSync('spin', [...flags, '-a', model], /** @type {object} */ (options))
    const compile = ['-O1', '-DSAFETY', '-DMEMLIM=12000', '-DCOLLAPSE', '-w', '-o', 'pan', 'pan.c']
    execFileSync('gcc', compile, /** @type {object} */ (options))
    const { stdout } = spawnSync(
      './pan',
      ['-E', '-m1000000', '-w22'],
      /** @type {object} */ (options),
    )
    const text = String(stdout)
    const states = Number(/([\d.e+]+) states, stored/.exec(text)?.[1] ?? 0)
    const violated = /errors: [1-9]/.test(text)
    const complete = /errors: \d/.test(text) && !/Search not completed|max search depth/.test(text)
    return { model: name, flags, states, violated, complete }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * @param {{ full?: boolean, say?: (line: string) => void }} [options]
 * @returns {{ checked: Noted[], bad: string[] }}
 */
export function checkAll({ full = false, say = () => {} } = {}) {
  /** @type {Noted[]} */
  const checked = []
  /** @type {string[]} */
  const bad = []
  const note = (/** @type {Checked} */ result, /** @type {boolean} */ mutant) => {
    checked.push({ ...result, mutant })
    const { model, flags, states, violated, complete } = result
    const right = violated === mutant && (violated || complete)
    const how = violated ? 'violated' : complete ? 'holds' : 'not completed'
    const line = `${model} ${flags.join(' ')}: ${how}, ${states} states`
    say(right ? line : `${line}: WRONG`)
    if (!right) bad.push(line)
  }
  for (const { name, base, full: large, mutants } of models) {
    note(check(name, full ? large : base), false)
    for (const flags of mutants) note(check(name, flags), true)
  }
  return { checked, bad }
}

function read() {
  try {
    return parseArgs({ options: { full: { type: 'boolean' }, json: { type: 'string' } } })
  } catch (error) {
    console.error(/** @type {Error} */ (error).message)
    process.exit(2)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = read()
  const lacks = missing()
  if (lacks) {
    console.error(`${lacks} not installed: apt-get install spin gcc`)
    process.exit(2)
  }
  const { checked, bad } = checkAll({ full: values.full === true, say: console.log })
  const holding = checked.filter(({ mutant }) => !mutant)
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  if (values.json) {
    const controls = checked
      .filter(({ mutant }) => mutant)
      .map(({ model, flags, violated, states }) => ({
        ...{ name: `${model} ${flags.join(' ')}`, failed: violated, evidence: `${states} states` },
      }))
    const counts = { duplicates: 0, lost: 0, surfaced: 0, falseSurfaced: 0 }
    const cases = holding.reduce((sum, { states }) => sum + states, 0)
    const report = {
      layer: 'models',
      cases,
      faults: cases,
      ...counts,
      controls,
      seed: null,
      commit,
    }
    writeFileSync(values.json, `${JSON.stringify({ ...report, bad, checked }, null, 2)}\n`)
  }
  process.exitCode = bad.length === 0 ? 0 : 1
}
