// A stage of real processes: a store on disk or on a server, an upstream in a process of its own,
// and lives that are killed by SIGKILL.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../clock.ts'
import { errorFor } from '../../../model/errors.ts'
import { open } from '../../../open.ts'
import { locate } from '../../../store/postgres/opening/location.ts'
import type { Asked, Desk, Entry, Failure, Life, Rest, Stage } from '../types.ts'
import { entriesOf } from '../upstream.ts'
import { exitText, type Loading, UpstreamProcess } from '../upstream-process.ts'
import type { LifeSpec, Resting, Told } from '../wire.ts'
import { Prompter } from './recording.ts'

/** What is the same for every stage. */
export interface Cast extends Loading {
  readonly graph: string | null
  readonly input: unknown
  readonly namespace: string
  readonly key: string | null
  readonly real: readonly string[]
  readonly seed: number
}

export class ProcessStage implements Stage {
  readonly runId: string
  private readonly cast: Cast
  private readonly server: UpstreamProcess
  private readonly dir: string
  private readonly store: string
  private readonly prompter: Prompter
  private lives = 0
  private skewMs = 0

  private constructor(cast: Cast, runId: string, dir: string, server: UpstreamProcess) {
    this.cast = cast
    this.runId = runId
    this.dir = dir
    this.server = server
    this.store = cast.session.newStore(dir)
    this.prompter = new Prompter(cast.recording)
    mkdirSync(join(dir, 'host'))
  }

  static async open(cast: Cast, name: string, runId: string): Promise<ProcessStage> {
    const dir = join(cast.session.dir, name)
    mkdirSync(dir)
    const server = await UpstreamProcess.start(cast, dir)
    return new ProcessStage(cast, runId, dir, server)
  }

  /** Leases of a server are counted by its own clock: there, nobody may be alive. */
  get jumpsAlive(): boolean {
    return this.cast.session.postgres === null
  }

  async live(dieAt: number, rest: Rest): Promise<Life> {
    const { cast, dir, runId } = this
    const name = `life-${++this.lives}`
    const out = join(dir, `${name}.json`)
    const { file, graph, input, namespace, key, real, seed, timeoutMs } = cast
    const spec: LifeSpec = {
      file,
      graph,
      input,
      namespace,
      key,
      real,
      runId,
      dieAt,
      seed,
      out,
      store: this.store,
      dir: join(dir, 'host'),
      port: this.server.port,
      skewMs: this.skewMs,
      probes: this.server.facts.probes,
    }
    const path = join(dir, `${name}-spec.json`)
    writeFileSync(path, JSON.stringify(spec))
    const { child, ended } = cast.session.spawn('life', path)
    let trouble: unknown = null
    const give = (error: unknown) => {
      trouble ??= error
      child.kill('SIGKILL')
    }
    // Nobody answers it any more.
    void this.server.fallen.then(give)
    child.on('message', ({ end }: Resting) => {
      const tell = (goOn: boolean) => {
        const told: Told = { goOn, skewMs: this.skewMs }
        if (child.connected) child.send(told, () => {})
      }
      rest(end).then(tell, give)
    })
    let late = false
    const cancel = systemClock.after(timeoutMs, () => {
      late = true
      child.kill('SIGKILL')
    })
    const end = await ended
    cancel()
    if (trouble !== null) throw trouble
    const life: Life | null = existsSync(out) ? JSON.parse(readFileSync(out, 'utf8')) : null
    // Its own word that it is about to die, and the system's that it did.
    if (life && (life.died === null || end.signal === 'SIGKILL') && !late) return life
    const seconds = Math.round(timeoutMs / 1_000)
    const fault: Failure = late
      ? { name: 'Timeout', code: 'timeout', message: `it had not ended after ${seconds} s` }
      : { name: 'Exit', message: exitText(end) }
    return { hits: [], died: null, end: null, fault }
  }

  async look<T>(work: (desk: Desk) => Promise<T>): Promise<T> {
    const { namespace, key } = this.cast
    const cf = await open({
      store: this.store,
      namespace,
      onWarning: () => {},
      retention: 'off' as const,
      ...(key === null ? {} : { key }),
    })
    try {
      return await work({ ...cf, namespace })
    } finally {
      await cf.close()
    }
  }

  settled(): Promise<void> {
    return this.server.post('/idle')
  }

  entries(): readonly Entry[] {
    const lines = existsSync(this.server.log) ? readFileSync(this.server.log, 'utf8') : ''
    return entriesOf(
      lines
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    )
  }

  async answer(asked: Asked): Promise<unknown> {
    const own = await this.server.post<unknown>('/answer', asked)
    return own === undefined ? this.prompter.answer(asked) : own
  }

  async signal(name: string, runId: string): Promise<unknown> {
    const own = await this.server.post<unknown>('/signal', { name, runId })
    return own === undefined ? this.prompter.signal(name, runId) : own
  }

  async totals(): Promise<Readonly<Record<string, number>> | null> {
    if (!this.server.facts.effects || this.cast.real.length === 0) return null
    const totals = await this.server.post<Record<string, number>>('/effects')
    const fits = Object.values(totals ?? {}).every((count) => Number.isFinite(count))
    if (totals && typeof totals === 'object' && fits) return totals
    const message = '`effects` must give numbers by the names of tools: { send_email: 3 }'
    throw errorFor('CHAOS_OPTIONS', `${message}; it gave ${JSON.stringify(totals)}`)
  }

  async jump(toMs: number): Promise<void> {
    const ms = Math.max(this.skewMs, toMs - systemClock.now() + 1)
    this.skewMs = ms
    const { session } = this.cast
    if (session.postgres === null) return
    const { schema } = locate(this.store)
    this.skewMs = 0
    await session.sql(
      `create or replace function "${schema}".now_ms() returns double precision
       language sql volatile as $$
         select floor(extract(epoch from clock_timestamp()) * 1000 + ${ms})::double precision $$`,
    )
  }

  async close(): Promise<void> {
    await this.server.end()
    await this.cast.session.dropStore(this.store)
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 })
  }
}
