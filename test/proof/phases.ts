// A load goes through several processes: one until it waits for a person, the next after the
// answer; and one that recovers from a death. Each is a phase, with points of its own.
import { type Around, Site } from '../crash/driver.ts'
import { type Point, pointsOf, traced } from '../crash/strace.ts'
import { isOver, type Load, life, loads } from './trial.ts'

/** The process after one that has died in the middle of its work. */
export const recovery = 'r'
/** Where that one dies: with calls under way, in every load. */
const dieAt = 16
const phasesMax = 6

export interface Place extends Point {
  load: string
  phase: string
}

export const nameOf = ({ load, phase, call, n }: Place) => `${load} ${phase} ${call} ${n}`

/** Brings the site to the beginning of a phase. */
export async function reach(site: Site, load: Load, phase: string): Promise<void> {
  if (phase === recovery) {
    const { signal } = await life(site, load, {}, { dieAt }).exit
    if (signal !== 'SIGKILL') throw new Error(`it did not die at failpoint ${dieAt}`)
    return
  }
  for (let n = 0; n < Number(phase); n++) {
    const { code, error } = await life(site, load).exit
    if (code !== 0) throw new Error(`phase ${n}: ${code}, ${error}`)
    await site.decideAll()
  }
}

/** Every point of every phase of these loads, from an uninterrupted run of each. */
export async function placesOf(names: readonly string[] = Object.keys(loads)): Promise<Place[]> {
  const places: Place[] = []
  for (const name of names) {
    const load = loads[name]
    if (load === undefined) throw new Error(`no load ${name}`)
    places.push(...(await inTurn(name, load)))
    places.push(...(await recovering(name, load)))
  }
  return places
}

async function inTurn(name: string, load: Load): Promise<Place[]> {
  const site = await Site.open()
  const places: Place[] = []
  for (let phase = 0; phase < phasesMax; phase++) {
    const exit = await life(site, load, traced(site)).exit
    places.push(...at(name, String(phase), site))
    if (await isOver(site, load, exit)) break
    await site.decideAll()
  }
  await site.close()
  return places
}

async function recovering(name: string, load: Load): Promise<Place[]> {
  const site = await Site.open()
  await reach(site, load, recovery)
  await life(site, load, traced(site)).exit
  const places = at(name, recovery, site)
  await site.close()
  return places
}

function at(load: string, phase: string, site: Site): Place[] {
  return pointsOf(site).map((point) => ({ load, phase, ...point }))
}

/** The process of a phase, with something around it. */
export async function enter(site: Site, load: Load, phase: string, around: Around) {
  await reach(site, load, phase)
  return life(site, load, around)
}
