// One run of a load, hurt once, resumed in new processes until it ends, and judged.

import { type Around, type Exit, faults, Site, script } from '../crash/driver.ts'
import { checkCopy, checkHistory } from '../crash/history.ts'
import { effectsOfLoad } from '../crash/programs/loads.mjs'
import { effectsOf, effectsOfThread } from '../crash/programs/truth.mjs'
import { nothing, type Outcome } from './layer.ts'

export interface Load {
  script: 'worker.mjs' | 'host.mjs'
  modes: readonly string[]
  effects: (to: string) => readonly { tool: string; input: unknown }[]
}

const small = (name: 'workflow' | 'parallel' | 'approval' | 'child'): Load => ({
  ...{ script: 'worker.mjs', modes: [`load=${name}`, 'asks'] },
  effects: (to) => effectsOfLoad[name]?.(to) ?? [],
})

/** Every way of working, by name. */
export const loads: Record<string, Load> = {
  workflow: small('workflow'),
  graph: { script: 'worker.mjs', modes: ['agent', 'asks'], effects: effectsOf },
  parallel: small('parallel'),
  approval: small('approval'),
  scope: { script: 'host.mjs', modes: [], effects: effectsOfThread },
  child: small('child'),
}

export const runId = 'r1'
const roundsMax = 20

/** One process of the load: it works until the run has ended or waits for a person. */
export function life(
  site: Site,
  load: Load,
  around: Around = {},
  more: { dieAt?: number; flags?: readonly string[]; modes?: readonly string[] } = {},
): ReturnType<Site['spawn']> {
  const { dieAt = 0, flags = [], modes = [] } = more
  const args = [site.store, site.port, String(dieAt), runId, ...load.modes, ...modes]
  return site.spawn(script(load.script), args, flags, around)
}

/** Whether the run is through; a host keeps its own books. */
export async function isOver(site: Site, load: Load, exit: Exit): Promise<boolean> {
  if (load.script === 'worker.mjs') {
    const [state = ''] = await site.states([runId])
    return ['completed', 'failed', 'cancelled'].includes(state)
  }
  const { states } = JSON.parse(exit.out.split('\n').at(-1) ?? '')
  return states[0] === 'done'
}

/** In peace, until the run has ended; how long each process took. */
export async function resume(site: Site, load: Load, around: Around = {}): Promise<number[]> {
  const tookMs: number[] = []
  for (let round = 0; round < roundsMax; round++) {
    const from = performance.now()
    const exit = await life(site, load, around).exit
    tookMs.push(Math.round(performance.now() - from))
    const { code, signal, error } = exit
    if (code !== 0) throw new Error(`a process that was to finish: ${code ?? signal}, ${error}`)
    if (await isOver(site, load, exit)) return tookMs
    await site.decideAll()
  }
  throw new Error('the run asks for ever')
}

export interface Hurt {
  injected: number
  evidence: string
  kind: string
  wrong?: string[]
}

export interface TrialOptions {
  /** How those that come after it are started. */
  after?: (site: Site) => Around
  /** Where its store is; a file of its own unless given. */
  store?: string
}

/** Hurts a run of this load, resumes it, and reckons. */
export async function trial(
  load: Load,
  hurt: (site: Site) => Promise<Hurt>,
  { after = () => ({}), store }: TrialOptions = {},
): Promise<Outcome> {
  const site = await Site.open(1, store)
  try {
    const { injected, evidence, kind, wrong = [] } = await hurt(site)
    if (injected > 0) {
      await fetch(`http://127.0.0.1:${site.port}`)
      wrong.push(...(await checkCopy(site.db, site.effects())))
    }
    const [first = 0] = await resume(site, load, after(site))
    const found = await reckon(site, load)
    found.wrong.unshift(...wrong)
    return { ...found, injected, evidence, kind, resumeMs: injected > 0 ? [first] : [] }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { ...nothing, kind: 'error', injected: 1, runs: 1, wrong: [message] }
  } finally {
    await site.close()
  }
}

async function reckon(site: Site, load: Load): Promise<Outcome> {
  const effects = site.effects()
  const wrong = faults(effects, load.effects(runId))
  const count = (word: string) => wrong.filter((each) => each.startsWith(word)).length
  const [duplicates, lost] = [count('TWICE'), count('LOST')]
  wrong.push(...(await site.with((cf) => checkHistory(cf.store, effects))))
  return {
    ...nothing,
    ...{ runs: 1, duplicates, lost, wrong },
    effects: effects.filter(({ repeated }) => !repeated).length,
    surfaced: site.doubts,
    falseSurfaced: site.falseDoubts,
  }
}
