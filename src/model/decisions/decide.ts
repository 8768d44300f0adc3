// What a person decides about an item, and what that changes: pure functions over the run as it
// stands. What may be decided is may-decide.ts's to say.

import { errorFor } from '../errors.ts'
import { canonical, sha256, wellFormed } from '../json/canonical.ts'
import {
  type Decision,
  type Event,
  eventOf,
  type Item,
  type Notice,
  type Outcome,
  type Remark,
  type Run,
} from '../run/records.ts'
import { authorFault } from './author.ts'
import { type DecideView, mayDecide } from './may-decide.ts'
import { noticeOfFailure } from './notice.ts'
import { needsResult } from './outcomes.ts'
import { recordOf } from './record.ts'
import { earlierVote, isVote, neededFor, voteRow, votersFor, withVote } from './vote.ts'

export interface DecideRequest {
  readonly outcome: Outcome
  /** happened, respond, and use_record of a pending record: what the call is answered with. */
  readonly result?: unknown
  /** use_record and retire_record: which of the unmatched records. */
  readonly record?: { tool: string; inputHash: string; occurrence: number }
  readonly by: string
  /** What a token says about whoever decides: `role:…`, `group:…`. */
  readonly claims?: readonly string[]
  readonly reason: string
  readonly evidence?: string
  /** The version of the item that was looked at. */
  readonly version: number
  /** When the look was taken; now, unless told. */
  readonly lookedAt?: number
  /** States on record that earlier attempts are over and the quiet time needs no waiting. */
  readonly madeSure?: boolean
}

export interface DecideChanges {
  items: Item[]
  decisions: Decision[]
  events: Event[]
  notices?: Notice[]
  run?: {
    arrive: true
    state?: 'pending' | 'failed'
    waitingFor?: null
    errorJson?: string
  }
}

export function decide(
  now: DecideView,
  itemId: string,
  request: DecideRequest,
  made: { decisionId: string; at: number },
): { changes: DecideChanges | null; decision: Decision } {
  const item = now.items.find((row) => row.itemId === itemId)
  if (item === undefined) {
    throw errorFor('ITEM_NOT_FOUND', itemId, ` in run ${now.run.runId}'s present visit`)
  }
  const fault = mayDecide(now, item, { ...request, outcome: request.outcome }, made.at)
  if (fault?.code === 'DECISION_INVALID') throw fault
  checkResult(item, request)
  const decision = decisionOf(item, request, made)
  const same =
    now.decisions.find((old) => old.itemId === itemId && isSame(old, decision)) ??
    earlierVote(item, now.decisions, decision)
  if (same) return { changes: null, decision: same }
  // Who may decide can change with the item: whoever looked at another version is told that first.
  if (fault?.code === 'ITEM_CLOSED') throw fault
  checkVersion(item, request)
  if (fault) throw fault
  if (isVote(item, now.decisions, decision)) return voted(now, item, decision)
  return { changes: changesOf(now, item, decision), decision }
}

/** One of several that are needed: on record, and nothing follows from it yet. */
function voted({ run, decisions }: DecideView, item: Item, decision: Decision) {
  const { by, why, at, itemId } = decision
  const says = decision.outcome === 'reject' ? 'reject' : 'approve'
  const row = voteRow(decision)
  const votes = votersFor(decisions, itemId, says, by).size
  const needed = neededFor(item.body.approval, says)
  const event = eventOf(run, at, 'voted', { item: itemId, says, by, why, votes, needed })
  const changes = { items: [withVote(item, row)], decisions: [row], events: [event] }
  return { changes, decision: row }
}

/** The machine's own word about an item, written as a person's is. */
export function decided(
  run: Run,
  item: Item,
  said: Omit<DecideRequest, 'outcome'> & { readonly outcome: 'expire' },
  made: { decisionId: string; at: number },
): DecideChanges {
  return changesOf({ run, items: [item] }, item, decisionOf(item, said, made))
}

export type Said = Omit<DecideRequest, 'outcome'> & { readonly outcome: Outcome | Remark }

