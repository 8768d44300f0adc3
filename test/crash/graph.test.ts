// A graph with loops, dials, approvals and large values, killed at its failpoints and at random
// moments, paused and resumed in between. `npm run failpoints` dies at every point, `npm run kills`
// more often.
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { seeded } from '../sim/clock.ts'
import { everyPoint, seed, killsWanted as wanted } from '../size.ts'
import { type Effect, faults, runOf, Site } from './driver.ts'
import { effectsOf } from './programs/truth.mjs'

const killsWanted = wanted(4, 1 / 25)

/** Works until the run waits; dies at the n-th failpoint counted over all of its processes. */
async function workThrough(site: Site, dieAt: number): Promise<{ hits: number; kills: number }> {
  let hits = 0
  let kills = 0
  for (let process = 0; process < 20; process++) {
    const at = dieAt > hits && kills === 0 ? dieAt - hits : 0
    const { exit } = site.worker('worker.mjs', at, 'r1', 'agent')
    const { code, signal, out, error } = await exit
    if (signal === 'SIGKILL') kills++
    else if (code !== 0) throw new Error(`worker: ${code ?? signal}, ${error}`)
    else hits += JSON.parse(out.split('\n').at(-1) ?? '').hits
    const [state] = await site.states(['r1'])
    if (state === 'completed' || state === 'failed') return { hits, kills }
    await site.decideAll()
  }
  throw new Error('the run asks for ever')
}

test('J1, C5 a graph dies at its failpoints: nothing twice, lost, or left unsaid', async () => {
  const reference = await Site.open()
  const { hits } = await workThrough(reference, 0)
  expect(faults(reference.effects(), effectsOf('r1'))).toEqual([])
  expect(reference.doubts).toBe(0)
  expect(reference.approvals).toBe(2)
  await reference.close()
  expect(hits).toBeGreaterThan(60)

  const bad: string[] = []
  const found = { points: 0, kills: 0, doubts: 0, falseDoubts: 0 }
  const step = everyPoint ? 1 : Math.ceil(hits / 4)
  for (let n = 1 + (seed % step); n <= hits - step / 3; n += step) {
    const site = await Site.open()
    const { kills } = await workThrough(site, n)
    const wrong = [...faults(site.effects(), effectsOf('r1')), ...(await site.findings())]
    bad.push(...wrong.map((each) => `failpoint ${n}: ${each}`))
    found.points++
    found.kills += kills
    found.doubts += site.doubts
    found.falseDoubts += site.falseDoubts
    await site.close()
  }
  console.log(`failpoints of a graph: ${JSON.stringify({ hits, ...found, bad })}`)
  expect(bad).toEqual([])
  expect(found.kills).toBeGreaterThan(found.points * 0.7)
}, 1_200_000)

test('C5, D2, D4 a graph under random SIGKILLs, pauses and resumes', async () => {
  const random = seeded(seed)
  const site = await Site.open(8)
  const runIds: string[] = []
  let kills = 0
  let pauses = 0
  while (kills < killsWanted) {
    for (let i = 0; i < 3; i++) runIds.push(`r${runIds.length}`)
    const live = runIds.slice(-12)
    const { child, exit } = site.worker('worker.mjs', 0, live.join(','), 'agent')
    const reached = site.progress(1 + Math.floor(random() * 12), exit)
    const killed = reached.then(() => setTimeout(() => child.kill('SIGKILL'), random() * 10))
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    await site.with(async (cf) => {
      for (const runId of live) {
        if (random() > 0.3) continue
        const wish = random() < 0.6 ? 'pause' : 'resume'
        await cf
          .run(runId)
          [wish]({ by: 'driver' })
          .then(() => pauses++)
          .catch((error) => {
            if (!['RUN_ENDED', 'RUN_NOT_PAUSED', 'RUN_NOT_FOUND'].includes(error.code)) throw error
          })
      }
    })
    await killed
    const { signal, code, error } = await exit
    if (signal === 'SIGKILL') kills++
    else if (code !== 0) throw new Error(`worker: ${code ?? signal}, ${error}`)
    await site.decideAll()
  }
  let states = await site.finish(runIds, 'agent')
  for (let round = 0; states.includes('paused') && round < 5; round++) {
    await site.resumePaused(runIds)
    states = await site.finish(runIds, 'agent')
  }
  expect(states.filter((state) => state !== 'completed')).toEqual([])
  const effects = site.effects()
  const bad = runIds.flatMap((runId) => faults(of(effects, runId), effectsOf(runId)))
  const { doubts, falseDoubts, approvals } = site
  const figures = { seed, kills, pauses, runs: runIds.length, effects: effects.length }
  console.log(`kills of graphs: ${JSON.stringify({ ...figures, doubts, falseDoubts, approvals })}`)
  expect([...bad, ...(await site.findings())]).toEqual([])
  expect(doubts).toBeGreaterThan(0)
  expect(pauses).toBeGreaterThan(0)
  await site.close()
}, 1_200_000)

function of(effects: readonly Effect[], runId: string): Effect[] {
  return effects.filter((effect) => runOf(effect) === runId)
}
