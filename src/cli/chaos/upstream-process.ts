// The process of an upstream, from its start to its end: it is asked over HTTP, and watched.
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pause, systemClock } from '../../clock.ts'
import { CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Ended, Session } from './session.ts'
import type { Recording } from './stage/recording.ts'
import type { Facts, Failure } from './types.ts'
import { type Greeting, post, type ServerSpec } from './wire.ts'

const fallMs = 500

export function exitText({ code, signal, stderr }: Ended): string {
  const last = stderr === '' ? '' : `: ${stderr.split('\n').slice(-8).join('\n')}`
  return `its process ended by itself (${signal ?? `exit code ${code}`})${last}`
}

/** What an upstream is started with. */
export interface Loading {
  readonly session: Session
  readonly file: string
  readonly recording: Recording | null
  readonly timeoutMs: number
}

export class UpstreamProcess {
  readonly port: number
  readonly facts: Facts
  readonly log: string
  /** Why it has ended by itself; pending as long as it has not. */
  readonly fallen: Promise<CounterfoilError>
  private readonly child: ChildProcess
  private readonly ended: Promise<Ended>
  private ending = false

  private constructor(
    greeting: { port: number; facts: Facts },
    log: string,
    process: { child: ChildProcess; ended: Promise<Ended> },
  ) {
    this.port = greeting.port
    this.facts = greeting.facts
    this.log = log
    this.child = process.child
    this.ended = process.ended
    this.fallen = new Promise((resolve) => {
      void process.ended.then((end) => this.ending || resolve(fell(end)))
    })
  }

  static async start(
    { session, file, recording, timeoutMs }: Loading,
    dir: string,
  ): Promise<UpstreamProcess> {
    const log = join(dir, 'effects.log')
    const rows = recording === null ? null : join(dir, 'recording.json')
    if (rows !== null) writeFileSync(rows, JSON.stringify(recording?.calls))
    const spec: ServerSpec = { file, log, recording: rows }
    const path = join(dir, 'upstream-spec.json')
    writeFileSync(path, JSON.stringify(spec))
    const process = session.spawn('server', path)
    const said = new Promise<Greeting>((resolve) => process.child.once('message', resolve as never))
    let late = false
    const cancel = systemClock.after(timeoutMs, () => {
      late = true
      process.child.kill('SIGKILL')
    })
    const greeting = await Promise.race([said, process.ended]).finally(() => cancel())
    if (late) throw neverLoaded(file, timeoutMs)
    if ('port' in greeting) return new UpstreamProcess(greeting, log, process)
    process.child.kill('SIGKILL')
    await process.ended
    throw notLoaded(file, 'error' in greeting ? greeting.error : null, greeting)
  }

  /** Asks it. If it is not there any more, why that is so is thrown, and no socket's trouble. */
  async post<T>(path: string, body: unknown = null): Promise<T> {
    try {
      return await post<T>(this.port, path, body)
    } catch (error) {
      // Its socket is gone a moment before the process is known to be.
      throw (await Promise.race([this.fallen, pause(systemClock, fallMs)])) ?? error
    }
  }

  async end(): Promise<void> {
    this.ending = true
    // Its log is synced: there is nothing to wait for.
    this.child.kill('SIGKILL')
    await this.ended
  }
}

/** Of what the process wrote last, the line that says what was thrown. */
function fell(end: Ended): CounterfoilError {
  const how = end.signal ?? `exit code ${end.code}`
  const thrown = end.stderr.split('\n').find((line) => /^(Uncaught )?[\w.]*Error\b.*: /.test(line))
  const silent = 'does a mock call process.exit()?'
  const why = thrown ?? (end.stderr === '' ? silent : end.stderr.split('\n').slice(-8).join('\n'))
  const message = `the process of your mocks ended by itself (${how}): ${why}`
  return errorFor('CHAOS_OPTIONS', message)
}

function neverLoaded(file: string, timeoutMs: number): CounterfoilError {
  const why = 'its import does not end: a top-level await, for example'
  const message = `${file} was not loaded after ${timeoutMs / 1_000} s: ${why}`
  return errorFor('MODULE_NOT_LOADED', message)
}

function notLoaded(file: string, error: Failure | null, end: Greeting | Ended): CounterfoilError {
  if (error?.ours && error.code !== undefined) {
    return new CounterfoilError<string>(error.code, error.message)
  }
  const why = error?.message ?? ('code' in end ? exitText(end) : '')
  return errorFor('MODULE_NOT_LOADED', `${file} cannot be imported: ${why}`)
}
