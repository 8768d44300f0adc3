// Runs real worker processes against a real upstream process, kills them, resumes them, decides
// what they ask truthfully, and reads back what happened.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { verifyLedger } from '../../src/client/ledger/verify.ts'
import { type Counterfoil, open } from '../../src/index.ts'
import { canonical } from '../../src/model/json/canonical.ts'
import { checkHistory } from './history.ts'
import { answerTo } from './programs/truth.mjs'

export interface Effect {
  tool: string
  key: string | null
  input: unknown
  attemptId: string | null
  attempt?: number
  runId?: string
  result: unknown
  repeated: boolean
  /** When it happened, by the upstream's clock. */
  at?: number
}

export interface Exit {
  code: number | null
  signal: string | null
  out: string
  error: string
}

/** What a process runs in: another program before it, another environment. */
export interface Around {
  before?: readonly string[]
  env?: NodeJS.ProcessEnv
}

export function script(name: string): string {
  return fileURLToPath(new URL(`./programs/${name}`, import.meta.url))
}

/** What signs the ledger of a store that has no key file beside it. */
export const key = 'a'.repeat(64)
const machine = 'crash-test'

/** A folder with a store, or one elsewhere, and an upstream process that logs beside it. */
export class Site {
  readonly dir = mkdtempSync(join(tmpdir(), 'counterfoil-crash-'))
  /** The store's URL: the file's, unless another was given. */
  readonly store: string
  doubts = 0
  falseDoubts = 0
  approvals = 0
  decisions = 0
  private readonly upstream: ChildProcess
  port = ''

  private constructor(delayMs: number, store?: string) {
    this.store = store ?? `sqlite:${join(this.dir, 'runs.db')}`
    this.upstream = spawn(process.execPath, [script('upstream.mjs'), this.log, String(delayMs)], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
  }

  static async open(delayMs = 1, store?: string): Promise<Site> {
    const site = new Site(delayMs, store)
    const [chunk] = await once(site.upstream.stdout as NodeJS.ReadableStream, 'data')
    site.port = String(chunk).trim()
    return site
  }

  /** The path of a store that is a file. */
  get db(): string {
    return this.store.slice('sqlite:'.length)
  }

  private get isFile(): boolean {
    return this.store.startsWith('sqlite:')
  }

  /** A server's clients say which machine they are on, so that deaths can be proven. */
  private get said(): NodeJS.ProcessEnv {
    return this.isFile ? {} : { COUNTERFOIL_KEY: key, COUNTERFOIL_MACHINE: machine }
  }

  get log(): string {
    return join(this.dir, 'effects.log')
  }

  effects(): Effect[] {
    // The last line may be half written.
    const lines = readFileSync(this.log, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  }

  /**
   * When so many more effects have happened, by the upstream's word: moments of the work, whatever
   * the speed of the machine. Gives up when `until` is over.
   */
  async progress(more: number, until: Promise<unknown>): Promise<void> {
    const count = () => readFileSync(this.log, 'latin1').split('\n').length
    const from = count()
    let over = false
    void until.then(() => {
      over = true
    })
    while (!over && count() < from + more) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  worker(
    name: string,
    dieAt: number,
    extra = 'r1',
    ...modes: string[]
  ): { child: ChildProcess; exit: Promise<Exit> } {
    const file = name === 'naive.mjs' ? join(this.dir, 'naive.json') : this.store
    return this.spawn(script(name), [file, this.port, String(dieAt), extra, ...modes])
  }

  /** `flags` are those of Node itself. */
  spawn(
    path: string,
    args: readonly string[],
    flags: readonly string[] = [],
    { before = [], env: more = {} }: Around = {},
  ): { child: ChildProcess; exit: Promise<Exit> } {
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
    const env = { ...process.env, ...this.said, ...more }
    const [command = '', ...rest] = [...before, process.execPath, ...flags, path, ...args]
    const child = spawn(command, rest, { stdio, env })
    const said = { out: '', error: '' }
    child.stdout?.on('data', (chunk) => {
      said.out += chunk
    })
    child.stderr?.on('data', (chunk) => {
      said.error += chunk
    })
    const exit = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }))
    return { child, exit }
  }

  /** As a process of its own would: a connection for this one look. */
  async with<T>(work: (cf: Counterfoil) => Promise<T>): Promise<T> {
    const cf = await open({ store: this.store, ...(this.isFile ? {} : { key }) })
    try {
      return await work(cf)
    } finally {
      await cf.close()
    }
  }

