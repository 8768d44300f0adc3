// Every mutant still fits the source, and its quickest layer still sees it. `npm run mutants` runs
// all layers.
import { expect, test } from 'vitest'
import { edited } from '../../scripts/bundle.mjs'
import { bundleFor, fleetLayer, programsLayer, testLayer } from './layers.mjs'
import { mutants } from './mutants.mjs'

const timeout = 5 * 60_000

test('J4 at least fifteen mutants, each of which changes one place and has two layers', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(15)
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  for (const mutant of mutants) {
    // Throws if its text is not there exactly once.
    expect(edited(mutant)).not.toContain(`${mutant.find}${mutant.find}`)
    const { fleet = [], programs, tests = [], model } = mutant
    const layers = [fleet.length > 0, programs, ...tests, model].filter(Boolean)
    expect(layers.length, mutant.name).toBeGreaterThan(1)
  }
})

const simulated = mutants.filter(({ fleet, programs }) => fleet || programs)
const others = mutants.filter(({ fleet, programs }) => !fleet && !programs)

test.each(simulated)(
  'J4 a simulator catches $name',
  async (mutant) => {
    const file = await bundleFor(mutant)
    const { fleet = [], programs } = mutant
    const seen =
      fleet.length > 0 || programs === undefined
        ? await fleetLayer(file, fleet)
        : await programsLayer(file, programs)
    expect(seen.caught).toBe(true)
  },
  timeout,
)

test.each(others)(
  'J4 a test of the suite catches $name',
  async (mutant) => {
    const [path = ''] = mutant.tests ?? []
    expect((await testLayer(mutant, path)).caught).toBe(true)
  },
  timeout,
)

test(
  'J4 the control: without a mutant the same seeds are clean',
  async () => {
    const file = await bundleFor(null)
    const seeds = [...new Set(mutants.flatMap(({ fleet = [] }) => fleet))]
    expect(await fleetLayer(file, seeds)).toMatchObject({ caught: false })
  },
  timeout,
)
