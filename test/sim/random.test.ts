// Random programs on the real engine under a virtual clock. `npm run sim -- programs [count]` runs
// more.
import { expect, test } from 'vitest'
import { batch } from './batch.ts'
import type { Kind } from './program.ts'

const count = Number(process.env['COUNTERFOIL_SIM_PROGRAMS'] ?? 120)
const from = Number(process.env['COUNTERFOIL_SIM_FROM'] ?? 1)
const pointsMax = Number(process.env['COUNTERFOIL_SIM_POINTS'] ?? 10_000)

async function check(kind: Kind, programs: number) {
  const { bad, ...figures } = await batch(kind, from, programs, pointsMax)
  console.log(`sim ${kind}: seeds ${from}…${from + programs - 1}: ${JSON.stringify(figures)}`)
  expect(bad.slice(0, 10)).toEqual([])
  expect(figures.limits).toBeLessThan(figures.points / 100)
  expect(figures.points).toBeGreaterThan(programs)
  return figures
}

const timeout = 40 * 60_000

test(
  'C2, C5, I1 random programs crashed at every boundary: nothing twice, lost or mixed up',
  async () => {
    await check('plain', count)
  },
  timeout,
)

test(
  'C5 the same with raw timers shorter than settleMs',
  async () => {
    await check('short', Math.ceil(count / 6))
  },
  timeout,
)

test(
  'C2 raw timers longer than settleMs may ask, and never send twice',
  async () => {
    await check('long', Math.ceil(count / 6))
  },
  timeout,
)

test(
  'C2 inputs that move at every resume ask, and the run ends all the same',
  async () => {
    await check('nondet', Math.ceil(count / 6))
  },
  timeout,
)

test(
  'C2 a changed program version: nothing sent twice for distinct inputs',
  async () => {
    await check('version', Math.ceil(count / 6))
  },
  timeout,
)

test(
  'D5, I10 the same with sleeps and signals: none is lost, none is taken by two',
  async () => {
    await check('waits', Math.ceil(count / 3))
  },
  timeout,
)

test(
  'J1 the control: unsafe tools declared as keyed repeat effects, and the judge says so',
  async () => {
    const { bad } = await batch('plain', from, 40, pointsMax, true)
    const twice = bad.filter((each) => each.includes('UNSAFE EFFECT TWICE'))
    expect(twice.length).toBeGreaterThan(20)
  },
  timeout,
)
