// SIGKILL at the n-th system call that touches the store's files or the line to the upstream.
import { injections, straceMissing, traced } from '../../crash/strace.ts'
import { type Layer, spread } from '../layer.ts'
import { enter, nameOf, placesOf } from '../phases.ts'
import { loads, trial } from '../trial.ts'
import { plainCheckpoints } from './controls.ts'

export const syscalls: Layer = {
  name: 'syscalls',
  about: 'SIGKILL at the n-th system call on the store’s files or the line to the upstream',
  missing: straceMissing,
  plan: async (size, seed) => {
    const names = (await placesOf(size === 'test' ? ['workflow', 'approval'] : undefined)).map(
      nameOf,
    )
    if (size === 'full') return names
    return spread(names, size === 'small' ? 60 : 6, seed)
  },
  run: (name) => {
    const [of = '', phase = '', call = '', n = ''] = name.split(' ')
    const load = loads[of]
    if (load === undefined) throw new Error(`no load ${of}`)
    return trial(load, async (site) => {
      const around = traced(site, `${call}:signal=SIGKILL:when=${n}`)
      const { signal } = await (await enter(site, load, phase, around)).exit
      const { killed, last } = injections(site)
      const died = signal === 'SIGKILL' && killed
      return { injected: died ? 1 : 0, evidence: died ? `died in ${last}` : '', kind: of }
    })
  },
  control: async () => [await plainCheckpoints('system calls', straceKill)],
}

/** The control's process: killed at the n-th time that it opens its record to write it. */
function straceKill(n: number, path: string): readonly string[] {
  const inject = ['-e', 'trace=openat', '-e', `inject=openat:signal=SIGKILL:when=${n}`]
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-P', path, ...inject]
}