export function decisionOf(
  item: Item,
  request: Said,
  made: { decisionId: string; at: number },
): Decision {
  const fault = authorFault(request)
  if (fault) throw errorFor('DECISION_INVALID', `a decision ${fault}`)
  const { namespace, runId, itemId, kind, reason, generation, visit } = item
  return {
    namespace,
    runId,
    itemId,
    kind,
    reason,
    generation,
    visit,
    decisionId: made.decisionId,
    subject: item.body.subject,
    outcome: request.outcome,
    ...recordOf(item, request),
    shownHash: shownHashOf(item),
    by: wellFormed(request.by),
    why: wellFormed(request.reason),
    evidence: request.evidence === undefined ? null : wellFormed(request.evidence),
    madeSure: request.madeSure === true,
    version: request.version,
    at: made.at,
    seq: null,
    usedBy: null,
    voidedAt: null,
  }
}

/**
 * Of what stands in the item now, whatever hash it was written with: that is what was looked at.
 */
function shownHashOf({ title, body: { approval, data } }: Item): string | null {
  return approval ? sha256(canonical({ title, data })) : null
}

/** The same words again, after an acknowledgement was lost, are no second decision. */
function isSame(old: Decision, next: Decision): boolean {
  const words = (d: Decision) =>
    JSON.stringify([d.outcome, d.record, d.resultJson, d.by, d.why, d.version, d.madeSure])
  return words(old) === words(next)
}

function checkVersion(item: Item, request: DecideRequest): void {
  if (request.version === item.version) return
  throw errorFor('ITEM_CHANGED', item.itemId, item.version, request.version)
}

function checkResult(item: Item, request: DecideRequest): void {
  const needs = needsResult(item, request.outcome)
  if (needs === 'required' && request.result === undefined) {
    const what = wanted[request.outcome] ?? 'the answer'
    const { example = null } = item.body.answer ?? {}
    const like = example === null ? '' : `, for example ${JSON.stringify(example)}`
    throw errorFor('DECISION_INVALID', `"${request.outcome}" needs \`result\`: ${what}${like}`)
  }
  if (needs === 'none' && request.result !== undefined) {
    throw errorFor('DECISION_INVALID', `"${request.outcome}" takes no \`result\`: leave it out`)
  }
}

const wanted: Partial<Record<Outcome, string>> = {
  edit: 'what is to be sent instead',
  happened: 'what the call returned (its tool does not say `resultOptional`)',
}

function changesOf(
  now: Pick<DecideView, 'run' | 'items'>,
  item: Item,
  decision: Decision,
): DecideChanges {
  const { run } = now
  const { at, by, outcome, why } = decision
  const decided: Item = { ...item, state: 'decided', version: item.version + 1, closedAt: at }
  const changes: DecideChanges = {
    items: [decided],
    decisions: [decision],
    events: [eventOf(run, at, 'decided', { item: item.itemId, outcome, by, why })],
    run: { arrive: true },
  }
  const abandons = outcome === 'abandon' && run.state === 'paused'
  if (run.state !== 'waiting_human' && !abandons) return changes
  if (outcome !== 'abandon') {
    changes.run = { arrive: true, state: 'pending', waitingFor: null }
    changes.events.push(moved(run, at, 'pending', `${by} decided: ${outcome}`))
    return changes
  }
  const failure = {
    kind: 'decided',
    name: 'Abandoned',
    code: 'RUN_ABANDONED',
    message: `abandoned by ${by}: ${why}`,
  }
  changes.run = {
    arrive: true,
    state: 'failed',
    waitingFor: null,
    errorJson: JSON.stringify(failure),
  }
  changes.events.push(moved(run, at, 'failed', failure.message))
  changes.notices = [noticeOfFailure(run, JSON.stringify(failure), at, decision.decisionId)]
  for (const other of now.items) {
    if (other.state !== 'open' || other.itemId === item.itemId) continue
    const version = other.version + 1
    changes.items.push({ ...other, state: 'closed', version, closedAt: at, closedBy: 'abandoned' })
  }
  return changes
}

function moved(run: Run, at: number, to: string, cause: string): Event {
  return eventOf(run, at, 'state', { from: run.state, to, cause })
}
