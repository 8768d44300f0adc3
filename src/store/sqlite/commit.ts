// Owns: what happens under the run row's lock when a holder or a client writes.
// Invariants: I2 the fence is checked in the transaction that writes. I4 a commit that was applied
// is recognised by its id, or its rows are there already. I10 a park that overlooked an arrival
// writes nothing.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Run, RunRef } from '../../model/run/records.ts'
import { checkCommit, isOrdinary, judge } from '../rules/commit.ts'
import { isEnd, parentOf } from '../rules/family.ts'
import { checkChanges } from '../rules/policy.ts'
import { checkNotSwept } from '../rules/retention.ts'
import type {
  Amendment,
  Authority,
  Changes,
  Commit,
  CommitResult,
  LoadAt,
  Loaded,
  NewRun,
  Parent,
} from '../store.ts'
import { tellChildren, tellParent } from './family.ts'
import { movedSince } from './identity/incarnation.ts'
import type { Connection } from './opening/connection.ts'
import { storeError } from './opening/errors.ts'
import { deathsOf, loadRows, selectHeld, selectRun } from './read.ts'
import { applyRows, changeRun, insertRun, touchRun } from './write.ts'

export function start(c: Connection, made: NewRun): { created: boolean; run: Run } {
  return c.write(() => {
    const old = selectRun(c, made.run)
    if (old) return { created: false, run: old }
    insertRun(c, made)
    return { created: true, run: made.run }
  })
}

/**
 * A run occurs once in a batch. A commit that policy refuses has written nothing when it is
 * refused: the others stand, and the refusal is thrown after they are durable. A row that a trigger
 * refuses, or a parent that is not the run's, takes the whole batch back; either way, writing
 * commits again one by one tells which it was.
 */
export function commit(c: Connection, batch: readonly Commit[]): CommitResult[] {
  const refusals: unknown[] = []
  const results = c.write(() => {
    checkWhole(c)
    return batch.map((one): CommitResult => {
      try {
        checkCommit(one)
      } catch (error) {
        refusals.push(error)
        return 'stale_fence'
      }
      const answer = judge(selectHeld(c, one), one)
      if (answer !== 'write') return answer
      // Most commits leave the run as it is: they do not need its whole row.
      const run = one.changes.run === undefined ? null : selectRun(c, one)
      const parent = run && isEnd(run, one.changes.run) ? parentOf(run, one.parent) : null
      applyRows(c, one.changes)
      for (const child of one.changes.children ?? []) insertRun(c, child)
      if (run !== null) write(c, run, one.changes, one.commitId, parent)
      else if (!isOrdinary(one.changes)) touchRun(c, one, one.commitId)
      return 'done'
    })
  })
  if (refusals.length > 0) throw refusals[0]
  return results
}

/** Receipts of a database that went back under its holder stand on calls that are missing (I12). */
function checkWhole(c: Connection): void {
  const says = c.behind ? movedSince(c) : null
  if (says !== null) throw storeError('STORE_MOVED', c.path, { says })
}

/** The run's own row, and what its end means for its parent and its children. */
function write(
  c: Connection,
  run: Run,
  changes: Changes,
  commitId: string | null,
  parent: Parent | null,
): void {
  changeRun(c, run, changes, commitId)
  if (parent) tellParent(c, run, parent, changes.run ?? {})
  if (isEnd(run, changes.run) && changes.run?.state === 'cancelled') tellChildren(c, run)
}

export function amend<T>(
  c: Connection,
  ref: RunRef,
  by: Authority,
  change: (now: Loaded) => Amendment<T>,
  at?: LoadAt,
): Amendment<T> {
  return c.write(() => {
    const rows = loadRows(c, ref, at)
    if (rows === null) throw runNotFound(ref)
    const now = { ...rows, deaths: deathsOf(c, rows.attempts) }
    const amendment = change(now)
    const { changes } = amendment
    if (changes !== null) {
      const { run } = now
      checkNotSwept(run)
      checkChanges(run, by, changes)
      applyRows(c, changes)
      write(c, run, changes, run.commitId, isEnd(run, changes.run) ? parentOf(run) : null)
    }
    return amendment
  })
}

function runNotFound(ref: RunRef): CounterfoilError {
  const { namespace, runId } = ref
  return errorFor('RUN_NOT_FOUND', runId, namespace)
}
