// Applies changes. Everything is checked before anything is written, so a refusal leaves no half.
import type { Run } from '../../model/records.ts'
import { isEnded } from '../../model/run-state.ts'
import { checkCommit, judge } from '../commit-rules.ts'
import { isEnd, parentOf, toldOfCancel, toldOfEnd } from '../family.ts'
import * as finality from '../finality.ts'
import { applyRunChange, checkChanges } from '../policy.ts'
import { checkNotSwept } from '../retention.ts'
import type { Authority, Changes, Commit, CommitResult, Parent, RunChange } from '../store.ts'
import {
  addRun,
  checkpointKey,
  type Data,
  findItem,
  itemKey,
  type RunData,
  refKey,
} from './data.ts'
import { addNotice } from './documents.ts'

export function commitOne(data: Data, commit: Commit): CommitResult {
  checkCommit(commit)
  const of = data.runs.get(refKey(commit))
  const answer = judge(of?.run ?? null, commit)
  if (of === undefined || answer !== 'write') return answer as CommitResult
  apply(data, of, 'holder', commit.changes, commit.parent)
  of.run = { ...of.run, commitId: commit.commitId }
  return 'done'
}

export function apply(
  data: Data,
  of: RunData,
  by: Authority | 'holder',
  changes: Changes,
  said?: Parent,
): void {
  const { run } = of
  checkNotSwept(run)
  checkChanges(run, by, changes)
  const parent = isEnd(run, changes.run) ? parentOf(run, said) : null
  checkFinal(data, of, changes)
  put(data, of, changes)
  for (const child of changes.children ?? []) addRun(data, child)
  if (parent) tellParent(data, run, parent, changes.run ?? {})
  if (isEnd(run, changes.run) && changes.run?.state === 'cancelled') tellChildren(data, run)
}

/** Unasked: for what policy has agreed to, or the store itself does. */
export function put(data: Data, of: RunData, changes: Changes): void {
  for (const row of changes.records ?? []) of.records.set(finality.records.key(row), row)
  for (const row of changes.attempts ?? []) of.attempts.set(row.attemptId, row)
  for (const row of changes.evidence ?? []) of.evidence.set(row.attemptId, row)
  for (const row of changes.items ?? []) {
    of.items.set(row.itemId, row)
    data.items.set(itemKey(row), of)
  }
  for (const row of changes.decisions ?? []) of.decisions.set(row.decisionId, row)
  for (const row of changes.signals ?? []) of.signals.set(row.signalId, row)
  for (const notice of changes.notices ?? []) addNotice(data, notice)
  of.events.push(...(changes.events ?? []))
  for (const row of changes.checkpoints ?? []) of.checkpoints.set(checkpointKey(row), row)
  of.run = applyRunChange(of.run, changes, data.clock.now())
  if (changes.run?.rewind) dropLater(of)
}

function tellParent(data: Data, child: Run, parent: Parent, change: RunChange): void {
  const of = data.runs.get(refKey({ namespace: child.namespace, runId: parent.runId }))
  if (of === undefined || of.run.swept === 'all') return
  const now = data.clock.now()
  const { evidence, changes } = toldOfEnd(of.run, child, parent.attemptId, change, now)
  const known = of.evidence.has(evidence.attemptId)
  put(data, of, known ? changes : { ...changes, evidence: [evidence] })
}

function tellChildren(data: Data, parent: Run): void {
  for (const of of data.runs.values()) {
    const { run } = of
    if (run.namespace !== parent.namespace || run.parentRunId !== parent.runId) continue
    if (!isEnded(run.state)) put(data, of, toldOfCancel(run, parent.runId, data.clock.now()))
  }
}

function dropLater({ run, checkpoints }: RunData): void {
  for (const [key, row] of checkpoints) {
    if (row.generation === run.generation && row.visit > run.visit) checkpoints.delete(key)
  }
}

const check: typeof finality.check = (kept, rows, rule) =>
  finality.check(kept, finality.lastForms(rows, rule), rule)

function checkFinal(data: Data, of: RunData, changes: Changes): void {
  finality.checkEnded(of.run, applyRunChange(of.run, changes, data.clock.now()))
  check(of.records, changes.records, finality.records)
  check(of.attempts, changes.attempts, finality.attempts)
  check(of.evidence, changes.evidence, finality.evidence)
  check(of.decisions, changes.decisions, finality.decisions)
  check(of.signals, changes.signals, finality.signals)
  for (const { signalId, usedBy } of changes.signals ?? []) {
    if (usedBy !== null && !of.signals.has(signalId)) throw finality.immutable(signalId)
  }
  for (const item of changes.items ?? []) {
    const known = findItem(data, item)
    if (known && !finality.items.follows(known, item)) throw finality.immutable(item.itemId)
  }
}
