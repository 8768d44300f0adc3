// Runs real worker processes against a real upstream process, kills them, resumes them, decides
// their doubts truthfully, and reads back what happened.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from '../../src/index.ts'
import { canonical } from '../../src/model/canonical.ts'
import { attemptId, keyOf } from '../../src/model/records.ts'

export interface Effect {
  tool: string
  key: string | null
  input: unknown
  attemptId: string | null
  result: unknown
  repeated: boolean
}

export interface Exit {
  code: number | null
  signal: string | null
  out: string
}

export function script(name: string): string {
  return fileURLToPath(new URL(`./${name}`, import.meta.url))
}

/** A folder with a store, and an upstream process that logs beside it. */
export class Site {
  readonly dir = mkdtempSync(join(tmpdir(), 'counterfoil-crash-'))
  readonly db = join(this.dir, 'runs.db')
  doubts = 0
  falseDoubts = 0
  decisions = 0
  private readonly upstream: ChildProcess
  port = ''

  private constructor(delayMs: number) {
    this.upstream = spawn(process.execPath, [script('upstream.mjs'), this.log, String(delayMs)], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
  }

  static async open(delayMs = 1): Promise<Site> {
    const site = new Site(delayMs)
    const [chunk] = await once(site.upstream.stdout as NodeJS.ReadableStream, 'data')
    site.port = String(chunk).trim()
    return site
  }

  get log(): string {
    return join(this.dir, 'effects.log')
  }

  effects(): Effect[] {
    const lines = readFileSync(this.log, 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line))
  }

  worker(name: string, dieAt: number, extra = 'r1'): { child: ChildProcess; exit: Promise<Exit> } {
    const file = name === 'naive.mjs' ? join(this.dir, 'naive.json') : this.db
    const child = spawn(process.execPath, [script(name), file, this.port, String(dieAt), extra], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout?.on('data', (chunk) => {
      out += chunk
    })
    const exit = once(child, 'close').then(([code, signal]) => ({ code, signal, out }))
    return { child, exit }
  }

  /** Decides every open doubt by what the upstream knows. */
  async decideAll(): Promise<void> {
    const cf = await open({ store: `sqlite:${this.db}` })
    const effects = this.effects()
    for (const item of (await cf.inbox.list()).items) {
      this.doubts++
      const { subject, attempt } = item.body
      const id = subject && attemptId(0, 1, keyOf(subject), attempt)
      const mine = (effect: Effect) => effect.attemptId === id && item.runId === runOf(effect)
      const landed = effects.find(mine)
      if (!landed) this.falseDoubts++
      const said = landed
        ? { outcome: 'happened' as const, result: landed.result }
        : { outcome: 'did_not_happen' as const, madeSure: true }
      await cf.inbox.decide(item.itemId, {
        ...said,
        by: 'driver',
        reason: 'asked the upstream',
        version: item.version,
      })
      this.decisions++
    }
    await cf.close()
  }

  async states(runIds: readonly string[]): Promise<string[]> {
    const cf = await open({ store: `sqlite:${this.db}` })
    const states = await Promise.all(runIds.map(async (id) => (await cf.run(id).status()).state))
    await cf.close()
    return states
  }

  /** Resumes until every run has ended. */
  async finish(runIds: readonly string[], rounds = 20): Promise<string[]> {
    for (let round = 0; round < rounds; round++) {
      const { code, signal } = await this.worker('worker.mjs', 0, runIds.join(',')).exit
      if (code !== 0) throw new Error(`a worker that was to finish ended with ${code ?? signal}`)
      const states = await this.states(runIds)
      if (!states.includes('waiting_human')) return states
      await this.decideAll()
    }
    throw new Error(`runs ask for ever: ${runIds.join(', ')}`)
  }

  async close(): Promise<void> {
    this.upstream.disconnect()
    await once(this.upstream, 'exit')
    rmSync(this.dir, { recursive: true, force: true })
  }
}

/** Runs send to their own id, so that an effect names its run. */
export function runOf(effect: Effect): string {
  return (effect.input as { to: string }).to
}

/** Unsafe effects that happened more than once, and effects of the reference that are missing. */
export function compare(effects: readonly Effect[], reference: readonly Effect[]) {
  const name = (effect: Effect) => canonical([effect.tool, effect.input])
  const real = effects.filter((effect) => !effect.repeated)
  const count = new Map<string, number>()
  for (const effect of real) count.set(name(effect), (count.get(name(effect)) ?? 0) + 1)
  const twice = [...count].filter(([, n]) => n > 1).map(([key]) => key)
  const lost = reference.map(name).filter((key) => !count.has(key))
  const strange = [...count.keys()].filter((key) => !reference.some((e) => name(e) === key))
  return { twice, lost, strange }
}
