// What has come for a visit's waits since it was recorded: signals that were sent, times that have
// passed, children that ended. Pure functions over what was loaded.

import { attemptPlace } from '../model/attempt-id.ts'
import { canonical } from '../model/canonical.ts'
import { type CallRecord, isWait, type Signal } from '../model/records.ts'
import type { Loaded, Sealed } from '../store/store.ts'
import type { Entry } from './entry.ts'

export const sleepTool = 'counterfoil.sleep'
export const signalTool = 'counterfoil.signal'
export const spawnTool = 'counterfoil.spawn'

/** Signals that nothing has taken yet, first come, first served. */
export class SignalPool {
  private readonly left: Signal[] = []
  /** Also those that were taken since: they may not be durable yet. */
  private readonly seen = new Set<string>()

  constructor(signals: readonly Signal[]) {
    this.add(signals)
  }

  take(name: string): Signal | null {
    const at = this.left.findIndex((signal) => signal.name === name)
    return at < 0 ? null : (this.left.splice(at, 1)[0] ?? null)
  }

  /** Those that came since. */
  add(signals: readonly Signal[]): void {
    for (const signal of signals) {
      if (this.seen.has(signal.signalId)) continue
      this.seen.add(signal.signalId)
      this.left.push(signal)
    }
  }
}

/** Those that can be trusted: any other was written by nobody who may (B8). */
export function trustedSignals(rows: readonly Sealed<Signal>[]): Signal[] {
  return rows.filter((row) => row.verifies).map(({ verifies: _, ...signal }) => signal)
}

export function usedSignal(signal: Signal, run: Loaded['run'], key: string): Signal {
  return { ...signal, usedBy: attemptPlace(run.generation, run.visit, key, 0) }
}

/** What `ctx.signal` answers with. */
export function signalJson({ name, signalId, dataJson, at }: Signal): string {
  const data = dataJson === null ? null : JSON.parse(dataJson)
  return canonical({ name, id: signalId, data, at })
}

/** The name that a recorded `ctx.signal` waits for. */
export function signalName(record: CallRecord): string {
  return String((JSON.parse(record.inputJson ?? '{}') as { name?: unknown }).name)
}

export interface WaitAnswer {
  readonly entry: Entry
  readonly resultJson: string | null
  readonly signal: Signal | null
}

/** Waits that are over: those whose signal is here, then those whose time has come, as it came. */
export function answeredWaits(
  entries: Iterable<Entry>,
  pool: SignalPool,
  now: number,
): WaitAnswer[] {
  const open = [...entries].filter(
    ({ record, verifies, settled }) =>
      isWait(record.tool) && verifies && settled === null && record.status === 'pending',
  )
  const answers: WaitAnswer[] = []
  const due: Entry[] = []
  for (const entry of open) {
    const { record } = entry
    const signal = record.tool === signalTool ? pool.take(signalName(record)) : null
    if (signal) answers.push({ entry, resultJson: signalJson(signal), signal })
    else if (record.dueAt !== null && record.dueAt <= now) due.push(entry)
  }
  due.sort((a, b) => (a.record.dueAt ?? 0) - (b.record.dueAt ?? 0))
  for (const entry of due) {
    answers.push({ entry, resultJson: overJson(entry.record.tool), signal: null })
  }
  return answers
}

/** What a wait answers with whose time is over: a sleep nothing, a signal that none has come. */
export function overJson(tool: string): string | null {
  return tool === sleepTool ? null : 'null'
}

interface Envelope {
  runId: string
  state: string
  output: unknown
  outputDigest: string | null
  error: { message?: string; code?: string } | null
}

/** How a child ended, from what its last commit told its parent. */
export function childJson(envelopeJson: string | null, outputs: ReadonlyMap<string, string>) {
  const { runId, state, output, outputDigest, error } = JSON.parse(envelopeJson ?? '{}') as Envelope
  const large = outputDigest === null ? undefined : outputs.get(outputDigest)
  if (state === 'completed') {
    return canonical({ runId, state, output: large === undefined ? output : JSON.parse(large) })
  }
  const { message = state, code } = error ?? {}
  return canonical({ runId, state, error: code === undefined ? { message } : { message, code } })
}

/** Digests of children's outputs that were too large for the message of their end. */
export function childDigests(loaded: Loaded): { runId: string; digest: string }[] {
  return loaded.evidence.flatMap(({ verifies, seq, attemptId: id, resultJson }) => {
    if (!verifies || seq !== null || !id.includes(`/${spawnTool}/`)) return []
    const { runId, outputDigest } = JSON.parse(resultJson ?? '{}') as Envelope
    return outputDigest ? [{ runId, digest: outputDigest }] : []
  })
}
