// SIGKILL at random moments, over many runs on one file; then everything is finished.
import { seeded } from '../sim/clock.ts'
import { compare, type Effect, runOf, Site } from './driver.ts'
import { checkHistory } from './history.ts'
import { effectsOfLoad } from './programs/loads.mjs'

export interface Killed {
  kills: number
  lives: number
  runs: number
  effects: number
  duplicates: number
  lost: number
  doubts: number
  falseDoubts: number
  /** How long the first process needed that nobody killed, with all runs in its hands. */
  resumeMs: number
  wrong: string[]
}

/** New work for every life, so that it rarely comes to its end before it is killed. */
const runsALife = 3
const openRuns = 12
/** Moments of the work, whatever the speed of the machine: after so many effects, and a little. */
const effectsMax = 8
const littleMsMax = 12

export async function killAtRandom(seed: number, killsWanted: number): Promise<Killed> {
  const random = seeded(seed)
  const site = await Site.open(8)
  const runIds: string[] = []
  let kills = 0
  let lives = 0
  while (kills < killsWanted) {
    for (let i = 0; i < runsALife; i++) runIds.push(`r${runIds.length}`)
    const live = runIds.slice(-openRuns)
    const { child, exit } = site.worker('worker.mjs', 0, live.join(','))
    await site.progress(1 + Math.floor(random() * effectsMax), exit)
    const timer = setTimeout(() => child.kill('SIGKILL'), random() * littleMsMax)
    const { signal } = await exit
    clearTimeout(timer)
    lives++
    if (signal === 'SIGKILL') kills++
    if (lives % 4 === 0 || signal === null) await site.decideAll()
  }
  const from = performance.now()
  const states = await site.finish(runIds)
  const resumeMs = Math.round(performance.now() - from)
  const effects = site.effects()
  const found = runIds.map((runId) => compare(of(effects, runId), expected(runId)))
  const [twice, lost] = [found.flatMap((each) => each.twice), found.flatMap((each) => each.lost)]
  const wrong = [
    ...states.filter((state) => state !== 'completed').map((state) => `a run is ${state}`),
    ...twice.map((key) => `TWICE ${key}`),
    ...lost.map((key) => `LOST ${key}`),
    ...(await site.with((cf) => checkHistory(cf.store, effects))),
  ]
  const { doubts, falseDoubts } = site
  await site.close()
  return {
    ...{ kills, lives, runs: runIds.length, doubts, falseDoubts },
    effects: effects.filter(({ repeated }) => !repeated).length,
    ...{ duplicates: twice.length, lost: lost.length, resumeMs, wrong },
  }
}

const expected = (to: string) => effectsOfLoad['parallel']?.(to) ?? []

function of(effects: readonly Effect[], runId: string): Effect[] {
  return effects.filter((effect) => runOf(effect) === runId)
}
