// The rows of one run, as a store holds them that keeps whole runs together: in memory, in a
// document, in a file. How rows are checked and put is the same for all of these.
import type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Run,
  Signal,
} from '../../model/run/records.ts'
import { isOrdinary } from '../rules/commit.ts'
import * as finality from '../rules/finality.ts'
import { applyRunChange } from '../rules/policy.ts'
import type { Changes, NewRun } from '../store.ts'

export interface RunRows {
  run: Run
  /** By generation and visit. */
  readonly checkpoints: Map<string, Checkpoint>
  readonly records: Map<string, CallRecord>
  readonly attempts: Map<string, Attempt>
  readonly evidence: Map<string, Evidence>
  readonly items: Map<string, Item>
  readonly decisions: Map<string, Decision>
  /** In the order they came, with those that were taken. */
  readonly signals: Map<string, Signal>
  readonly events: Event[]
}

/** The rows that a run begins with. */
export function newRows({ run, checkpoint, event }: NewRun): RunRows {
  return {
    run,
    checkpoints: new Map(checkpoint ? [[checkpointKey(checkpoint), checkpoint]] : []),
    records: new Map(),
    attempts: new Map(),
    evidence: new Map(),
    items: new Map(),
    decisions: new Map(),
    signals: new Map(),
    events: [event],
  }
}

export function checkpointKey(row: { generation: number; visit: number }): string {
  return `${row.generation}#${row.visit}`
}

/** Puts rows unasked: for what `checkRows` has agreed to, or the store itself does. */
export function putRows(rows: RunRows, changes: Changes, now: number): void {
  for (const row of changes.records ?? []) rows.records.set(finality.records.key(row), row)
  for (const row of changes.attempts ?? []) rows.attempts.set(row.attemptId, row)
  for (const row of changes.evidence ?? []) rows.evidence.set(row.attemptId, row)
  for (const row of changes.items ?? []) rows.items.set(row.itemId, row)
  for (const row of changes.decisions ?? []) rows.decisions.set(row.decisionId, row)
  for (const row of changes.signals ?? []) rows.signals.set(row.signalId, row)
  for (const row of changes.checkpoints ?? []) rows.checkpoints.set(checkpointKey(row), row)
  rows.events.push(...(changes.events ?? []))
  if (!isOrdinary(changes)) rows.run = applyRunChange(rows.run, changes, now)
  if (changes.run?.rewind) dropLater(rows)
}

function dropLater({ run, checkpoints }: RunRows): void {
  for (const [key, row] of checkpoints) {
    if (row.generation === run.generation && row.visit > run.visit) checkpoints.delete(key)
  }
}

const check: typeof finality.check = (kept, rows, rule) =>
  finality.check(kept, finality.lastForms(rows, rule), rule)

/** What is final stays. `itemOf`: the item that has this id in the namespace, of whatever run. */
export function checkRows(
  rows: RunRows,
  changes: Changes,
  now: number,
  itemOf: (item: Item) => Item | null,
): void {
  finality.checkEnded(rows.run, applyRunChange(rows.run, changes, now))
  check(rows.records, changes.records, finality.records)
  check(rows.attempts, changes.attempts, finality.attempts)
  check(rows.evidence, changes.evidence, finality.evidence)
  check(rows.decisions, changes.decisions, finality.decisions)
  check(rows.signals, changes.signals, finality.signals)
  for (const { signalId, usedBy } of changes.signals ?? []) {
    if (usedBy !== null && !rows.signals.has(signalId)) throw finality.immutable(signalId)
  }
  for (const item of changes.items ?? []) {
    const known = itemOf(item)
    if (known && !finality.items.follows(known, item)) throw finality.immutable(item.itemId)
  }
}