  /** Decides every open item by what the upstream knows, and by rule. */
  decideAll(): Promise<void> {
    return this.with(async (cf) => {
      await fetch(`http://127.0.0.1:${this.port}`)
      const effects = this.effects()
      for (const item of (await cf.inbox.list({ countMax: 500 })).items) {
        const said = answerTo(item, effects)
        if (item.kind === 'doubt') this.doubts++
        else this.approvals++
        if (said.outcome === 'did_not_happen') this.falseDoubts++
        const { itemId, version } = item
        const by = { by: 'driver', reason: 'asked the upstream', version }
        await cf.inbox.decide(itemId, { ...said, ...by, madeSure: true })
        this.decisions++
      }
    })
  }

  /** `none` for a run that nobody has come to start. */
  states(runIds: readonly string[]): Promise<string[]> {
    const ref = (runId: string) => ({ namespace: 'default', runId })
    return this.with((cf) =>
      Promise.all(runIds.map(async (id) => (await cf.store.getRun(ref(id)))?.state ?? 'none')),
    )
  }

  /** Resumes until every run has ended. */
  async finish(runIds: readonly string[], ...modes: string[]): Promise<string[]> {
    for (let round = 0; round < 20; round++) {
      const { exit } = this.worker('worker.mjs', 0, runIds.join(','), ...modes)
      const { code, signal, error } = await exit
      if (code !== 0) throw new Error(`a worker that was to finish: ${code ?? signal}, ${error}`)
      const states = await this.states(runIds)
      if (!states.includes('waiting_human')) return states
      await this.decideAll()
    }
    throw new Error(`runs ask for ever: ${runIds.join(', ')}`)
  }

  /** Lets go on what somebody has paused. */
  async resumePaused(runIds: readonly string[]): Promise<void> {
    const states = await this.states(runIds)
    const paused = runIds.filter((_, i) => states[i] === 'paused')
    await this.with(async (cf) => {
      for (const id of paused) await cf.run(id).resume()
    })
  }

  /** Resumes the foreign runtime until every thread of it is through. */
  async finishHost(threads: readonly string[]): Promise<void> {
    let last = ''
    for (let round = 0; round < 20; round++) {
      const { code, signal, out, error } = await this.worker('host.mjs', 0, threads.join(',')).exit
      if (code !== 0) throw new Error(`a host that was to finish: ${code ?? signal}, ${error}`)
      const { states, held } = JSON.parse(out.split('\n').at(-1) ?? '')
      // Whoever held a thread is dead, and that can be proven: nobody is made to wait.
      if (held > 0) throw new Error(`a host found its threads held ${held} times`)
      // Somebody may have wished an end that nobody had come to yet, or a pause.
      if (states.every((state: string) => state === 'done' || state === 'cancelled')) return
      await this.resumePaused(threads)
      await this.decideAll()
      last = threads.map((thread, i) => `${thread} ${states[i]}`).join(', ')
    }
    throw new Error(`threads do not come to their end: ${last}`)
  }

  /**
   * What the ledger says against itself and against the upstream's log; of another namespace than
   * the usual one, where run ids do not name effects, the first alone.
   */
  findings(namespace?: string): Promise<string[]> {
    return this.with(async (cf) => {
      if (namespace === undefined) return checkHistory(cf.store, this.effects())
      const { findings } = await verifyLedger(cf.store, { namespace })
      return findings.map((each) => `${each.runId} ${each.kind} ${each.subject}: ${each.message}`)
    })
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
export function compare(
  effects: readonly Effect[],
  reference: readonly Pick<Effect, 'tool' | 'input'>[],
) {
  const name = (effect: Pick<Effect, 'tool' | 'input'>) => canonical([effect.tool, effect.input])
  const real = effects.filter((effect) => !effect.repeated)
  const count = new Map<string, number>()
  for (const effect of real) count.set(name(effect), (count.get(name(effect)) ?? 0) + 1)
  const twice = [...count].filter(([, n]) => n > 1).map(([key]) => key)
  const lost = reference.map(name).filter((key) => !count.has(key))
  const strange = [...count.keys()].filter((key) => !reference.some((e) => name(e) === key))
  return { twice, lost, strange }
}

/** All of these as lines that say what is wrong; none if nothing is. */
export function faults(
  effects: readonly Effect[],
  reference: readonly Pick<Effect, 'tool' | 'input'>[],
): string[] {
  const { twice, lost, strange } = compare(effects, reference)
  return [
    ...twice.map((key) => `TWICE ${key}`),
    ...lost.map((key) => `LOST ${key}`),
    ...strange.map((key) => `STRANGE ${key}`),
  ]
}
