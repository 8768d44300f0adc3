// Faults at the n-th system call of a process, by strace. Never with --seccomp-bpf: it injects
// nothing, and says nothing.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Around, Site } from './driver.ts'

/** Calls that change a file or talk to the upstream. */
export const watched = [
  ...['fsync', 'fdatasync', 'pwrite64', 'write', 'writev', 'ftruncate', 'unlink', 'rename'],
  ...['openat', 'mkdir', 'fcntl', 'pread64', 'connect', 'close'],
]

let known: string | null | undefined

/** Null, or why it cannot be used. */
export function straceMissing(): string | null {
  if (known !== undefined) return known
  try {
    execFileSync('strace', ['-f', '-qq', '-o', '/dev/null', 'true'], { stdio: 'pipe' })
    known = null
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    known = absent ? 'no strace' : 'strace is not allowed to trace here'
  }
  return known
}

export interface Point {
  call: string
  n: number
}

const logOf = (site: Site) => join(site.dir, 'trace')

/** Runs a process under strace, which writes down every watched call. */
export function traced(site: Site, inject?: string): Around {
  const which = inject === undefined ? watched.join(',') : inject.slice(0, inject.indexOf(':'))
  const what = inject === undefined ? [] : ['-e', `inject=${inject}`]
  const quiet = ['-f', '-yy', '-s', '0', '-o', logOf(site)]
  return { before: ['strace', ...quiet, '-e', `trace=${which}`, ...what] }
}

const line = /^(\d+) +(\w+)\((.*)$/

/**
 * Places in the last traced process: the n-th call of its thread, as strace counts them, if it
 * touches the site's files or a line to the upstream.
 */
export function pointsOf(site: Site): Point[] {
  const counts = new Map<string, number>()
  const points = new Map<string, Point>()
  for (const text of readFileSync(logOf(site), 'utf8').split('\n')) {
    const [, pid = '', call = '', rest = ''] = line.exec(text) ?? []
    if (!watched.includes(call) || rest.startsWith('resumed')) continue
    const thread = `${pid} ${call}`
    const n = (counts.get(thread) ?? 0) + 1
    counts.set(thread, n)
    const ours = rest.includes(`${site.dir}/`) && !rest.includes(logOf(site))
    if (ours || /TCP:|AF_INET/.test(rest)) points.set(`${call} ${n}`, { call, n })
  }
  return [...points.values()]
}

/** Ends what strace runs, and so strace: killed itself, it would leave it running. */
export function killTraced(pid: number): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  for (const child of children.split(' ').filter(Boolean)) process.kill(Number(child), 'SIGKILL')
}

/** What the trace of a process says of the fault that was planned for it. */
export function injections(site: Site): { killed: boolean; errors: number; last: string } {
  const path = logOf(site)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const calls = lines.filter((text) => line.test(text))
  const injected = lines.filter((text) => text.includes('(INJECTED)'))
  return {
    killed: lines.some((text) => text.includes('+++ killed by SIGKILL +++')),
    errors: injected.length,
    last: (injected.at(-1) ?? calls.at(-1) ?? '').replaceAll(site.dir, '').slice(0, 120),
  }
}
