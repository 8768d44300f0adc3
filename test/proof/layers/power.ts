// The power fails: of what was written and not synced, nothing, all or a part is there afterwards.
import { setTimeout as pause } from 'node:timers/promises'
import { Site } from '../../crash/driver.ts'
import { LoopDisk, powered, powerMissing, rebooted, reportOfCut } from '../../crash/power.ts'
import { type Control, chanceOf, type Layer, nothing, type Outcome } from '../layer.ts'
import { enter, recovery } from '../phases.ts'
import { type Hurt, type Load, life, loads, trial } from '../trial.ts'

const modes = ['none', 'some', 'some', 'all'] as const
const phases = ['0', '0', recovery]

/** How many writes and syncs a phase of a load has. */
async function stepsOf(load: Load, phase: string): Promise<number> {
  const site = await Site.open()
  await (await enter(site, load, phase, powered(site, { mode: 'none', seed: 0 }))).exit
  const steps = reportOfCut(site)?.step ?? 0
  await site.close()
  return steps
}

const known = (name: string): Load => {
  const load = loads[name]
  if (load === undefined) throw new Error(`no load ${name}`)
  return load
}

async function cutAt(site: Site, load: Load, name: string, flags: string[] = []): Promise<Hurt> {
  const [of = '', phase = '', mode = '', at = '', seed = ''] = name.split(' ')
  const cut = { at: Number(at), mode: mode as 'none', seed: Number(seed) }
  const around = powered(site, cut)
  const process =
    flags.length > 0 ? life(site, load, around, { flags }) : await enter(site, load, phase, around)
  const { signal } = await process.exit
  const report = reportOfCut(site)
  if (signal !== 'SIGKILL' || report === null) return { injected: 0, evidence: '', kind: of }
  const { pending, kept, torn, zeroed, names } = report
  const evidence =
    `${mode}: of ${pending} unsynced writes ${kept} kept, ${torn} torn, ${zeroed} zeroed; ` +
    `${names} names undone`
  return { injected: 1, evidence, kind: mode }
}

async function onLoop(name: string, seed: number): Promise<Outcome> {
  const [, of = ''] = name.split(' ')
  const load = known(of)
  const random = chanceOf(seed, name)
  const disk = new LoopDisk()
  const store = `sqlite:${disk.mount}/runs.db`
  try {
    return await trial(
      load,
      async (site) => {
        const { child, exit } = life(site, load)
        await site.progress(1 + Math.floor(random() * load.effects('r1').length), exit)
        await pause(random() * 10)
        child.kill('SIGSTOP')
        if (child.exitCode !== null) return { injected: 0, evidence: '', kind: 'loop' }
        await disk.cut(() => {
          child.kill('SIGKILL')
          return exit
        })
        return { injected: 1, evidence: 'the image was copied and mounted', kind: 'loop' }
      },
      { after: rebooted, store },
    )
  } catch (error) {
    return { ...nothing, injected: 1, kind: 'loop', wrong: [String(error)] }
  } finally {
    disk.close()
  }
}

async function plan(count: number, loops: number, seed: number, of: string[]): Promise<string[]> {
  const steps = new Map<string, number>()
  const names: string[] = []
  for (let n = 0; n < count - loops; n++) {
    const random = chanceOf(seed, `power ${n}`)
    const load = of[n % of.length] ?? 'workflow'
    const phase = phases[Math.floor(n / of.length) % phases.length] ?? '0'
    const place = `${load} ${phase}`
    if (!steps.has(place)) steps.set(place, await stepsOf(known(load), phase))
    const at = 1 + Math.floor(random() * (steps.get(place) ?? 1))
    names.push(`${place} ${modes[n % modes.length]} ${at} ${Math.floor(random() * 1e6)}`)
  }
  const looped = ['workflow', 'parallel', 'graph', 'child']
  for (let n = 0; n < loops; n++) names.push(`loop ${looped[n % looped.length]} ${n}`)
  return names
}

export const power: Layer = {
  name: 'power',
  about: 'a power cut: unsynced writes and names are undone, torn or kept',
  missing: powerMissing,
  plan: (size, seed) => {
    if (size === 'test') return plan(8, 0, seed, ['workflow', 'parallel'])
    const loop = LoopDisk.missing() === null
    const all = Object.keys(loads)
    if (size === 'small') return plan(50, loop ? 6 : 0, seed, all)
    return plan(10_000, loop ? 500 : 0, seed, all)
  },
  run: (name, seed) => {
    const [of = ''] = name.split(' ')
    if (of === 'loop') return onLoop(name, seed)
    return trial(known(of), (site) => cutAt(site, known(of), name), { after: rebooted })
  },
  control: async () => [await normal()],
}

/** SQLite with synchronous=NORMAL acknowledges what it has not synced. */
async function normal(): Promise<Control> {
  const load = known('workflow')
  const flags = ['--import', new URL('../../crash/programs/normal.mjs', import.meta.url).href]
  // A store that the cut leaves empty is refused for its witness: it is there and synced before.
  const made = (site: Site) => site.with(async () => {})
  const site = await Site.open()
  await made(site)
  await life(site, load, powered(site, { mode: 'none', seed: 0 }), { flags }).exit
  const steps = reportOfCut(site)?.step ?? 0
  await site.close()
  let cuts = 0
  let twice = 0
  let lost = 0
  // From where the work begins to where the log is brought into the database, at the end.
  for (let share = 0.5; share < 0.85 && (lost === 0 || twice === 0); share += 0.03) {
    const name = `workflow 0 none ${Math.round(steps * share)} 1`
    const hurt = async (each: Site) => {
      await made(each)
      return cutAt(each, load, name, flags)
    }
    const outcome = await trial(load, hurt, { after: rebooted })
    cuts += outcome.injected
    twice += outcome.duplicates
    lost += outcome.wrong.filter((each) => /no intent|no such run/.test(each)).length
  }
  const evidence = `${cuts} power cuts, ${lost} intents lost, ${twice} effects twice`
  return { name: 'synchronous=NORMAL', failed: cuts > 0 && lost > 0 && twice > 0, evidence }
}
