// A real process dies at store calls and dispatches of a workload, and is resumed in a new process:
// at some of them here, which lie apart, at every one and a second time during recovery by
// `npm run failpoints`. In process and under a virtual clock test/sim dies at every boundary.
import { expect, test } from 'vitest'
import { everyPoint, seed } from '../size.ts'
import { compare, type Effect, Site } from './driver.ts'

interface Found {
  points: number
  kills: number
  doubts: number
  falseDoubts: number
  bad: string[]
}

/** The fewer hits of two: one that was slow has looked around more often, at what comes due. */
async function reference(): Promise<{ hits: number; effects: Effect[] }> {
  const [one, two] = [await uninterrupted(), await uninterrupted()]
  return one.hits < two.hits ? one : two
}

async function uninterrupted(): Promise<{ hits: number; effects: Effect[] }> {
  const site = await Site.open()
  const { out, code } = await site.worker('worker.mjs', 0).exit
  expect(code).toBe(0)
  expect(await site.states(['r1'])).toEqual(['completed'])
  const effects = site.effects()
  await site.close()
  return { hits: JSON.parse(out.split('\n').at(-1) ?? '').hits, effects }
}

/** Dies at `first`, then (if given) at `second` of the recovering process, then finishes. */
async function dieAt(found: Found, against: Effect[], first: number, second = 0): Promise<boolean> {
  const site = await Site.open()
  const exit = await site.worker('worker.mjs', first).exit
  if (exit.signal === 'SIGKILL') found.kills++
  if (second > 0) await site.decideAll()
  const again = second > 0 ? await site.worker('worker.mjs', second).exit : null
  if (again?.signal === 'SIGKILL') found.kills++
  const [state] = await site.finish(['r1'])
  const { twice, lost, strange } = compare(site.effects(), against)
  const where = `failpoint ${first}${second ? ` then ${second}` : ''}`
  if (state !== 'completed') found.bad.push(`${where}: the run is ${state}`)
  for (const key of twice) found.bad.push(`${where}: TWICE ${key}`)
  for (const key of lost) found.bad.push(`${where}: LOST ${key}`)
  for (const key of strange) found.bad.push(`${where}: STRANGE ${key}`)
  found.points++
  found.doubts += site.doubts
  found.falseDoubts += site.falseDoubts
  await site.close()
  return exit.signal === 'SIGKILL' && again?.signal !== null
}

const pointsInTests = 12

test('J1, C2, C5 death at failpoints: nothing twice, lost, or left unsaid', async () => {
  const { hits, effects } = await reference()
  expect(hits).toBeGreaterThan(30)
  const found: Found = { points: 0, kills: 0, doubts: 0, falseDoubts: 0, bad: [] }
  const step = everyPoint ? 1 : Math.ceil(hits / pointsInTests)
  for (let n = 1 + (seed % step); n <= hits; n += step) await dieAt(found, effects, n)
  console.log(`failpoints: ${JSON.stringify({ hits, ...found })}`)
  expect(found.bad).toEqual([])
  // Timing moves a few points between executions; nearly all of them must have been real deaths.
  expect(found.kills).toBeGreaterThan(found.points * 0.8)
  expect(found.doubts).toBeGreaterThan(0)
}, 600_000)

async function allPairs() {
  const { hits, effects } = await reference()
  const found: Found = { points: 0, kills: 0, doubts: 0, falseDoubts: 0, bad: [] }
  for (let first = 1; first <= hits; first++) {
    for (let second = 1; ; second++) {
      if (!(await dieAt(found, effects, first, second))) break
    }
    console.log(`first ${first} of ${hits}: ${JSON.stringify(found)}`)
  }
  expect(found.bad).toEqual([])
}

if (everyPoint) test('J1 all pairs: a second death during recovery', allPairs, 4 * 3_600_000)

test('J1 the control: plain checkpoint replay, killed likewise, repeats effects', async () => {
  let twice = 0
  let kills = 0
  for (let n = 1; n <= 9; n++) {
    const site = await Site.open()
    const { signal } = await site.worker('naive.mjs', n).exit
    if (signal === 'SIGKILL') kills++
    expect((await site.worker('naive.mjs', 0).exit).code).toBe(0)
    twice += compare(site.effects(), []).twice.length
    await site.close()
  }
  expect(kills).toBe(9)
  expect(twice).toBe(3) // once for each step: after its effect, before its record
}, 300_000)
