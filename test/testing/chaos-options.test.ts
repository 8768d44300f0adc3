// What chaos() is told is checked before anything is run.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { countOf } from '../../src/cli/chaos/judge/totals.ts'
import { tool, workflow } from '../../src/index.ts'
import { chaos } from '../../src/testing/index.ts'

let ran = 0
const charge = tool({
  name: 'charge',
  replayClass: 'unsafe_on_replay',
  input: z.any(),
  run: async () => ({ n: ++ran }),
})
const pay = workflow({
  id: 'pay@1.0.0',
  input: z.any(),
  tools: [charge],
  run: (_, ctx) => ctx.call(charge, {}),
})
const mocks = { charge: () => 1 }
const told = (options: unknown) => chaos(options as never)

async function refused(options: unknown, ...says: string[]): Promise<void> {
  const error = await told(options).then(
    () => null,
    (thrown) => thrown,
  )
  expect(error, JSON.stringify(options)).toMatchObject({ code: 'CHAOS_OPTIONS' })
  for (const text of says) expect(error.message).toContain(text)
}

test('J2 `real` as a text named tools by their parts: it is refused', async () => {
  for (const real of ['charge_card,book', 'charge', 'all', [5], [['charge']]]) {
    await refused({ graph: pay, mocks, real }, '`real` is', "['send_email']")
    await refused({ file: 'nowhere.mjs', real }, '`real` is', "['send_email']")
  }
  expect(ran).toBe(0)
})

test('J2 options of another type were found late or never: each is named at once', async () => {
  for (const nothing of [undefined, null, 5, 'agent.mjs']) await refused(nothing, 'chaos({ file })')
  const cases: Record<string, unknown[]> = {
    ...{ kills: [0, '3', Number.NaN, null], timeoutMs: ['9s', 0.5], concurrency: [[], 0] },
    ...{ seed: ['one', 1.5, null], everyBoundary: ['yes'], pairs: [1], ignore: ['output', [1]] },
    ...{ ends: ['fail', 1], onProgress: ['loud'] },
  }
  const here: Record<string, unknown[]> = {
    ...{ mocks: [5, [], 'charge', null], answers: ['yes', []], signals: [1], gate: [{}] },
    graphs: [pay, [{}], [null]],
  }
  const ofFile: Record<string, unknown[]> = {
    ...{ file: [5, '', null, {}], graph: [pay], store: [5], namespace: [5, ''] },
    ...{ from: ['sqlite:runs.db', {}, { store: 'sqlite:runs.db', run: 5 }], onSession: [1] },
  }
  for (const [name, values] of Object.entries({ ...cases, ...here })) {
    for (const value of values)
      await refused({ graph: pay, mocks, [name]: value }, `\`${name}\` is`)
  }
  for (const [name, values] of Object.entries({ ...cases, ...ofFile })) {
    for (const value of values) {
      await refused({ file: 'nowhere.mjs', [name]: value }, `\`${name}\` is`)
    }
  }
  await refused({ file: 'nowhere.mjs', mocks }, 'the file exports it')
  await refused({ graph: pay, mocks, toString: 1 }, 'there is no option `toString`')
  const none = { kills: undefined, file: undefined, real: undefined }
  expect(await told({ graph: pay, mocks, ...none })).toMatchObject({ ok: true })
  expect(ran).toBe(0)
})

test('J2 a tool named like a member of every object had a mock that nobody wrote', async () => {
  for (const name of ['toString', 'valueOf', 'constructor', 'hasOwnProperty']) {
    const odd = tool({ name, replayClass: 'unsafe_on_replay', input: z.any(), run: () => ++ran })
    const calling = workflow({
      ...{ id: 'calling@1.0.0', input: z.any(), tools: [odd] },
      run: (_, ctx) => ctx.call(odd, {}),
    })
    const stepping = workflow({
      ...{ id: 'stepping@1.0.0', input: z.any() },
      run: (_, ctx) =>
        ctx.step({ name, replayClass: 'unsafe_on_replay', input: {} }, () => ({ n: ++ran })),
    })
    for (const graph of [calling, stepping]) {
      await expect(told({ graph, mocks: {} })).rejects.toMatchObject({
        code: 'CHAOS_UPSTREAM_MISSING',
      })
      const own = await told({ graph, mocks: { [name]: () => 1 } })
      expect(own).toMatchObject({ ok: true, tools: [{ tool: name, effects: 1, effectsMax: 1 }] })
    }
    expect(countOf({}, name)).toBe(undefined)
  }
  expect(ran).toBe(0)
})
