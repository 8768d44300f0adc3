// Cases that the same seed makes again.
import { expect, test } from 'vitest'
import { inputs } from './layers/inputs.ts'

test('J3 requests are made from the seed of the programme and the name of the case', async () => {
  const seedOf = async (name: string, seed: number) => {
    const { evidence, injected, wrong } = await inputs.run(name, seed)
    expect(wrong).toEqual([])
    expect(injected).toBeGreaterThan(0)
    return /fast-check seed \d+$/.exec(evidence)?.[0]
  }
  const first = await seedOf('request 0 100', 7)
  expect(first).toBeDefined()
  expect(await seedOf('request 0 100', 7)).toBe(first)
  expect(await seedOf('request 1 100', 7)).not.toBe(first)
}, 120_000)
