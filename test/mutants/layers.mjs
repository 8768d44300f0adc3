// Runs one mutant through one layer, and says whether the layer has seen it. Without a mutant the
// same must pass.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { bundle, root } from '../../scripts/bundle.mjs'

/**
 * @typedef {import('./mutants.mjs').Mutant} Mutant
 * @typedef {{ layer: string, caught: boolean, says: string }} Seen
 */

const entry = 'test/sim/fleet/main.ts'

/** @param {Mutant | null} mutant */
export function bundleFor(mutant) {
  return bundle(entry, mutant ? `mutant-${mutant.name}` : 'sim', mutant)
}

/**
 * The fleet simulator, at these seeds.
 *
 * @param {string} file @param {readonly number[]} seeds @returns {Promise<Seen>}
 */
export async function fleetLayer(file, seeds) {
  const said = await Promise.all(
    seeds.map((seed) => run(process.execPath, [file, 'batch', `${seed}`, '1'])),
  )
  const found = said.flatMap(({ text }) => badOf(text)).map((each) => each.found?.[0] ?? '')
  return { layer: 'fleet', caught: found.length > 0, says: found[0] ?? '' }
}

/**
 * Random programs of one run.
 *
 * @param {string} file @param {readonly [string, number, number]} which @returns {Promise<Seen>}
 */
export async function programsLayer(file, [kind, from, count]) {
  const { text } = await run(process.execPath, [file, 'programs', `${from}`, `${count}`, kind])
  const [first = ''] = badOf(text).map(String)
  return { layer: 'programs', caught: first !== '', says: first }
}

/**
 * Files of the ordinary suite, in a test runner that reads the edited source.
 *
 * @param {Mutant | null} mutant @param {string} path @returns {Promise<Seen>}
 */
export async function testLayer(mutant, path) {
  const config = join(root, 'test/mutants/vitest.config.ts')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const env = { ...process.env, COUNTERFOIL_MUTANT: mutant?.name ?? '' }
  const { code, text } = await run(process.execPath, [vitest, 'run', '--config', config, path], env)
  const failed = /FAIL\s+(.*)/.exec(text)?.[1] ?? text.slice(-200)
  return { layer: path, caught: code !== 0, says: code === 0 ? '' : failed }
}

/** @param {string} text @returns {any[]} */
function badOf(text) {
  try {
    return JSON.parse(text).bad
  } catch {
    // It died of the mutant: also seen.
    return [{ found: [`DIED: ${text.slice(-200)}`] }]
  }
}

/**
 * @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{ code: number, text: string }>}
 */
function run(command, args, env = process.env) {
  return new Promise((resolve) => {
    let text = ''
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const keep = (/** @type {Buffer} */ chunk) => {
      text += chunk
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('close', (code) => resolve({ code: code ?? 1, text }))
  })
}
