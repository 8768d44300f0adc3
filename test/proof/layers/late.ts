// An effect that lands when its process is dead: the upstream is slow, or a process that the tool
// has started goes on. A person looks all the time, and says what they see as soon as they may.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isCounterfoilError } from '../../../src/index.ts'
import { type Effect, faults, Site, script } from '../../crash/driver.ts'
import { checkHistory } from '../../crash/history.ts'
import { answerTo } from '../../crash/programs/truth.mjs'
import { type Control, chanceOf, type Layer, nothing, type Outcome } from '../layer.ts'

/**
 * Longer than anything is late here, with the start of a process on a slow machine: it is what the
 * tool says of its upstream.
 */
const quietMs = 7_000
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

/** Looks and speaks until the item is decided; how often it was too early, and what was asked. */
async function attend(site: Site): Promise<{ early: number; said: string; asked: number }> {
  const seen = new Set<string>()
  const found = await site.with(async (cf) => {
    for (let early = 0; early < looksMax; ) {
      const lookedAt = cf.store.clock.now()
      const { items } = await cf.inbox.list()
      for (const { itemId } of items) seen.add(itemId)
      const [item] = items
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
  return { ...found, asked: seen.size }
}

/** How long after the death the first attempt landed; null if it did not, or had before. */
export function lateBy(effects: readonly Effect[], diedAt: number): number | null {
  // Not a later attempt: that is one that a person has allowed.
  const first = effects.find(({ attempt }) => attempt === 1)
  return first?.at !== undefined && first.at > diedAt ? first.at - diedAt : null
}

export async function run(setting: Setting): Promise<Outcome> {
  const site = await Site.open()
  const wrong: string[] = []
  try {
    const { child, exit } = worker(site, setting)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    while (setting.how === 'upstream' && !existsSync(`${site.log}.taken`)) await pause(5)
    await pause(setting.killMs)
    child.kill('SIGKILL')
    const { signal } = await exit
    const diedAt = Date.now()
    const from = performance.now()
    const { code, error } = await worker(site, setting).exit
    const resumeMs = [Math.round(performance.now() - from)]
    if (code !== 0) wrong.push(`the second worker: ${code}, ${error}`)
    const { early, said, asked } = await attend(site)
    await worker(site, setting).exit
    // In the control the first mail may still be on its way.
    await pause(setting.lateMs + 100)
    const effects = site.effects()
    const late = signal === 'SIGKILL' ? lateBy(effects, diedAt) : null
    wrong.push(...faults(effects, [{ tool: 'mail', input: { to: 'r1', subject: 'late' } }]))
    const count = (word: string) => wrong.filter((each) => each.startsWith(word)).length
    const [duplicates, lost] = [count('TWICE'), count('LOST')]
    wrong.push(...(await site.with((cf) => checkHistory(cf.store, effects))))
    const landed =
      late === null ? 'did not land after a death' : `landed ${late} ms after the death`
    const evidence = `${landed}; ${early} looks were too early; then: ${said}`
    return {
      ...{ ...nothing, kind: setting.how, runs: 1, effects: effects.length, duplicates, lost },
      ...{ injected: late === null ? 0 : 1, evidence, resumeMs, wrong },
      ...{ surfaced: asked, falseSurfaced: said === 'did_not_happen' ? 1 : 0 },
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
