// Owns: what calls are answered with, and the log of what was done for them. It lives in another
// process than the one that is killed (server.ts), so that mocks may keep what they know in
// variables, as a server would.
// Invariants: an ask is in the log before anything is done for it, its answer before it is given.

import { type FailureData, isCounterfoilError } from '../../model/errors.ts'
import { canonical, NotPlainDataError, sha256 } from '../../model/json/canonical.ts'
import type { Ask, Entry, Failure, MockCall, MockPair, Mocks, Reply } from './types.ts'

/** What an earlier run of the same graph was answered. */
export interface Recorded {
  readonly runId: string
  /** `generation#visit/tool/hash/occurrence`. */
  readonly callId: string
  readonly tool: string
  readonly inputHash: string
  readonly resultJson: string | null
  readonly errorJson: string | null
}

/** A line of the log: an ask, or how it ended. */
export type Line =
  | { readonly id: number; readonly ask: Ask }
  | { readonly id: number; readonly reply: Reply; readonly effects: number | null }

export interface UpstreamParts {
  readonly mocks: Mocks
  readonly recorded: readonly Recorded[]
  readonly write: (line: Line) => void
}

export class Upstream {
  private readonly parts: UpstreamParts
  private readonly byKey = new Map<string, Promise<unknown>>()
  private readonly busy = new Set<Promise<unknown>>()
  private count = 0

  constructor(parts: UpstreamParts) {
    this.parts = parts
  }

  /** When nothing is under way. */
  async idle(): Promise<void> {
    while (this.busy.size > 0) await Promise.allSettled([...this.busy])
  }

  serve(ask: Ask): Promise<Reply> {
    const serving = this.answer(ask)
    this.busy.add(serving)
    return serving.finally(() => this.busy.delete(serving))
  }

  /** A tool's own function begins, in the process that may die; what is returned names it. */
  begin(ask: Ask): number {
    const id = ++this.count
    this.parts.write({ id, ask })
    return id
  }

  end(id: number, reply: Reply): void {
    this.parts.write({ id, reply, effects: null })
  }

  private async answer(ask: Ask): Promise<Reply> {
    const id = this.begin(ask)
    const said = { effects: null as number | null }
    const reply = await this.reply(ask, said)
    this.parts.write({ id, reply, effects: said.effects })
    return reply
  }

  private async reply(ask: Ask, said: { effects: number | null }): Promise<Reply> {
    const mock = mockOf(this.parts.mocks, ask.tool)
    const work = ask.what === 'probe' ? mock?.probe : mock?.run
    if (work === undefined) return this.replay(ask)
    try {
      const value = await work(ask.input, this.callOf(ask, said))
      return value === undefined ? { ok: true } : { ok: true, value: plain(ask, value) }
    } catch (error) {
      return { ok: false, error: failureOf(error) }
    }
  }

  private callOf(ask: Ask, said: { effects: number | null }): MockCall {
    const { runId, node, tool, attempt, attemptId, key } = ask
    const effect = () => {
      said.effects = (said.effects ?? 0) + 1
    }
    const once = <T>(make: () => T | Promise<T>): Promise<T> => {
      said.effects ??= 0
      const run = async () => {
        const value = await make()
        effect()
        return value
      }
      if (key === null) return run()
      const name = `${tool}/${key}`
      const known = this.byKey.get(name) as Promise<T> | undefined
      if (known) return known
      const made = run()
      this.byKey.set(name, made)
      // What failed was not done: the same key may try again.
      made.catch(() => this.byKey.delete(name))
      return made
    }
    return { runId, node, tool, attempt, attemptId, idempotencyKey: key, effect, once }
  }

  /** The very call of the recording; or one with the same input, wherever it was made. */
  private replay(ask: Ask): Reply {
    const { recorded } = this.parts
    const hash = sha256(canonical(ask.input))
    const alike = recorded.filter((row) => row.tool === ask.tool && row.inputHash === hash)
    const row =
      alike.find((one) => one.runId === ask.runId && one.callId === ask.callId) ?? alike[0]
    if (row === undefined) return { ok: false, error: missing(ask, recorded) }
    if (row.errorJson !== null) return { ok: false, error: failedBefore(JSON.parse(row.errorJson)) }
    return row.resultJson === null ? { ok: true } : { ok: true, value: JSON.parse(row.resultJson) }
  }
}

/** The upstream's part in a recorded failure: the same kind of it shall reach the node. */
function failedBefore({ kind, name, message }: FailureData): Failure {
  if (kind === 'unknown') return { name, message, givenUp: true }
  if (kind === 'not_sent') return { name, message, code: 'NOT_SENT' }
  return { name: 'RefusedError', message, code: 'REFUSED' }
}

/** How the ids of calls begin that do not pass the gate. */
export const unguarded = 'unguarded/'

/** Of the mocks that somebody wrote: every object also has a `toString`. */
export function mockOf(mocks: Mocks, tool: string): MockPair | undefined {
  return Object.hasOwn(mocks, tool) ? pairOf(mocks[tool]) : undefined
}

export function pairOf(mock: Mocks[string] | undefined): MockPair | undefined {
  return typeof mock === 'function' ? { run: mock } : mock
}

/** Refused here, where its author sees it, and not as the engine's trouble with a result. */
function plain(ask: Ask, value: unknown): unknown {
  try {
    return JSON.parse(canonical(value))
  } catch (error) {
    if (!(error instanceof NotPlainDataError)) throw error
    throw error.within(`mocks.${ask.tool} returned a value that is not JSON: $`)
  }
}

function missing({ tool, input }: Ask, recorded: readonly Recorded[]): Failure {
  const what = recorded.some((row) => row.tool === tool)
    ? `the recording has no answer to ${tool} with the input ${JSON.stringify(input)}`
    : `there is no mock of ${tool}`
  const message =
    `${what}: export const mocks = { ${tool}: async (input, call) => … }; or, if its own ` +
    `function may be run, say so: --real ${tool}`
  return { name: 'CounterfoilError', message, code: 'CHAOS_UPSTREAM_MISSING', ours: true }
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message, code } = error as Error & { code?: unknown }
  const ours = isCounterfoilError(error)
  return { name, message, ...(typeof code === 'string' ? { code } : {}), ...(ours ? { ours } : {}) }
}

/** The log, read: what was asked, with how it ended. */
export function entriesOf(lines: readonly Line[]): Entry[] {
  const ends = new Map(lines.flatMap((line) => ('reply' in line ? [[line.id, line]] : [])))
  return lines.flatMap((line) => {
    if (!('ask' in line)) return []
    const end = ends.get(line.id)
    return [{ ...line.ask, reply: end?.reply ?? null, effects: end?.effects ?? null }]
  })
}
