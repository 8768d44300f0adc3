// What late evidence changes (I11), as a pure function over the run as it stands. It ends its
// attempt, closes an undecided doubt of that attempt if it settles it, and voids a grant not yet
// used; after any other decision it is a conflict, on record, for a person to look at.
import { callKeyOfAttempt, ofCall } from '../run/attempt-id.ts'
import {
  type Attempt,
  bare,
  type CallRecord,
  type Decision,
  type Event,
  type Evidence,
  eventOf,
  type Item,
  keyOf,
  type Run,
} from '../run/records.ts'
import { hadNoEffect, usedAt } from './attempts.ts'

/** The part of a loaded run that evidence is judged by, whatever is known of its MACs. */
export interface EvidenceView {
  readonly run: Run
  readonly records: readonly CallRecord[]
  readonly attempts: readonly Attempt[]
  readonly items: readonly Item[]
  readonly decisions: readonly Decision[]
}

export interface EvidenceChanges {
  attempts: Attempt[]
  evidence: Evidence[]
  items: Item[]
  decisions: Decision[]
  events: Event[]
  run: { arrive?: boolean; state?: 'pending'; waitingFor?: null }
}

/**
 * `from` an upstream that calls back: it says what became of the call, whether the attempt's own
 * function has returned or not; when it ended is for its worker to say.
 */
export function applyEvidence(
  now: EvidenceView,
  evidence: Evidence,
  from: 'worker' | 'upstream' = 'worker',
): EvidenceChanges | null {
  const attempt = now.attempts.find((row) => row.attemptId === evidence.attemptId)
  if (attempt === undefined || (from === 'worker' && attempt.endedAt !== null)) return null
  const key = callKeyOfAttempt(evidence.attemptId)
  const record = now.records.find((row) => keyOf(row) === key)
  if (record === undefined) return null
  const ended = { ...bare(attempt), endedAt: evidence.at, outcome: evidence.outcome }
  const changes: EvidenceChanges = {
    attempts: from === 'worker' ? [ended] : [],
    evidence: [],
    items: [],
    decisions: [],
    events: [],
    run: {},
  }
  const about = (subject: { tool: string; inputHash: string; occurrence: number } | null) =>
    subject !== null && keyOf(subject) === key
  const decision = now.decisions.findLast(
    (row) => about(row.subject) && row.voidedAt === null && concerns(row, attempt),
  )
  const grant = decision?.outcome === 'did_not_happen' && decision.usedBy === null
  const final = record.status === 'committed' || record.status === 'failed'
  const contradicts = contradiction(record, decision, grant, evidence, attempt)
  say(changes, now.run, evidence, contradicts ? conflictOf(record, attempt) : null)
  // What was decided or settled stands: the node may have seen it, and a replay must see it again.
  if (final || (decision && !grant)) return changes
  changes.evidence = [evidence]
  // The doubt of a call is one, whichever of its attempts is heard of.
  const doubts = now.items.filter((row) => row.reason === 'unknown' && about(row.body.subject))
  const item =
    doubts.find((row) => row.state === 'open') ??
    doubts.find((row) => row.itemId === decision?.itemId)
  settleDoubt(changes, now, evidence, item, grant ? decision : undefined)
  // A branch waits for the callback, whatever the others wait for.
  if (from === 'upstream' && changes.run.state === undefined) wake(changes, now.run)
  return changes
}

function settleDoubt(
  changes: EvidenceChanges,
  now: EvidenceView,
  evidence: Evidence,
  item: Item | undefined,
  grant: Decision | undefined,
): void {
  const landed = evidence.outcome === 'landed'
  if (grant) {
    if (!landed) return
    changes.decisions.push({ ...bare(grant), voidedAt: evidence.at })
    if (item) changes.items.push(closed(item, evidence.at, 'its call had landed after all'))
    wake(changes, now.run)
  } else if (item?.state === 'open') {
    const settles = landed || allCertain(now, evidence)
    const why = `late evidence: ${evidence.outcome}`
    changes.items.push(settles ? closed(item, evidence.at, why) : raised(item))
    if (settles) wake(changes, now.run)
  } else {
    // The new holder may be about to park on this call: its park must not overlook what is known
    // now.
    changes.run = { arrive: true }
  }
}

/** A grant that was used rules out the attempts before the one that used it, and no others. */
function concerns(decision: Decision, attempt: Attempt): boolean {
  return attempt.attempt < usedAt(decision)
}

/** What is reported now cannot be true together with what was recorded or decided before. */
function contradiction(
  record: CallRecord,
  decision: Decision | undefined,
  unusedGrant: boolean,
  evidence: Evidence,
  attempt: Attempt,
): boolean {
  const landed = evidence.outcome === 'landed'
  if (decision && !unusedGrant) {
    if (decision.outcome !== 'happened') return landed
    return hadNoEffect(evidence.outcome) || (landed && evidence.resultJson !== decision.resultJson)
  }
  // A keyed call may land at every attempt: its upstream counts them as one.
  const keyed = record.replayClass === 'idempotent_with_key'
  if (record.status === 'committed') return landed && !keyed && record.attempt !== attempt.attempt
  return record.status === 'failed' && landed
}

function allCertain(now: EvidenceView, evidence: Evidence): boolean {
  if (evidence.outcome === 'unknown') return false
  const key = callKeyOfAttempt(evidence.attemptId)
  // What a person has ruled out, by a grant that was used since, holds nothing up.
  const grants = now.decisions.filter((row) => row.usedBy && callKeyOfAttempt(row.usedBy) === key)
  const ruledOut = Math.max(0, ...grants.map(usedAt))
  return ofCall(now.attempts, key)
    .filter((row) => row.attemptId !== evidence.attemptId && row.attempt >= ruledOut)
    .every((row) => hadNoEffect(row.outcome))
}

function wake(changes: EvidenceChanges, run: Run): void {
  changes.run = { arrive: true }
  if (run.state !== 'waiting_human' && run.state !== 'waiting_tool') return
  changes.run = { arrive: true, state: 'pending', waitingFor: null }
  const data = { from: run.state, to: 'pending', cause: 'late evidence' }
  changes.events.push(eventOf(run, changes.events[0]?.at ?? 0, 'state', data))
}

function say(
  changes: EvidenceChanges,
  run: Run,
  evidence: Evidence,
  conflict: Readonly<Record<string, unknown>> | null,
): void {
  const { attemptId, outcome, externalId } = evidence
  const kind = conflict ? 'evidence_conflict' : 'evidence'
  const data = { attemptId, outcome, externalId, ...conflict }
  changes.events.push(eventOf(run, evidence.at, kind, data))
}

/**
 * The call by its key, so that metrics can tell whether another attempt of it has landed as well:
 * that may be known before this is heard, or after.
 */
function conflictOf(record: CallRecord, { attempt }: Attempt): Readonly<Record<string, unknown>> {
  const { nodeId, checkpointId, tool, inputHash, occurrence } = record
  return { call: { nodeId, checkpointId, tool, inputHash, occurrence, attempt } }
}

function closed(item: Item, at: number, why: string): Item {
  return { ...item, state: 'closed', version: item.version + 1, closedAt: at, closedBy: why }
}

function raised(item: Item): Item {
  return { ...item, version: item.version + 1 }
}
