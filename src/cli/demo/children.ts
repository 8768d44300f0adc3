// Owns: the demo's child processes, from spawn to end. Does not own: what they do.
// Invariants: none outlives the demo: each is ended at the demo's exit, and ends by itself when the
// channel to the demo breaks, which covers a demo that is itself killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../clock.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Message } from './message.ts'
import { folderVariable } from './world.ts'

export interface Exit {
  readonly pid: number
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

type Script = 'mail-server' | 'worker' | 'plain-worker' | 'live/upstreams' | 'live/worker'

/** Long enough for a slow machine; a demo that hangs says so instead. */
const patienceMs = 15_000
const drainMs = 3_000

export class Children {
  private readonly all: Child[] = []

  constructor() {
    process.on('exit', () => {
      for (const child of this.all) child.endNow()
    })
  }

  get pids(): number[] {
    return this.all.map((child) => child.pid)
  }

  spawn(script: Script, folder: string, env: Readonly<Record<string, string>> = {}): Child {
    const child = new Child(script, { ...env, [folderVariable]: folder })
    this.all.push(child)
    return child
  }

  /** Lets workers give back what they hold; then nobody is left. */
  async endAll(): Promise<void> {
    for (const child of this.all) child.askToStop()
    await Promise.all(this.all.map((child) => child.endSoon()))
  }
}

export class Child {
  readonly pid: number
  readonly exit: Promise<Exit>
  private readonly script: Script
  private readonly process: ChildProcess
  private readonly messages: Message[] = []
  private ended: Exit | null = null
  private stderr = ''
  private wake = () => {}
  /** Hears every message as it comes. */
  onMessage: (message: Message) => void = () => {}

  constructor(script: Script, env: Readonly<Record<string, string>>) {
    const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url))
    this.script = script
    this.process = spawn(process.execPath, [path], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      windowsHide: true,
    })
    this.pid = this.process.pid ?? 0
    this.process.stderr?.on('data', (chunk) => {
      this.stderr += chunk
    })
    this.process.on('message', (message: Message) => {
      this.messages.push(message)
      this.onMessage(message)
      this.wake()
    })
    this.exit = new Promise((resolve) => {
      this.process.on('close', (code, signal) => {
        this.ended = { pid: this.pid, code, signal }
        resolve(this.ended)
        this.wake()
      })
      this.process.on('error', (error) => {
        this.stderr += String(error)
      })
    })
  }

  /** The next message of this kind; each is given once. */
  next<K extends Message['kind']>(kind: K): Promise<Extract<Message, { kind: K }>> {
    return this.until(() => {
      const index = this.messages.findIndex((message) => message.kind === kind)
      if (index === -1) return null
      return this.messages.splice(index, 1)[0] as Extract<Message, { kind: K }>
    }, `"${kind}"`)
  }

  get alive(): boolean {
    return this.ended === null
  }

  /** kill -9, and the system's word for it. */
  async kill(): Promise<Exit> {
    this.process.kill('SIGKILL')
    return this.exit
  }

  askToStop(): void {
    if (this.ended === null && this.script.endsWith('worker')) this.process.send('stop', () => {})
    else this.process.kill()
  }

  async endSoon(): Promise<void> {
    const cancel = systemClock.after(drainMs, () => this.endNow())
    await this.exit
    cancel()
  }

  endNow(): void {
    if (this.ended === null) this.process.kill('SIGKILL')
  }

  private until<T>(look: () => T | null, what: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        cancel()
        reject(this.failed(`${why} before it said ${what}`))
      }
      const cancel = systemClock.after(patienceMs, () => fail(`was silent for ${patienceMs} ms`))
      const check = () => {
        const found = look()
        if (found !== null) {
          cancel()
          resolve(found)
        } else if (this.ended) {
          fail(`ended (${this.ended.signal ?? `exit code ${this.ended.code}`})`)
        }
      }
      this.wake = check
      check()
    })
  }

  private failed(what: string): CounterfoilError {
    const said = this.stderr.trim()
    const tail = said === '' ? '' : `; its last words: ${said.slice(-500)}`
    return errorFor('DEMO_FAILED', `the ${this.script} process ${what}${tail}`)
  }
}
