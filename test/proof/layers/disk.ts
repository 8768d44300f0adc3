// A full disk and I/O errors at the n-th system call of a process: once, or from then on.
import { setTimeout as pause } from 'node:timers/promises'
import type { Site } from '../../crash/driver.ts'
import { injections, killTraced, straceMissing, traced } from '../../crash/strace.ts'
import { type Control, type Layer, spread } from '../layer.ts'
import { enter, type Place, placesOf } from '../phases.ts'
import { type Hurt, life, loads, trial } from '../trial.ts'

/** What each call fails with, and whether it may go on failing: one that others need may not. */
const errors: Record<string, { errors: string[]; sticky: boolean }> = {
  pwrite64: { errors: ['ENOSPC', 'EIO'], sticky: true },
  write: { errors: ['ENOSPC', 'EIO'], sticky: false },
  fsync: { errors: ['EIO', 'ENOSPC'], sticky: true },
  fdatasync: { errors: ['EIO'], sticky: true },
  ftruncate: { errors: ['ENOSPC', 'EIO'], sticky: true },
  pread64: { errors: ['EIO'], sticky: false },
  openat: { errors: ['ENOSPC', 'EIO'], sticky: false },
  mkdir: { errors: ['ENOSPC'], sticky: false },
  rename: { errors: ['EIO', 'ENOSPC'], sticky: false },
  unlink: { errors: ['EIO'], sticky: false },
}

function casesOf({ load, phase, call, n }: Place): string[] {
  const known = errors[call]
  if (known === undefined) return []
  return known.errors.flatMap((error) => {
    const name = `${load} ${phase} ${error} ${call} ${n}`
    return known.sticky ? [name, `${name}+`] : [name]
  })
}

/** Longer than a process needs, and than the store waits before it gives up. */
const patienceMs = 8_000

async function faulty(site: Site, name: string): Promise<Hurt> {
  const [of = '', phase = '', error = '', call = '', when = ''] = name.split(' ')
  const load = loads[of]
  if (load === undefined) throw new Error(`no load ${of}`)
  const around = traced(site, `${call}:error=${error}:when=${when}`)
  const { child, exit } = await enter(site, load, phase, around)
  const ended = await Promise.race([exit, pause(patienceMs, null, { ref: false })])
  if (ended === null) killTraced(child.pid ?? 0)
  const { code, error: said } = await exit
  const { errors: count, last } = injections(site)
  if (count === 0) return { injected: 0, evidence: '', kind: 'not reached' }
  const told = code !== 0 || said !== ''
  const kind = ended === null ? 'held up' : told ? 'raised' : 'not reported'
  const wrong = told ? unclear(said, ended === null) : []
  return { injected: 1, evidence: `${count} × ${error}: ${last}`, kind, wrong }
}

/** A process that ends by an error says which: by a code of ours, or by the system's own. */
function unclear(said: string, killed: boolean): string[] {
  if (killed || said === '' || /[A-Z]{3,}_[A-Z_]+|E[A-Z]{2,}\b|CounterfoilError/.test(said))
    return []
  return [`an error without a code: ${said.slice(0, 300)}`]
}

export const disk: Layer = {
  name: 'disk',
  about: 'ENOSPC and EIO at the n-th system call on the store’s files, once or from then on',
  missing: straceMissing,
  plan: async (size, seed) => {
    const places = await placesOf(size === 'test' ? ['workflow'] : undefined)
    const names = places.flatMap(casesOf)
    if (size === 'full') return names
    return spread(names, size === 'small' ? 100 : 10, seed)
  },
  run: (name) => {
    const [of = ''] = name.split(' ')
    const load = loads[of]
    if (load === undefined) throw new Error(`no load ${of}`)
    return trial(load, (site) => faulty(site, name))
  },
  control: async () => [await unheeded()],
}

/** Whoever takes a failed write for a done one loses it: errors of SQLite are swallowed here. */
async function unheeded(): Promise<Control> {
  const load = loads['workflow']
  if (load === undefined) throw new Error('no load')
  const flags = ['--import', new URL('../../crash/programs/deaf.mjs', import.meta.url).href]
  let injected = 0
  const wrong: string[] = []
  // From where the work begins to where the log is brought into the database, at the end.
  for (let n = 190; n < 250 && wrong.length === 0; n += 8) {
    const outcome = await trial(load, async (site) => {
      const around = traced(site, `pwrite64:error=EIO:when=${n}+`)
      const { child, exit } = life(site, load, around, { flags })
      const ended = await Promise.race([exit, pause(patienceMs, null, { ref: false })])
      if (ended === null) killTraced(child.pid ?? 0)
      await exit
      const { errors: count } = injections(site)
      injected += count > 0 ? 1 : 0
      return { injected: 1, evidence: '', kind: '' }
    })
    wrong.push(...outcome.wrong)
  }
  const evidence = `${injected} disks failed; ${wrong.length} faults found, as: ${wrong[0] ?? ''}`
  const name = 'a store that takes failed commits for done'
  return { name, failed: injected > 0 && wrong.length > 0, evidence }
}
