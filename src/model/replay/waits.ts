// What a node waits for without a call (a time, a signal, a child), and which of its waits are
// over: pure functions over what is on record, for the engine and whoever foretells what it does.
import { canonical } from '../json/canonical.ts'
import { type CallRecord, isWait, type Signal } from '../run/records.ts'

export const sleepTool = 'counterfoil.sleep'
export const signalTool = 'counterfoil.signal'
export const spawnTool = 'counterfoil.spawn'
/** No wait: a call of our own, with a key, that asks a child to stop. */
export const cancelTool = 'counterfoil.cancel'

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

/** What `ctx.signal` answers with. */
export function signalJson({ name, signalId, dataJson, at }: Signal): string {
  const data = dataJson === null ? null : JSON.parse(dataJson)
  return canonical({ name, id: signalId, data, at })
}

/** The name that a recorded `ctx.signal` waits for. */
export function signalName(record: CallRecord): string {
  return String((JSON.parse(record.inputJson ?? '{}') as { name?: unknown }).name)
}

/** A recorded call with what is known of it. */
interface Waiter {
  readonly record: CallRecord
  readonly verifies: boolean
  readonly settled: unknown
}

export interface WaitAnswer<T> {
  readonly entry: T
  readonly resultJson: string | null
  readonly signal: Signal | null
}

/** Waits that are over: those whose signal is here, then those whose time has come, as it came. */
export function answeredWaits<T extends Waiter>(
  entries: Iterable<T>,
  pool: SignalPool,
  now: number,
): WaitAnswer<T>[] {
  const open = [...entries].filter(
    ({ record, verifies, settled }) =>
      isWait(record.tool) && verifies && settled === null && record.status === 'pending',
  )
  const answers: WaitAnswer<T>[] = []
  const due: T[] = []
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

/** Those that can be trusted: any other was written by nobody who may (B8). */
export function trustedSignals(rows: readonly (Signal & { verifies: boolean })[]): Signal[] {
  return rows.filter((row) => row.verifies).map(({ verifies: _, ...signal }) => signal)
}
