// What a row may still become, for every store, as the tables describe it: asked of several forms
// of a row in one change, and by the store that keeps rows in memory. In the databases triggers
// that are made from the same descriptions say the same.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Run } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import { type Described, type Field, type Key, keysOf } from '../schema/describe.ts'
import * as tables from '../schema/index.ts'
import { jsonText } from '../sql/codec.ts'
import type { Changes } from '../store.ts'

export interface Finality<T> {
  /** Within its run. */
  key(row: T): string
  /** Whether the later form may replace the earlier one. */
  follows(old: T, next: T): boolean
  /** Put again as it is, which is no write. */
  same(old: T, next: T): boolean
}

function finality<T>(table: Described<T>): Finality<T> {
  const key = table.key.filter((name) => name !== 'namespace' && name !== 'runId')
  return {
    key: (row) =>
      key.length === 1 ? String(row[key[0] as Key<T>]) : JSON.stringify(key.map((k) => row[k])),
    follows: (old, next) => follows(table, old, next),
    same: (old, next) =>
      table.final?.settled !== undefined &&
      keysOf(table.fields).every((name) =>
        isSame(table.fields[name] as Field, old[name], next[name]),
      ),
  }
}

function follows<T>({ fields, final, key }: Described<T>, old: T, next: T): boolean {
  if (final === null) return true
  const { settled, fixed, once, again } = final
  if (settled?.values.includes(old[settled.field] as string)) return false
  if (again !== undefined && next[again] === null) return false
  const same = (name: Key<T>) => isSame(fields[name] as Field, old[name], next[name])
  return (
    [...key, ...fixed].every(same) &&
    once.every((group) => old[group[0] as Key<T>] === null || group.every(same))
  )
}

function isSame({ kind }: Field, a: unknown, b: unknown): boolean {
  return a === b || (kind === 'json' && jsonText(a) === jsonText(b))
}

export const records = finality(tables.records)
export const attempts = finality(tables.attempts)
export const evidence = finality(tables.evidence)
export const items = finality(tables.items)
export const decisions = finality(tables.decisions)
export const signals = finality(tables.signals)
export const checkpoints = finality(tables.checkpoints)

/** How a run ended stays as it is, unless it is tried again. Late evidence may still raise it. */
export function checkEnded(old: Run, next: Run): void {
  if (!isEnded(old.state) || next.state === 'pending') return
  if (tables.endOfRun.some((key) => old[key] !== next[key])) {
    throw immutable(`run ${old.runId} has ended: it`)
  }
}

/** A change may have several forms of a row, each of which follows the one before it. */
export function checkForms(changes: Changes): void {
  check(new Map(), changes.records, records)
  check(new Map(), changes.attempts, attempts)
  check(new Map(), changes.evidence, evidence)
  check(new Map(), changes.items, items)
  check(new Map(), changes.decisions, decisions)
  check(new Map(), changes.signals, signals)
}

/** Of several forms of a row in one change the last is written: intent and receipt are one. */
export function lastForms<T>(
  rows: readonly T[] | undefined,
  { key }: Pick<Finality<T>, 'key'>,
): readonly T[] {
  if (rows === undefined || rows.length < 2) return rows ?? []
  const last = new Map(rows.map((row) => [key(row), row]))
  return last.size === rows.length ? rows : [...last.values()]
}

/** Whether rows may follow what is kept, by key. */
export function check<T>(
  kept: ReadonlyMap<string, T>,
  rows: readonly T[] | undefined,
  { key, follows, same }: Finality<T>,
): void {
  if (rows === undefined || (rows.length === 1 && kept.size === 0)) return
  const here = new Map<string, T>()
  for (const row of rows) {
    const id = key(row)
    const old = here.get(id) ?? kept.get(id)
    if (old && !follows(old, row) && !same(old, row)) throw immutable(id)
    here.set(id, row)
  }
}

export function immutable(id: string): CounterfoilError {
  return errorFor('ROW_IMMUTABLE', id)
}
