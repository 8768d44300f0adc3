// SIGKILL at random moments, 200 times, over many runs on one file; then everything is finished.
import { expect, test } from 'vitest'
import { seeded } from '../sim/clock.ts'
import { compare, type Effect, Site } from './driver.ts'

const killsWanted = Number(process.env['COUNTERFOIL_KILLS'] ?? 200)
const seed = Number(process.env['COUNTERFOIL_SEED'] ?? 20_261_116)

test('C2, C5, D2 random SIGKILLs: no unsafe effect twice, none lost, every run ends', async () => {
  const random = seeded(seed)
  const site = await Site.open(8)
  const runIds: string[] = []
  let kills = 0
  let lives = 0
  while (kills < killsWanted) {
    // New work for every life, so that it rarely comes to its end before it is killed.
    for (let i = 0; i < 3; i++) runIds.push(`r${runIds.length}`)
    const live = runIds.slice(-12)
    const { child, exit } = site.worker('worker.mjs', 0, live.join(','))
    // From the moment it begins to work: before that there is nothing to lose.
    let timer: NodeJS.Timeout | undefined
    child.stdout?.once('data', () => {
      timer = setTimeout(() => child.kill('SIGKILL'), random() * 90)
    })
    const { signal } = await exit
    clearTimeout(timer)
    lives++
    if (signal === 'SIGKILL') kills++
    if (lives % 4 === 0 || signal === null) await site.decideAll()
  }
  const states = await site.finish(runIds)
  expect(states.filter((state) => state !== 'completed')).toEqual([])
  const effects = site.effects()
  const bad = runIds.map((runId) => {
    const { twice, lost } = compare(of(effects, runId), expected(runId))
    return [...twice.map((key) => `TWICE ${key}`), ...lost.map((key) => `LOST ${key}`)]
  })
  const { doubts, falseDoubts } = site
  const figures = { seed, kills, lives, runs: runIds.length, effects: effects.length }
  console.log(`random kills: ${JSON.stringify({ ...figures, doubts, falseDoubts })}`)
  expect(bad.flat()).toEqual([])
  // Evidence that deaths fell into calls, not beside them.
  expect(doubts).toBeGreaterThan(killsWanted / 20)
  await site.close()
}, 1_200_000)

function of(effects: readonly Effect[], runId: string): Effect[] {
  return effects.filter((effect) => (effect.input as { to: string }).to === runId)
}

/** The effects of an uninterrupted run of the workload. */
function expected(to: string): Effect[] {
  const effect = (tool: string, input: object): Effect => ({
    ...{ tool, input, key: null, attemptId: null, result: null, repeated: false },
  })
  return [
    effect('mail', { to, more: 'draft 2' }),
    effect('mail', { to, more: 'draft 3' }),
    effect('charge', { invoice: 'a', to }),
    effect('mail', { to, subject: 'paid' }),
    effect('charge', { invoice: 'b', to }),
    effect('mail', { to, subject: 'bye' }),
  ]
}
