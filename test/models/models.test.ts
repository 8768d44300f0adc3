// The protocol's models in spin. `npm run models -- --full` checks larger ones.
import { expect, test } from 'vitest'
import { checkAll, missing, obtain } from '../../scripts/models.mjs'

test(
  'J4, I2, I5, I10, I11 the models hold, and every mutant of them is violated',
  () => {
    // Not left out where spin is missing: models that nobody checks would pass for ever.
    obtain()
    const lacks = missing()
    if (lacks) throw new Error(`${lacks} not installed: apt-get install spin gcc`)
    const { checked, bad } = checkAll()
    expect(bad).toEqual([])
    expect(checked.filter(({ violated }) => violated).length).toBeGreaterThan(8)
    for (const { violated, states } of checked) if (!violated) expect(states).toBeGreaterThan(20)
  },
  20 * 60_000,
)
