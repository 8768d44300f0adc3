// Runs the protocol's mutants through the layers and prints who has seen which. Each must be seen
// by at least two, and what sees it must pass without it.
//   npm run mutants [-- name …] [--json FILE]
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { bundleFor, fleetLayer, programsLayer, testLayer } from '../test/mutants/layers.mjs'
import { mutants } from '../test/mutants/mutants.mjs'
import { root } from './bundle.mjs'
import { check, missing } from './models.mjs'

/** @typedef {import('../test/mutants/layers.mjs').Seen} Seen */

function read() {
  try {
    return parseArgs({ options: { json: { type: 'string' } }, allowPositionals: true })
  } catch (error) {
    console.error(/** @type {Error} */ (error).message)
    process.exit(2)
  }
}

const { values, positionals } = read()
const strange = positionals.find((name) => !mutants.some((mutant) => mutant.name === name))
if (strange !== undefined) {
  const names = mutants.map(({ name }) => name)
  console.error(`there is no mutant ${strange}; there are: ${names.join(', ')}`)
  process.exit(2)
}
const chosen = mutants.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const models = missing() === null
if (!models) console.log('spin is not installed: the models are left out')

/** @param {import('../test/mutants/mutants.mjs').Mutant} mutant @returns {Promise<Seen[]>} */
async function layersOf(mutant) {
  /** @type {Seen[]} */
  const seen = []
  const { fleet = [], programs, tests = [], model } = mutant
  if (fleet.length > 0 || programs) {
    const file = await bundleFor(mutant)
    if (fleet.length > 0) seen.push(await fleetLayer(file, fleet))
    if (programs) seen.push(await programsLayer(file, programs))
  }
  for (const path of tests) seen.push(await testLayer(mutant, path))
  if (model && models) {
    const [name, ...flags] = model
    const { violated } = check(
      name,
      flags.map((flag) => `-D${flag}`),
    )
    seen.push({ layer: `model ${name}`, caught: violated, says: flags.join(' ') })
  }
  return seen
}

/** @type {string[]} */
const bad = []
const table = []
for (const mutant of chosen) {
  const seen = await layersOf(mutant)
  const caught = seen.filter((each) => each.caught).length
  table.push({ name: mutant.name, breaks: mutant.breaks, seen })
  console.log(`${mutant.name}: ${caught} of ${seen.length}`)
  for (const { layer, caught: yes, says } of seen) {
    console.log(`  ${yes ? 'caught' : 'NOT   '} ${layer}  ${says.split('\n')[0]?.slice(0, 100)}`)
  }
  if (caught < 2) bad.push(mutant.name)
}
if (bad.length > 0) console.log(`caught by fewer than two layers: ${bad.join(', ')}`)
if (values.json) {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  const controls = table.map(({ name, seen }) => ({
    name,
    failed: seen.filter(({ caught }) => caught).length > 1,
    layers: seen.filter(({ caught }) => caught).map(({ layer }) => layer),
  }))
  const counts = { duplicates: 0, lost: 0, surfaced: 0, falseSurfaced: 0 }
  const cases = chosen.length
  const report = { layer: 'mutants', cases, faults: cases, ...counts, controls, seed: null, commit }
  writeFileSync(values.json, `${JSON.stringify({ ...report, bad, table }, null, 2)}\n`)
}
process.exitCode = bad.length === 0 ? 0 : 1
