// Owns: what chaos leaves on a machine while it works: a folder, processes, and schemas of a
// Postgres server. Invariants: nothing of it is left when it is closed, nor, but for schemas, when
// this process ends; a process that is left alone ends by itself when its channel breaks.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomHex } from '../../clock.ts'
import { loadDriver } from '../../store/postgres/opening/driver.ts'
import { locate } from '../../store/postgres/opening/location.ts'

export type Script = 'server' | 'life'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

const stderrMax = 2_000

export class Session {
  readonly dir = mkdtempSync(join(tmpdir(), 'counterfoil-chaos-'))
  readonly id = randomHex(4)
  /** Null: files of its own. */
  readonly postgres: string | null
  private readonly children = new Set<ChildProcess>()
  private readonly schemas = new Set<string>()
  private closed = false
  private readonly onExit = () => this.endNow()

  constructor(postgres: string | null) {
    this.postgres = postgres
    process.on('exit', this.onExit)
  }

  spawn(script: Script, spec: string): { child: ChildProcess; ended: Promise<Ended> } {
    const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url))
    // As this process was started: a loader for TypeScript, say.
    const child = spawn(process.execPath, [...process.execArgv, path, spec], {
      // On a server, whoever says on which machine it is can be proven dead. The sockets of those
      // that are killed stay, and go with the folder.
      env: { ...process.env, COUNTERFOIL_MACHINE: `chaos-${this.id}`, TMPDIR: this.dir },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      windowsHide: true,
    })
    this.children.add(child)
    let stderr = ''
    child.stderr?.on('data', (chunk) => {
      stderr = `${stderr}${chunk}`.slice(-stderrMax)
    })
    const ended = new Promise<Ended>((resolve) => {
      child.on('error', (error) => {
        stderr += String(error)
      })
      child.on('close', (code, signal) => {
        this.children.delete(child)
        resolve({ code, signal, stderr: stderr.trim() })
      })
    })
    if (this.closed) child.kill('SIGKILL')
    return { child, ended }
  }

  /** The URL of a store that nobody else has. */
  newStore(dir: string): string {
    if (this.postgres === null) return `sqlite:${join(dir, 'runs.db')}`
    const url = new URL(this.postgres)
    const schema = `chaos_${this.id}_${randomHex(4)}`
    this.schemas.add(schema)
    url.searchParams.set('schema', schema)
    return url.href
  }

  async dropStore(store: string): Promise<void> {
    if (this.postgres === null) return
    const { schema } = locate(store)
    if (!this.schemas.delete(schema)) return
    await this.sql(`drop schema if exists "${schema}" cascade`)
  }

  async sql(text: string): Promise<void> {
    const driver = await loadDriver()
    const { connectionString } = locate(this.postgres ?? '')
    const client = new driver.Client({ connectionString })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }

  async close(): Promise<void> {
    this.endNow()
    process.off('exit', this.onExit)
    for (const schema of [...this.schemas]) {
      this.schemas.delete(schema)
      await this.sql(`drop schema if exists "${schema}" cascade`)
    }
  }

  private endNow(): void {
    this.closed = true
    for (const child of this.children) child.kill('SIGKILL')
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 })
  }
}
