// Applies changes. Everything is checked before anything is written, so a refusal leaves no half.
import { CounterfoilError } from '../../model/errors.ts'
import type { Attempt, CallRecord, Decision, Evidence } from '../../model/records.ts'
import { applyRunChange, checkChanges } from '../policy.ts'
import type { Authority, Changes, Commit, CommitResult } from '../store.ts'
import { checkpointKey, type Data, type RunData, recordKey, refKey } from './data.ts'

export function commitOne(data: Data, commit: Commit): CommitResult {
  const of = data.runs.get(refKey(commit))
  if (of === undefined) return 'stale_fence'
  const { run } = of
  // The fence first: a commit that landed before a takeover permits nothing after it.
  if (run.fence !== commit.fence) return 'stale_fence'
  if (run.commitId === commit.commitId) return 'done'
  if (run.workerId !== commit.workerId) return 'stale_fence'
  if (commit.arrivalsSeen !== undefined && commit.arrivalsSeen !== run.arrivals) return 'arrived'
  apply(data, of, 'holder', commit.changes)
  of.run = { ...of.run, commitId: commit.commitId }
  return 'done'
}

export function apply(data: Data, of: RunData, by: Authority | 'holder', changes: Changes): void {
  checkChanges(of.run, by, changes)
  checkImmutable(of, changes)
  for (const row of changes.records ?? []) of.records.set(recordKey(row), row)
  for (const row of changes.attempts ?? []) of.attempts.set(row.attemptId, row)
  for (const row of changes.evidence ?? []) of.evidence.set(row.attemptId, row)
  for (const row of changes.items ?? []) of.items.set(row.itemId, row)
  for (const row of changes.decisions ?? []) of.decisions.set(row.decisionId, row)
  of.events.push(...(changes.events ?? []))
  for (const row of changes.checkpoints ?? []) of.checkpoints.set(checkpointKey(row), row)
  of.run = applyRunChange(of.run, changes, data.clock.now())
  if (changes.run?.rewind) dropLater(of)
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
}

function settled(record: CallRecord): boolean {
  return record.status === 'committed' || record.status === 'failed'
}

function sameAttempt(old: Attempt, next: Attempt): boolean {
  if (old.endedAt !== null) return JSON.stringify(old) === JSON.stringify(next)
  const open = { ...next, endedAt: null, outcome: null }
  return JSON.stringify(old) === JSON.stringify(open)
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
