// Power cuts: the shim of native/power.c, compiled when it is needed; and the same on a file system
// of its own, whose image is copied while the worker stands still.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Around, type Site, script } from './driver.ts'

const source = script('../native/power.c')
let known: string | null | undefined

/** Null, or why it cannot be used. */
export function powerMissing(): string | null {
  if (known !== undefined) return known
  if (process.platform !== 'linux') known = 'no LD_PRELOAD as on Linux'
  else {
    try {
      shim()
      known = null
    } catch (error) {
      const absent = (error as NodeJS.ErrnoException).code === 'ENOENT'
      known = absent ? 'no gcc' : `gcc cannot compile it: ${String(error).slice(0, 200)}`
    }
  }
  return known
}

let compiled: string | undefined

function shim(): string {
  if (compiled !== undefined) return compiled
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)
  const path = join(tmpdir(), `counterfoil-power-${process.getuid?.() ?? 0}-${hash}.so`)
  if (!existsSync(path)) {
    const draft = `${path}.${process.pid}`
    execFileSync('gcc', ['-O2', '-shared', '-fPIC', '-o', draft, source, '-lpthread'], {
      stdio: 'pipe',
    })
    renameSync(draft, path)
  }
  compiled = path
  return path
}

export interface Cut {
  at?: number
  mode: 'none' | 'some' | 'all'
  seed: number
}

const reportOf = (site: Site) => join(site.dir, 'power.log')

/** A process whose power fails at its n-th write or sync; without `at`, one that counts them. */
export function powered(site: Site, { at, mode, seed }: Cut): Around {
  const when = at === undefined ? {} : { POWER_AT: String(at) }
  return {
    env: {
      ...{ LD_PRELOAD: shim(), POWER_DIR: site.dir, POWER_REPORT: reportOf(site) },
      ...{ POWER_MODE: mode, POWER_SEED: String(seed), ...when },
    },
  }
}

/** A process of the next boot. */
export function rebooted(site: Site): Around {
  const boot = join(site.dir, 'boot.log')
  if (!existsSync(boot)) writeFileSync(boot, '00000000-0000-4000-8000-000000000001\n')
  return { env: { LD_PRELOAD: shim(), POWER_BOOT: boot } }
}

export interface Report {
  step: number
  syncs: number
  pending: number
  kept: number
  torn: number
  zeroed: number
  names: number
}

/** What the shim has done; null if the power did not fail. */
export function reportOfCut(site: Site): Report | null {
  const path = reportOf(site)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null
}

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'pipe' })

/** A file system on a loop device that writes by itself as late as it can. */
export class LoopDisk {
  readonly dir = mkdtempSync(join(tmpdir(), 'counterfoil-loop-'))
  readonly mount = join(this.dir, 'disk')
  private readonly image = join(this.dir, 'image')

  constructor() {
    mkdirSync(this.mount)
    run('truncate', '-s', '48M', this.image)
    run('mkfs.ext4', '-q', this.image)
    run('mount', '-o', 'loop,commit=300', this.image, this.mount)
    // What mkfs and mount have written is there.
    run('sync', '-f', this.mount)
  }

  static missing(): string | null {
    try {
      new LoopDisk().close()
      return null
    } catch {
      return 'no loop devices'
    }
  }

  /** As after a power cut: what the device had been given, and no more. */
  async cut(end: () => Promise<unknown>): Promise<void> {
    copyFileSync(this.image, `${this.image}.cut`)
    await end()
    run('umount', this.mount)
    renameSync(`${this.image}.cut`, this.image)
    run('mount', '-o', 'loop', this.image, this.mount)
  }

  close(): void {
    try {
      run('umount', this.mount)
    } finally {
      rmSync(this.dir, { recursive: true, force: true })
    }
  }
}
