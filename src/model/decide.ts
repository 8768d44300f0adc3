// What a person may decide about an item, and what that changes: pure functions over the run as it
// stands. I5 is enforced here: nobody may say "it did not happen" of an attempt that may still
// land.
import { authorFault } from './author.ts'
import { canonical, sha256, wellFormed } from './canonical.ts'
import { CounterfoilError } from './errors.ts'
import { noticeOfFailure } from './notice.ts'
import {
  type Attempt,
  type CallRecord,
  callKeyOfAttempt,
  type Decision,
  type DoubtReason,
  type Event,
  type Evidence,
  eventOf,
  type Item,
  isAsked,
  keyOf,
  type Notice,
  type Outcome,
  type Remark,
  type Run,
  type Subject,
} from './records.ts'
import {
  checkDecider,
  earlierVote,
  isVote,
  neededFor,
  voteRow,
  votersFor,
  withVote,
} from './vote.ts'

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

export interface DecideView {
  readonly run: Run
  readonly records: readonly CallRecord[]
  readonly attempts: readonly (Attempt & { readonly verifies?: boolean })[]
  readonly evidence: readonly (Evidence & { readonly verifies?: boolean })[]
  readonly items: readonly Item[]
  readonly decisions: readonly Decision[]
  readonly deaths: ReadonlyMap<string, number>
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

const doubtOutcomes: Record<DoubtReason, readonly Outcome[]> = {
  unknown: ['happened', 'did_not_happen', 'fail', 'abandon'],
  tampered: ['happened', 'fail', 'abandon'],
  drift: ['use_record', 'send', 'retire_record', 'fail', 'abandon'],
  unresolved: ['happened', 'send', 'fail', 'abandon'],
  key_conflict: ['happened', 'fail', 'abandon'],
  checkpoint: ['pin', 'abandon'],
  failed: ['send', 'happened', 'fail'],
  poison: ['resume', 'abandon'],
}

/** The outcomes that an item can be decided with. */
export function outcomesOf(item: Item): readonly Outcome[] {
  if (item.kind === 'question') return ['respond', 'fail', 'abandon']
  if (item.kind === 'approval') {
    const held = !isAsked(item.body.subject?.tool ?? '')
    // Where several have to agree, it is to one and the same thing.
    const edits: readonly Outcome[] = neededFor(item.body.approval, 'approve') > 1 ? [] : ['edit']
    const ends: readonly Outcome[] = held ? ['abandon'] : ['respond', 'abandon']
    return ['approve', ...edits, 'reject', ...ends]
  }
  if (item.reason === 'drift' && item.body.subject === null) return ['retire_record', 'abandon']
  return item.reason ? doubtOutcomes[item.reason] : []
}

export function decide(
  now: DecideView,
  itemId: string,
  request: DecideRequest,
  made: { decisionId: string; at: number },
): { changes: DecideChanges | null; decision: Decision } {
  const item = now.items.find((row) => row.itemId === itemId)
  if (item === undefined) {
    throw error(
      'ITEM_NOT_FOUND',
      `there is no item ${itemId} in run ${now.run.runId}'s present visit`,
    )
  }
  checkOutcome(item, request)
  const decision = decisionOf(item, request, made)
  const same =
    now.decisions.find((old) => old.itemId === itemId && isSame(old, decision)) ??
    earlierVote(item, now.decisions, decision)
  if (same) return { changes: null, decision: same }
  checkOpen(item, request, made.at)
  checkDecider(now.run, item, request)
  checkUnsettled(now, item)
  checkAttempts(now, item, request, made.at)
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
  if (fault) throw error('DECISION_INVALID', `a decision ${fault}`)
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
    record: recordOf(item, request),
    resultJson: request.result === undefined ? null : canonical(request.result),
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

function recordOf(item: Item, request: Said): Subject | null {
  const wanted = request.record
  const names = item.body.unmatched.map((record) => keyOf(record))
  if (request.outcome !== 'use_record' && request.outcome !== 'retire_record') {
    if (wanted !== undefined) {
      throw error('DECISION_INVALID', `\`record\` has no meaning for ${request.outcome}`)
    }
    return null
  }
  const only = names.length === 1 ? item.body.unmatched[0] : undefined
  const found = wanted
    ? item.body.unmatched.find((record) => keyOf(record) === keyOf(wanted))
    : only
  if (found === undefined) {
    throw error(
      'DECISION_INVALID',
      `${request.outcome} needs \`record\`: one of ${names.join(', ') || 'none'}`,
    )
  }
  const { subject } = item.body
  if (request.outcome === 'use_record' && subject !== null && found.tool !== subject.tool) {
    throw error(
      'DECISION_INVALID',
      `${keyOf(found)} is a record of ${found.tool}, and cannot answer a call of ${subject.tool}`,
    )
  }
  if (request.outcome === 'use_record' && found.status !== 'committed') {
    if (request.result === undefined) {
      throw error(
        'DECISION_INVALID',
        `${keyOf(found)} is ${found.status}: to use it, say what it answered (\`result\`), which ` +
          'states that it happened',
      )
    }
  }
  const { tool, inputHash, occurrence, nth } = found
  return { tool, inputHash, occurrence, nth }
}

/** The same words again, after an acknowledgement was lost, are no second decision. */
function isSame(old: Decision, next: Decision): boolean {
  const words = (d: Decision) =>
    JSON.stringify([d.outcome, d.record, d.resultJson, d.by, d.why, d.version, d.madeSure])
  return words(old) === words(next)
}

function checkOpen(item: Item, request: DecideRequest, at: number): void {
  const { expire } = item.body.approval ?? {}
  if (item.state === 'open' && expire && expire.at <= at) {
    const when = new Date(expire.at).toISOString()
    throw error(
      'ITEM_CLOSED',
      `item ${item.itemId} has expired (${when}); nothing is left to decide`,
    )
  }
  if (item.state !== 'open') {
    const how = item.state === 'decided' ? 'was decided' : `was closed: ${item.closedBy}`
    throw error('ITEM_CLOSED', `item ${item.itemId} ${how}; nothing is left to decide`)
  }
  if (request.version !== item.version) {
    throw error(
      'ITEM_CHANGED',
      `item ${item.itemId} is at version ${item.version}, and you looked at ${request.version}: ` +
        'look again, then decide',
    )
  }
}

/**
 * Late evidence may have settled the call before its item was closed: the node has seen that
 * answer.
 */
function checkUnsettled(now: DecideView, item: Item): void {
  const { subject } = item.body
  if (item.reason !== 'unknown' || subject === null) return
  const key = keyOf(subject)
  const landed = now.evidence.some(
    (row) =>
      row.outcome === 'landed' && row.verifies !== false && callKeyOfAttempt(row.attemptId) === key,
  )
  if (landed) {
    throw error('ITEM_CLOSED', `late evidence says that the call of item ${item.itemId} landed`)
  }
  const record = now.records.find((row) => keyOf(row) === key)
  if (record?.status !== 'committed' && record?.status !== 'failed') return
  throw error('ITEM_CLOSED', `the call of item ${item.itemId} is ${record.status} by now`)
}

function checkOutcome(item: Item, request: DecideRequest): void {
  const allowed = outcomesOf(item)
  if (!allowed.includes(request.outcome)) {
    throw error(
      'DECISION_INVALID',
      `"${request.outcome}" is no outcome for this ${item.reason ?? item.kind}; ` +
        `choose ${allowed.join(', ')}`,
    )
  }
  const needs = needsResult[request.outcome]
  if (needs && request.result === undefined) {
    throw error('DECISION_INVALID', `${request.outcome} needs \`result\`: ${needs}`)
  }
  if (takesNone.includes(request.outcome) && request.result !== undefined) {
    throw error('DECISION_INVALID', `\`result\` has no meaning for ${request.outcome}`)
  }
}

const needsResult: Partial<Record<Outcome, string>> = {
  respond: 'the answer',
  edit: 'what is to be sent instead',
}
const takesNone: readonly Outcome[] = ['approve', 'reject', 'pin', 'resume']

function checkAttempts(now: DecideView, item: Item, request: DecideRequest, at: number): void {
  const denies = request.outcome === 'did_not_happen' || request.outcome === 'fail'
  const sent = item.reason === 'unknown' || item.reason === 'tampered'
  if (!denies || !sent || request.madeSure === true) return
  const lookedAt = Math.min(request.lookedAt ?? at, at)
  const until = quietUntil(now, item)
  if (until !== null && lookedAt >= until.at) return
  const why =
    until === null || until.at === Number.POSITIVE_INFINITY
      ? `attempt ${until?.attempt ?? '?'} may still be running in worker ${until?.worker ?? '?'}`
      : `what it sent may still arrive until ${new Date(until.at).toISOString()}`
  throw error(
    'DECISION_TOO_EARLY',
    `"${request.outcome}" cannot be said yet: ${why}. Look again then, or state madeSure: true, ` +
      'which is kept on record under your name',
    { until: until?.at === Number.POSITIVE_INFINITY ? null : (until?.at ?? null) },
  )
}

/**
 * When every earlier attempt is over and its bytes have had their time; Infinity while one runs.
 */
export function quietUntil(
  now: Pick<DecideView, 'attempts' | 'deaths'>,
  item: Item,
): { at: number; attempt: number; worker: string } | null {
  const subject = item.body.subject
  if (subject === null) return null
  const key = keyOf(subject)
  const ends = now.attempts
    .filter((row) => callKeyOfAttempt(row.attemptId) === key)
    .map((row) => {
      const death = row.outlives ? undefined : now.deaths.get(row.workerId)
      const reported = row.verifies === false ? null : row.endedAt
      const ended = reported ?? death ?? Number.POSITIVE_INFINITY
      return { at: ended + row.quietMs, attempt: row.attempt, worker: row.workerId }
    })
  return ends.sort((a, b) => b.at - a.at)[0] ?? { at: 0, attempt: 0, worker: '' }
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

function error(code: string, message: string, details: Record<string, unknown> = {}) {
  return new CounterfoilError(code, message, { details })
}
