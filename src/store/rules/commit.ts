// What a holder's commit is answered, for every store; `judge` of 02_commit.sql is the same.
import type { Run } from '../../model/run/records.ts'
import type { Commit, CommitResult } from '../store.ts'
import { checkChanges } from './policy.ts'

/**
 * What is in it is looked at first, whoever sends it and however the run stands: nothing that
 * policy refuses is sent to a server. Whoever holds a run holds one that is running.
 */
export function checkCommit(one: Commit): void {
  checkChanges({ ...one, state: 'running' }, 'holder', one.changes)
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
 * A commit of a lower number than the last was applied before it, and comes late by a connection
 * given up. Ids of the engine are `fence.number`; of any other form it cannot tell.
 */
function isBefore(one: string, last: string | null): boolean {
  const [, fence, number] = numbered.exec(one) ?? []
  const [, lastFence, lastNumber] = numbered.exec(last ?? '') ?? []
  if (fence === undefined || fence !== lastFence) return false
  return BigInt(number ?? 0) < BigInt(lastNumber ?? 0)
}
