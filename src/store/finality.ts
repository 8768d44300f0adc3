// What a row may still become, for every store: asked of several forms of a row in one change, and
// by the store that keeps rows in memory. In the databases triggers say the same.
import { canonical } from '../model/canonical.ts'
import { CounterfoilError } from '../model/errors.ts'
import type {
  Attempt,
  CallRecord,
  Decision,
  Evidence,
  Item,
  Run,
  Signal,
} from '../model/records.ts'
import { isEnded } from '../model/run-state.ts'
import type { Changes } from './store.ts'

export interface Finality<T> {
  /** Within its run. */
  key(row: T): string
  /** Whether the later form may replace the earlier one. */
  follows(old: T, next: T): boolean
}

/** Final when it is settled; when it was made stays as it is. */
export const records: Finality<CallRecord> = {
  key: (r) => JSON.stringify([r.nodeId, r.checkpointId, r.tool, r.inputHash, r.occurrence]),
  follows: (old, next) =>
    old.status !== 'committed' && old.status !== 'failed' && old.createdAt === next.createdAt,
}

/** It ends once and is given its token once; it can be heard of at any time. */
export const attempts: Finality<Attempt> = {
  key: (row) => row.attemptId,
  follows: (old, next) => {
    if (old.endedAt !== null && (old.endedAt !== next.endedAt || old.outcome !== next.outcome)) {
      return false
    }
    if (old.tokenHash !== null && old.tokenHash !== next.tokenHash) return false
    const open = { tokenHash: null, endedAt: null, outcome: null, beatAt: null, beatJson: null }
    return isSame(old, next, open)
  },
}

/** It can only be given its seq, and once. */
export const evidence: Finality<Evidence> = {
  key: (row) => row.attemptId,
  follows: (old, next) => isOnce(old, next, ['seq']) && isSame(old, next, { seq: null }),
}

/** It stays its run's. */
export const items: Finality<Item> = {
  key: (row) => row.itemId,
  follows: (old, next) => old.runId === next.runId,
}

/** It can only be used or voided, once. */
export const decisions: Finality<Decision> = {
  key: (row) => row.decisionId,
  follows: (old, next) =>
    isOnce(old, next, ['seq', 'usedBy', 'voidedAt']) &&
    isSame(old, next, { seq: null, usedBy: null, voidedAt: null }),
}

/** What it says stays as it is; it is sent once and taken once. */
export const signals: Finality<Signal> = {
  key: (row) => row.signalId,
  follows: (old, next) =>
    next.usedBy !== null && isOnce(old, next, ['usedBy']) && isSame(old, next, { usedBy: null }),
}

const ends = [
  ...(['state', 'fence', 'workerId', 'outputJson', 'outputDigest', 'errorJson'] as const),
] as const

/** How a run ended stays as it is, unless it is tried again. Late evidence may still raise it. */
export function checkEnded(old: Run, next: Run): void {
  if (!isEnded(old.state) || next.state === 'pending') return
  if (ends.some((key) => old[key] !== next[key])) throw immutable(`run ${old.runId} has ended: it`)
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
  { key, follows }: Finality<T>,
): void {
  if (rows === undefined || (rows.length === 1 && kept.size === 0)) return
  const here = new Map<string, T>()
  for (const row of rows) {
    const id = key(row)
    const old = here.get(id) ?? kept.get(id)
    if (old && !follows(old, row)) throw immutable(id)
    here.set(id, row)
  }
}

export function immutable(id: string): CounterfoilError {
  return new CounterfoilError('ROW_IMMUTABLE', `${id} is final and cannot be rewritten`)
}

function isOnce<T>(old: T, next: T, moves: readonly (keyof T)[]): boolean {
  return moves.every((key) => old[key] === null || old[key] === next[key])
}

/** Apart from what may move. */
function isSame<T extends object>(old: T, next: T, moves: Partial<T>): boolean {
  return canonical({ ...old, ...moves }) === canonical({ ...next, ...moves })
}
