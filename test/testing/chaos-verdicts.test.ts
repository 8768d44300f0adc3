// What chaos says must be so: no wolf is cried, and nothing is said to hold that nobody tried.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { workflow } from '../../src/index.ts'
import { chaos } from '../../src/testing/index.ts'

const Any = z.any()

test('J2 the probe of a step is the mock’s: its own would ask the real upstream', async () => {
  let asked = 0
  const stepping = workflow({
    id: 'stepping@1.0.0',
    input: Any,
    run: (_, ctx) =>
      ctx.step(
        {
          ...{ name: 'mail', replayClass: 'unsafe_on_replay', input: { x: 1 } },
          probe: () => {
            asked++
            return { landed: 'yes', result: { from: 'production' } }
          },
        },
        async (): Promise<object> => ({}),
      ),
  })
  let mocked = 0
  const probe = () => {
    mocked++
    return { landed: 'unknown' as const }
  }
  const with1 = await chaos({ graph: stepping, mocks: { mail: { run: () => ({ m: 1 }), probe } } })
  const without = await chaos({ graph: stepping, mocks: { mail: () => ({ m: 1 }) } })
  expect(asked).toBe(0)
  expect(mocked).toBeGreaterThan(0)
  expect([with1.ok, without.ok]).toEqual([true, true])
  // Only who is run for real asks for real.
  const really = await chaos({ graph: stepping, real: ['mail'] })
  expect(asked).toBeGreaterThan(0)
  expect(really.points.flatMap(({ findings }) => findings).map(({ kind }) => kind)).toContain('end')
})
