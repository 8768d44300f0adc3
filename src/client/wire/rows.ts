// The rows as they travel, by --json and by the API: snake_case like the database, times in ISO
// with their zone, and the JSON that users gave as it is.
import { deadlinesOf, slaOf, slaPassedAt } from '../../model/decisions/deadline.ts'
import { type Choice, isMarked } from '../../model/decisions/outcomes.ts'
import type {
  ApprovalBody,
  Attempt,
  CallRecord,
  Deadlines,
  Decision,
  Event,
  Item,
  Run,
  Subject,
  Vote,
} from '../../model/run/records.ts'
import type { Sealed, WorkerRow } from '../../store/store.ts'
import type { ItemView } from '../inbox/inbox.ts'
import type { ItemLook } from '../inbox/item.ts'
import type { Previous } from '../inbox/link.ts'
import { iso } from './iso.ts'

export function runJson(run: Run) {
  const { stop } = run
  return {
    run_id: run.runId,
    namespace: run.namespace,
    graph: run.graph,
    version: run.version,
    state: run.state,
    node: run.node,
    generation: run.generation,
    visit: run.visit,
    waiting_for: waitingJson(run.waitingFor),
    stop: stop && { to: stop.to, by: stop.by, reason: stop.why, at: iso(stop.at) },
    worker_id: run.workerId,
    output: parsed(run.outputJson),
    output_digest: run.outputDigest,
    error: parsed(run.errorJson),
    trace_id: run.traceId,
    created_at: iso(run.createdAt),
    updated_at: iso(run.updatedAt),
  }
}

export function waitingJson(waitingFor: Run['waitingFor']) {
  return waitingFor && { ...waitingFor, since: iso(waitingFor.since) }
}

export function recordJson(record: Sealed<CallRecord>, visit: number) {
  return {
    node_id: record.nodeId,
    checkpoint_id: record.checkpointId,
    visit,
    tool_name: record.tool,
    input_hash: record.inputHash,
    occurrence: record.occurrence,
    nth: record.nth,
    replay_class: record.replayClass,
    idempotency_key: record.idempotencyKey,
    status: record.status,
    attempts: record.attempt,
    seq: record.seq,
    input: parsed(record.inputJson),
    result: parsed(record.resultJson),
    result_digest: record.resultDigest,
    external_id: record.externalId,
    error: parsed(record.errorJson),
    usage: parsed(record.usageJson),
    unresolved: record.unresolved,
    verifies: record.verifies,
    worker_id: record.workerId,
    span_id: record.spanId,
    created_at: iso(record.createdAt),
    settled_at: iso(record.settledAt),
    expires_at: iso(record.expiresAt),
  }
}

export function eventJson(event: Event) {
  return { at: iso(event.at), kind: event.kind, visit: event.visit, data: event.data }
}

export function decisionJson(decision: Decision) {
  return {
    decision_id: decision.decisionId,
    item_id: decision.itemId,
    run_id: decision.runId,
    outcome: decision.outcome,
    subject: subjectJson(decision.subject),
    record: subjectJson(decision.record),
    result: parsed(decision.resultJson),
    by: decision.by,
    reason: decision.why,
    evidence: decision.evidence,
    // A person's word in the place of the tool's own answer.
    answers: isMarked(decision.outcome, 'answers'),
    made_sure: decision.madeSure,
    shown_hash: decision.shownHash,
    version: decision.version,
    at: iso(decision.at),
    used_by: decision.usedBy,
    voided_at: iso(decision.voidedAt),
  }
}

export function itemJson(item: Item) {
  return {
    item_id: item.itemId,
    run_id: item.runId,
    namespace: item.namespace,
    kind: item.kind,
    reason: item.reason,
    state: item.state,
    version: item.version,
    queue: item.queue,
    title: item.title,
    visit: item.visit,
    due_at: iso(slaOf(item)),
    overdue_at: iso(slaPassedAt(item)),
    ...escalationJson(deadlinesOf(item) ?? {}),
    deciders: item.body.approval?.deciders ?? null,
    quorum: item.body.approval?.quorum ?? 1,
    votes: (item.body.approval?.votes ?? []).map(voteJson),
    created_at: iso(item.createdAt),
    closed_at: iso(item.closedAt),
    closed_by: item.closedBy,
  }
}

