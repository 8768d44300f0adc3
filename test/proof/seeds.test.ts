// Cases that the same seed makes again, and what is counted of a case.
import { expect, test } from 'vitest'
import { inputs } from './layers/inputs.ts'
import { lateBy, run } from './layers/late.ts'

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
}, 300_000)

test('J3 late: an effect that landed before the end is not late and not asked about', async () => {
  const found = await run({ how: 'upstream', lateMs: 1, quietMs: 100, killMs: 4_000 })
  expect(found).toMatchObject({ injected: 0, surfaced: 0, falseSurfaced: 0, wrong: [] })
  expect(found.evidence).toContain('did not land after a death')
}, 300_000)

test('J3 late: a second attempt after the death does not make the first one late', () => {
  const effect = { tool: 'mail', key: null, input: {}, result: null, repeated: false }
  const first = { ...effect, attemptId: 'a', attempt: 1, at: 100 }
  const second = { ...effect, attemptId: 'b', attempt: 2, at: 300 }
  expect(lateBy([first, second], 200)).toBeNull()
  expect(lateBy([second], 200)).toBeNull()
  expect(lateBy([{ ...first, at: 250 }], 200)).toBe(50)
})
