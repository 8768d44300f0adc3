// The protocol's models in spin. `npm run models -- --full` checks larger ones.
import { expect, test } from 'vitest'
import { checkAll, missing } from '../../scripts/models.mjs'

const lacks = missing()
if (lacks) console.warn(`${lacks} not installed: the models are not checked (apt-get install spin)`)

test(
  'J4, I2, I5, I10, I11 the models hold, and every mutant of them is violated',
  () => {
    if (lacks) return
    const { checked, bad } = checkAll()
    expect(bad).toEqual([])
    expect(checked.filter(({ violated }) => violated).length).toBeGreaterThan(8)
    for (const { violated, states } of checked) if (!violated) expect(states).toBeGreaterThan(20)
  },
  20 * 60_000,
)
