// What a holder's commit is answered, for every store; `judge` of 02_commit.sql is the same.
import type { Run } from '../../model/run/records.ts'
import type { Changes, Commit, CommitResult } from '../store.ts'
import { checkChanges } from './policy.ts'

/**
 * What is in it is looked at first, whoever sends it and however the run stands: nothing that
 * policy refuses is sent to a server. Whoever holds a run holds one that is running.
 */
export function checkCommit(one: Commit): void {
  checkChanges({ ...one, state: 'running' }, 'holder', one.changes)
}

/**
 * Intents and receipts, and nothing else: the run's row is read and not written. Written again its
 * rows are the same, so that nothing has to recognise it (I4); of any other kind of row a second
 * put would be a second write, or take back what somebody has done since.
 */
export function isOrdinary(changes: Changes): boolean {
  for (const key in changes) {
    if (key === 'records' || key === 'attempts') continue
    const rows = changes[key as keyof Changes]
    if (rows !== undefined && !(Array.isArray(rows) && rows.length === 0)) return false
  }
  return changes.records !== undefined && changes.records.length > 0
}

/** What a commit is judged by. */
export type Held = Pick<Run, 'state' | 'fence' | 'workerId' | 'arrivals' | 'commitId'>

/** The fence first: a commit that landed before a takeover permits nothing after it (I2). */
export function judge(run: Held | null, one: Commit): CommitResult | 'write' {
  if (run === null || run.fence !== one.fence) return 'stale_fence'
  if (run.commitId === one.commitId) return 'done'
  if (run.workerId !== one.workerId || run.state !== 'running') return 'stale_fence'
  if (isBefore(one.commitId, run.commitId)) return 'done'
  if (one.arrivalsSeen !== undefined && one.arrivalsSeen !== run.arrivals) return 'arrived'
  return 'write'
}

const numbered = /^(\d{1,18})\.(\d{1,18})$/

/**
 * A commit of a lower number than the last that is on the run's row was applied before it, and
 * comes late by a connection given up. Ordinary commits leave no number there; a store of which
 * one can come late leaves one when it writes for that run again. Ids of the engine are
 * `fence.number`; of any other form it cannot tell.
 */
function isBefore(one: string, last: string | null): boolean {
  const [, fence, number] = numbered.exec(one) ?? []
  const [, lastFence, lastNumber] = numbered.exec(last ?? '') ?? []
  if (fence === undefined || fence !== lastFence) return false
  return BigInt(number ?? 0) < BigInt(lastNumber ?? 0)
}
