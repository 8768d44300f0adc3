// Which boot of the machine this is. Two equal answers mean: the monotonic clock and the process
// table are the same ones. Different answers are taken as proof of death, so nothing here may
// guess: a boot time worked out from the wall clock moves when that clock is set, and would bury
// the living.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

let known: string | undefined

export function bootId(): string {
  known ??= find(process.platform)
  return known
}

function find(platform: NodeJS.Platform): string {
  try {
    if (platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    if (platform === 'darwin') return run('sysctl', ['-n', 'kern.bootsessionuuid'])
    if (platform === 'freebsd') return run('sysctl', ['-n', 'kern.boot_id'])
    if (platform === 'win32') return windowsBootId()
  } catch {
    // Said below.
  }
  // Leases of an earlier boot then end by time, or by `counterfoil worker dead`.
  return 'unknown'
}

/** A number that Windows raises with every start. */
function windowsBootId(): string {
  const manager = 'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager'
  const key = `${manager}\\Memory Management\\PrefetchParameters`
  const found = /BootId\s+REG_DWORD\s+(0x[0-9a-f]+)/i.exec(
    run('reg', ['query', key, '/v', 'BootId']),
  )
  if (found?.[1] === undefined) throw new Error('no BootId')
  return found[1]
}

function run(command: string, args: string[]): string {
  const text = execFileSync(command, args, { encoding: 'utf8', timeout: 5_000 }).trim()
  if (text === '') throw new Error(`${command} said nothing`)
  return text
}

/** Whether two boots differ for certain; one that could not be found out differs from none. */
export function isOtherBoot(a: string, b: string): boolean {
  return a !== b && a !== 'unknown' && b !== 'unknown'
}
