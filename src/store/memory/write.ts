// Applies changes. Everything is checked before anything is written, so a refusal leaves no half.
import { CounterfoilError } from '../../model/errors.ts'
import type { Attempt, CallRecord, Decision, Evidence, Run, Signal } from '../../model/records.ts'
import { isEnded } from '../../model/run-state.ts'
import { isEnd, parentOf, toldOfCancel, toldOfEnd } from '../family.ts'
import { applyRunChange, checkChanges } from '../policy.ts'
import { checkNotSwept } from '../retention.ts'
import type { Authority, Changes, Commit, CommitResult, Parent, RunChange } from '../store.ts'
import { addRun, checkpointKey, type Data, type RunData, recordKey, refKey } from './data.ts'
import { addNotice } from './documents.ts'

export function commitOne(data: Data, commit: Commit): CommitResult {
  const of = data.runs.get(refKey(commit))
  if (of === undefined) return 'stale_fence'
  const { run } = of
  // The fence first: a commit that landed before a takeover permits nothing after it.
  if (run.fence !== commit.fence) return 'stale_fence'
  if (run.commitId === commit.commitId) return 'done'
  if (run.workerId !== commit.workerId) return 'stale_fence'
  if (commit.arrivalsSeen !== undefined && commit.arrivalsSeen !== run.arrivals) return 'arrived'
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
  checkImmutable(of, changes)
  put(data, of, changes)
  for (const child of changes.children ?? []) addRun(data, child)
  if (parent) tellParent(data, run, parent, changes.run ?? {})
  if (isEnd(run, changes.run) && changes.run?.state === 'cancelled') tellChildren(data, run)
}

/** Unasked: for what policy has agreed to, or the store itself does. */
export function put(data: Data, of: RunData, changes: Changes): void {
  for (const row of changes.records ?? []) of.records.set(recordKey(row), row)
  for (const row of changes.attempts ?? []) of.attempts.set(row.attemptId, row)
  for (const row of changes.evidence ?? []) of.evidence.set(row.attemptId, row)
  for (const row of changes.items ?? []) of.items.set(row.itemId, row)
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

function checkImmutable(of: RunData, changes: Changes): void {
  // Row by row, as a database would: also a row that this very change has settled is final.
  const here = new Map<string, CallRecord>()
  for (const row of changes.records ?? []) {
    const key = recordKey(row)
    const old = here.get(key) ?? of.records.get(key)
    if (old && settled(old)) throw immutable(`settled call ${row.tool}`)
    here.set(key, row)
  }
  for (const row of changes.attempts ?? []) {
    const old = of.attempts.get(row.attemptId)
    if (old && !sameAttempt(old, row)) throw immutable(`attempt ${row.attemptId}`)
  }
  for (const row of changes.decisions ?? []) {
    const old = of.decisions.get(row.decisionId)
    if (old && !laterDecision(old, row)) throw immutable(`decision ${row.decisionId}`)
  }
  for (const row of changes.evidence ?? []) {
    const old = of.evidence.get(row.attemptId)
    if (old && !laterEvidence(old, row)) throw immutable(`evidence on ${row.attemptId}`)
  }
  for (const row of changes.signals ?? []) {
    const old = of.signals.get(row.signalId)
    const may = row.usedBy === null ? old === undefined : old && isTaking(old, row)
    if (!may) throw immutable(`signal ${row.signalId}`)
  }
}

function settled(record: CallRecord): boolean {
  return record.status === 'committed' || record.status === 'failed'
}

/** It ends once and is given its token once; it can be heard of at any time. */
function sameAttempt(old: Attempt, next: Attempt): boolean {
  const moves = ['tokenHash', 'endedAt', 'outcome'] as const
  const still = moves.every((key) => old[key] === null || old[key] === next[key])
  const open = { tokenHash: null, endedAt: null, outcome: null, beatAt: null, beatJson: null }
  const bare = (row: Attempt) => JSON.stringify({ ...row, ...open })
  return still && bare(old) === bare(next)
}

/** What a signal says stays as it is; it is taken once. */
function isTaking(old: Signal, next: Signal): boolean {
  if (old.usedBy !== null && old.usedBy !== next.usedBy) return false
  const bare = (row: Signal) => JSON.stringify({ ...row, usedBy: null })
  return bare(old) === bare(next)
}

function laterDecision(old: Decision, next: Decision): boolean {
  const moves = ['seq', 'usedBy', 'voidedAt'] as const
  const still = moves.every((key) => old[key] === null || old[key] === next[key])
  const bare = (d: Decision) => JSON.stringify({ ...d, seq: null, usedBy: null, voidedAt: null })
  return still && bare(old) === bare(next)
}

/** Evidence can only be given its seq, and once. */
function laterEvidence(old: Evidence, next: Evidence): boolean {
  const still = old.seq === null || old.seq === next.seq
  const bare = (row: Evidence) => JSON.stringify({ ...row, seq: null })
  return still && bare(old) === bare(next)
}

function immutable(what: string): CounterfoilError {
  return new CounterfoilError('ROW_IMMUTABLE', `${what} is final and cannot be rewritten`)
}