export function itemViewJson({ item, workers, replayClass, unusable }: ItemLook) {
  const { body, quietUntil } = item
  const { approval, damage } = body
  return {
    ...itemJson(item),
    votes: item.votes.map(voteJson),
    call: {
      node: body.node,
      subject: subjectJson(body.subject),
      replay_class: replayClass,
      input: body.input,
      idempotency_key: body.idempotencyKey,
      attempts: item.attempts.map((row) => attemptJson(row, row.diedAt, workers)),
    },
    error: body.error,
    where_to_look: body.look ?? null,
    answer: body.answer ?? null,
    probe: body.probe,
    unmatched: body.unmatched.map((call) => ({
      ...subjectJson(call),
      status: call.status,
      input: call.input,
      result: call.result,
      where_to_look: call.look ?? null,
    })),
    data: body.data,
    approval: approval && {
      shown_hash: approval.shownHash,
      deciders: approval.deciders,
      schema: approval.schema,
      why: approval.why,
      ...termsJson(approval),
    },
    comments: item.comments.map(({ by, text, at }) => ({ by, text, at: iso(at) })),
    links: { previous: item.previous && previousJson(item.previous) },
    damage: damage && { why: damage.why, visit: damage.visit, good_visits: damage.good },
    unusable_answer: unusable,
    outcomes: item.outcomes,
    choices: item.choices.map((choice) => choiceJson(item, choice)),
    barred: item.barred,
    decision: item.decision && decisionJson(item.decision),
    did_not_happen:
      item.reason === 'unknown'
        ? { from: iso(quietUntil), may_still_run: quietUntil === Number.POSITIVE_INFINITY }
        : null,
  }
}

/** An outcome as every screen offers it; `result: if_pending` depends on the record. */
function choiceJson({ quietUntil }: ItemView, choice: Choice) {
  const { outcome, label, consequence, result, fits, reasonOptional, grave, locked } = choice
  const { proves, pins, denies, grants, records } = choice
  return {
    outcome,
    label,
    consequence,
    result,
    fits,
    grave,
    pins,
    grants,
    reason: reasonOptional ? 'optional' : 'required',
    evidence: proves ? 'optional' : 'none',
    records: records.map(subjectJson),
    // From when a look counts; null for an outcome that is never locked.
    looked_after: denies ? iso(quietUntil) : null,
    // Without a time an attempt may still be running: nobody can say until when.
    locked: locked && { until: iso(locked.until), why: locked.why },
  } as const
}

export function voteJson({ by, says, why, at }: Vote) {
  return { by, says, reason: why, at: iso(at) }
}

function previousJson({ itemId, outcome, by, reason, at }: Previous) {
  return { item_id: itemId, outcome, by, reason, at: iso(at) }
}

function escalationJson({ escalate, escalated }: Deadlines) {
  return {
    escalates_at: iso(escalate?.at ?? null),
    escalates_to: escalate?.queue ?? null,
    escalated: escalated ? { from: escalated.from, at: iso(escalated.at) } : null,
  }
}

/** Who and how many, and what happens if nobody does. */
function termsJson({ quorum = 1, rejects = 1, notStarter, ...rest }: ApprovalBody) {
  const { expire } = rest
  return {
    quorum,
    rejects,
    not_starter: notStarter === true,
    ...escalationJson(rest),
    expires_at: iso(expire?.at ?? null),
    expires_as: expire?.as ?? null,
  }
}

function attemptJson(
  attempt: Attempt,
  diedAt: number | null,
  workers: ReadonlyMap<string, WorkerRow>,
) {
  const worker = workers.get(attempt.workerId)
  return {
    attempt_id: attempt.attemptId,
    attempt: attempt.attempt,
    worker_id: attempt.workerId,
    pid: worker?.pid ?? null,
    host: worker?.host ?? null,
    dispatched_at: iso(attempt.dispatchedAt),
    ended_at: iso(attempt.endedAt),
    outcome: attempt.outcome,
    worker_died_at: iso(diedAt),
    death_proof: worker?.deathProof ?? null,
    outlives: attempt.outlives,
    quiet_ms: attempt.quietMs,
  }
}

function subjectJson(subject: Subject | null) {
  if (subject === null) return null
  const { tool, inputHash, occurrence, nth } = subject
  return { tool_name: tool, input_hash: inputHash, occurrence, nth }
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}
