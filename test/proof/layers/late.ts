// An effect that lands when its process is dead: the upstream is slow, or a process that the tool
// has started goes on. A person looks all the time, and says what they see as soon as they may.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isCounterfoilError } from '../../../src/index.ts'
import { type Effect, faults, Site, script } from '../../crash/driver.ts'
import { checkHistory } from '../../crash/history.ts'
import { answerTo } from '../../crash/truth.mjs'
import { type Control, chanceOf, type Layer, nothing, type Outcome } from '../layer.ts'

/** Longer than anything is late here: it is what the tool says of its upstream. */
const quietMs = 4_000
const lateMsMin = 1_500
const lateMsMax = 3_000
const lookMs = 40
const looksMax = 400

interface Setting {
  how: 'upstream' | 'process'
  lateMs: number
  quietMs: number
  /** When the worker is killed, after it has sent. */
  killMs: number
}

function worker(site: Site, { how, lateMs, quietMs: quiet }: Setting) {
  const args = [site.store, site.port, how, String(lateMs), String(quiet), 'r1']
  return site.spawn(script('late-worker.mjs'), args)
}

/** Looks and speaks until the item is decided; how often it was too early for that. */
async function attend(site: Site): Promise<{ early: number; said: string }> {
  return site.with(async (cf) => {
    for (let early = 0; early < looksMax; ) {
      const lookedAt = cf.store.clock.now()
      const [item] = (await cf.inbox.list()).items
      if (item === undefined) return { early, said: 'nothing was asked' }
      const said = answerTo(item, site.effects())
      const by = { by: 'person', reason: 'looked', version: item.version, lookedAt }
      try {
        await cf.inbox.decide(item.itemId, { ...said, ...by })
        return { early, said: said.outcome }
      } catch (error) {
        if (!isCounterfoilError(error, 'DECISION_TOO_EARLY')) throw error
        early++
        await pause(lookMs)
      }
    }
    return { early: looksMax, said: 'it stayed too early' }
  })
}

async function run(setting: Setting): Promise<Outcome> {
  const site = await Site.open()
  const wrong: string[] = []
  try {
    const { child, exit } = worker(site, setting)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    while (setting.how === 'upstream' && !existsSync(`${site.log}.taken`)) await pause(5)
    await pause(setting.killMs)
    child.kill('SIGKILL')
    const diedAt = Date.now()
    const { signal } = await exit
    const from = performance.now()
    const { code, error } = await worker(site, setting).exit
    const resumeMs = [Math.round(performance.now() - from)]
    if (code !== 0) wrong.push(`the second worker: ${code}, ${error}`)
    const { early, said } = await attend(site)
    await worker(site, setting).exit
    // In the control the first mail may still be on its way.
    await pause(setting.lateMs + 100)
    const effects = site.effects()
    const landedLate = effects.some(({ at = 0 }: Effect) => at > diedAt)
    wrong.push(...faults(effects, [{ tool: 'mail', input: { to: 'r1', subject: 'late' } }]))
    const count = (word: string) => wrong.filter((each) => each.startsWith(word)).length
    const [duplicates, lost] = [count('TWICE'), count('LOST')]
    wrong.push(...(await site.with((cf) => checkHistory(cf.store, effects))))
    const evidence = `landed after the death; ${early} looks were too early; then: ${said}`
    return {
      ...{ ...nothing, kind: setting.how, runs: 1, effects: effects.length, duplicates, lost },
      ...{ injected: signal === 'SIGKILL' && landedLate ? 1 : 0, evidence, resumeMs, wrong },
      ...{ surfaced: 1, falseSurfaced: said === 'did_not_happen' ? 1 : 0 },
    }
  } finally {
    await site.close()
  }
}

export const late: Layer = {
  name: 'late',
  about: 'an effect that lands after its process died: a slow upstream, a process that goes on',
  missing: () => null,
  plan: async (size) => {
    const count = { test: 3, small: 20, full: 1_000 }[size]
    return Array.from({ length: count }, (_, n) => `${n % 2 === 0 ? 'upstream' : 'process'} ${n}`)
  },
  run: (name, seed) => {
    const random = chanceOf(seed, name)
    const lateMs = Math.round(lateMsMin + random() * (lateMsMax - lateMsMin))
    const how = name.startsWith('process') ? 'process' : 'upstream'
    return run({ how, lateMs, quietMs, killMs: random() * 400 })
  },
  control: async () => [await impatient()],
}

/** A tool that says its upstream is quiet sooner than it is: I5 stands on that word. */
async function impatient(): Promise<Control> {
  const setting = { how: 'upstream', lateMs: 8_000, quietMs: 100, killMs: 50 } as const
  const { duplicates, evidence } = await run(setting)
  const name = 'a quiet time shorter than the upstream is late'
  return { name, failed: duplicates > 0, evidence: `${duplicates} effect twice; ${evidence}` }
}
