// What a write is, step by step, for a store that keeps whole runs together. Everything is checked
// before anything is put, so a refusal leaves no half; parents and children are told in the same
// write. Nothing here waits: the store runs it inside its transaction.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Item, Run, RunRef } from '../../model/run/records.ts'
import { isEnded } from '../../model/run/states.ts'
import { checkCommit, isOrdinary, judge } from '../rules/commit.ts'
import { isEnd, parentOf, toldOfCancel, toldOfEnd } from '../rules/family.ts'
import { checkChanges } from '../rules/policy.ts'
import { checkNotSwept } from '../rules/retention.ts'
import type {
  Authority,
  Changes,
  Commit,
  CommitResult,
  NewRun,
  Parent,
  RunChange,
} from '../store.ts'
import { checkRows, type RunRows } from './run-rows.ts'

/** Where such a store has its runs. */
export interface RunsAt {
  readonly now: number
  find(ref: RunRef): RunRows | undefined
  /** The runs that this one has started, those that were added just now included. */
  childrenOf(ref: RunRef): Iterable<RunRows>
  findItem(of: Pick<Item, 'namespace' | 'itemId'>): Item | null
  /** Makes a run, unless there is one with this id. */
  add(made: NewRun): void
  /** Puts rows as `putRows` does, and whatever the store keeps beside them. */
  put(rows: RunRows, changes: Changes, commitId?: string): void
}

export function commitRows(at: RunsAt, commit: Commit): CommitResult {
  checkCommit(commit)
  const rows = at.find(commit)
  const answer = judge(rows?.run ?? null, commit)
  if (rows === undefined || answer !== 'write') return answer as CommitResult
  const { parent, commitId, changes } = commit
  const said = parent === undefined ? {} : { parent }
  const named = isOrdinary(changes) ? said : { ...said, commitId }
  applyRows(at, rows, 'holder', changes, named)
  return 'done'
}

export function applyRows(
  at: RunsAt,
  rows: RunRows,
  by: Authority | 'holder',
  changes: Changes,
  { parent: said, commitId }: Partial<Pick<Commit, 'parent' | 'commitId'>> = {},
): void {
  const { run } = rows
  checkNotSwept(run)
  checkChanges(run, by, changes)
  const parent = isEnd(run, changes.run) ? parentOf(run, said) : null
  checkRows(rows, changes, at.now, (item) => at.findItem(item))
  at.put(rows, changes, commitId)
  for (const child of changes.children ?? []) at.add(child)
  if (parent) tellParent(at, run, parent, changes.run ?? {})
  if (isEnd(run, changes.run) && changes.run?.state === 'cancelled') tellChildren(at, run)
}

function tellParent(at: RunsAt, child: Run, parent: Parent, change: RunChange): void {
  const rows = at.find({ namespace: child.namespace, runId: parent.runId })
  if (rows === undefined || rows.run.swept === 'all') return
  const { evidence, changes } = toldOfEnd(rows.run, child, parent.attemptId, change, at.now)
  const known = rows.evidence.has(evidence.attemptId)
  at.put(rows, known ? changes : { ...changes, evidence: [evidence] })
}

function tellChildren(at: RunsAt, parent: Run): void {
  for (const rows of at.childrenOf(parent)) {
    if (isEnded(rows.run.state)) continue
    at.put(rows, toldOfCancel(rows.run, parent.runId, at.now))
  }
}

export function runNotFound({ namespace, runId }: RunRef): CounterfoilError {
  return errorFor('RUN_NOT_FOUND', runId, namespace)
}
