// A process kills itself at its n-th call of the store or the upstream; in full, the one that
// recovers dies as well, at every one of its own.
import { compare, Site } from '../../crash/driver.ts'
import { type Control, type Layer, spread } from '../layer.ts'
import { type Hurt, isOver, type Load, life, loads, trial } from '../trial.ts'

const processesMax = 20

interface Death {
  /** Failpoints that were passed. */
  hits: number
  died: boolean
}

/** Works until the run is over; dies at the n-th failpoint, counted over all of its processes. */
async function workThrough(site: Site, load: Load, dieAt: number): Promise<Death> {
  let hits = 0
  for (let n = 0; n < processesMax; n++) {
    const exit = await life(site, load, {}, { dieAt: dieAt > hits ? dieAt - hits : 0 }).exit
    const { code, signal, out, error } = exit
    if (signal === 'SIGKILL') return { hits, died: true }
    if (code !== 0) throw new Error(`a worker: ${code}, ${error}`)
    hits += JSON.parse(out.split('\n').at(-1) ?? '').hits
    if (await isOver(site, load, exit)) return { hits, died: false }
    await site.decideAll()
  }
  throw new Error('the run asks for ever')
}

/** How many failpoints an uninterrupted run has. */
async function hitsOf(load: Load): Promise<number> {
  const site = await Site.open()
  const { hits } = await workThrough(site, load, 0)
  await site.close()
  return hits
}

/** What a recovering process passes beyond what was left: it registers, claims and loads. */
const recoveryHits = 25

async function plan(of: readonly string[], pairs: boolean): Promise<string[]> {
  const names: string[] = []
  for (const name of of) {
    const hits = await hitsOf(known(name))
    for (let first = 1; first <= hits; first++) {
      names.push(`${name} ${first}`)
      for (let second = 1; pairs && second <= hits - first + recoveryHits; second++) {
        names.push(`${name} ${first} ${second}`)
      }
    }
  }
  return names
}

function known(name: string): Load {
  const load = loads[name]
  if (load === undefined) throw new Error(`no load ${name}`)
  return load
}

async function die(site: Site, name: string): Promise<Hurt> {
  const [of = '', first = '', second] = name.split(' ')
  const load = known(of)
  const { died } = await workThrough(site, load, Number(first))
  const missed = { injected: 0, evidence: '', kind: of }
  if (!died) return missed
  if (second === undefined) return { injected: 1, evidence: 'SIGKILL to itself', kind: of }
  await site.decideAll()
  const { signal } = await life(site, load, {}, { dieAt: Number(second) }).exit
  return signal === 'SIGKILL' ? { injected: 2, evidence: 'SIGKILL twice', kind: of } : missed
}

export const failpoints: Layer = {
  name: 'failpoints',
  about: 'death at every call of the store and every dispatch; in full also during recovery',
  missing: () => null,
  plan: async (size, seed) => {
    if (size === 'test') return spread(await plan(['approval', 'child'], false), 6, seed)
    return plan(Object.keys(loads), size === 'full')
  },
  run: (name) => trial(known(name.split(' ')[0] ?? ''), (site) => die(site, name)),
  control: async () => [await plain()],
}

/** Plain checkpoint replay, killed at the same kind of points, repeats its steps. */
async function plain(): Promise<Control> {
  let [kills, twice] = [0, 0]
  for (let n = 1; n <= 9; n++) {
    const site = await Site.open()
    const { signal } = await site.worker('naive.mjs', n).exit
    if (signal === 'SIGKILL') kills++
    await site.worker('naive.mjs', 0).exit
    twice += compare(site.effects(), []).twice.length
    await site.close()
  }
  const evidence = `${kills} deaths, ${twice} effects twice`
  return { name: 'plain checkpoints', failed: kills === 9 && twice > 0, evidence }
}
