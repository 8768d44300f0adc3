// The rows that an attempt leaves behind, made of the run, the call, and what was recorded before.

import type { FailureData } from '../../model/errors.ts'
import { canonical, sha256 } from '../../model/json/canonical.ts'
import { keyExpiry, type Moment } from '../../model/replay/key-window.ts'
import { knownRecord } from '../../model/replay/known.ts'
import { attemptId, attemptName, attemptPlace, callOfAttempt } from '../../model/run/attempt-id.ts'
import {
  type Attempt,
  type CallRecord,
  type Decision,
  type Event,
  isHeld,
  keyOf,
  type Run,
} from '../../model/run/records.ts'
import type { IssuedCall } from '../call/call.ts'
import type { Visit } from '../visit/visit.ts'
import { LiveCall } from './attempt.ts'

/** The record that precedes an attempt or a question; an earlier one keeps its identity. */
export function intentRow(
  visit: Visit,
  call: IssuedCall,
  idempotencyKey: string | null,
): CallRecord {
  const { run, clock } = visit
  const old = call.record
  const now = clock.now()
  return {
    namespace: run.namespace,
    runId: run.runId,
    nodeId: old?.nodeId ?? run.node,
    checkpointId: old?.checkpointId ?? visit.checkpointId,
    tool: call.tool.name,
    inputHash: old?.inputHash ?? call.inputHash,
    occurrence: old?.occurrence ?? call.occurrence,
    nth: old?.nth ?? call.place.nth,
    replayClass: call.replayClass,
    idempotencyKey,
    expiresAt:
      old && !isHeld(old) ? old.expiresAt : keyExpiry(call.tool.rules.keyTtlMs, momentOf(visit)),
    dueAt: call.dueAt ?? old?.dueAt ?? null,
    status: 'pending',
    seq: null,
    after: old?.after ?? call.after,
    inputJson: call.editedJson ?? shownJson(call) ?? old?.inputJson ?? call.inputJson,
    resultJson: null,
    resultDigest: null,
    usageJson: null,
    externalId: null,
    errorJson: null,
    unresolved: false,
    attempt: attemptNumber(call),
    fence: run.fence,
    workerId: run.workerId ?? '',
    spanId: clock.uuid().replaceAll('-', '').slice(0, 16),
    createdAt: old?.createdAt ?? now,
    settledAt: null,
  }
}

/** The number of the attempt that is made with the next record; what only waits makes none. */
function attemptNumber({ record, ask, passed, wait }: IssuedCall): number {
  const waits = (ask !== null && !passed) || wait !== null
  return (record?.attempt ?? 0) + (waits ? 0 : 1)
}

export function momentOf({ clock, store }: Visit): Moment {
  return { now: clock.now(), steady: store.steadyNow() }
}

/** What is known of a recorded call by now: by its rows, and by what this visit has done itself. */
export function knownOf(visit: Visit, call: IssuedCall, record: CallRecord) {
  const { entry, unknownBefore, unasked } = call
  const verifies = entry?.verifies ?? true
  const learnt = { verifies, unknownAttempts: unknownBefore, asked: !unasked, heard: call }
  return knownRecord(record, learnt, visit.loaded, call.tool.rules, momentOf(visit))
}

/** What a person was shown is kept with the question: an answer is about that and nothing else. */
function shownJson({ ask, held }: IssuedCall): string | null {
  if (ask === null || held) return null
  const { title, data, queue } = ask
  const { quorum = 1 } = ask.terms
  // Signed with the record: whoever can write to the items alone cannot make one voice enough.
  return canonical({ title, data, queue, ...(quorum > 1 ? { quorum } : {}) })
}

export function attemptRow(
  { run, clock }: Visit,
  call: IssuedCall,
  record: CallRecord,
  token: string | null,
): Attempt {
  return {
    namespace: run.namespace,
    runId: run.runId,
    attemptId: attemptId(placeOf(run, keyOf(record), record.attempt), record),
    attempt: record.attempt,
    fence: run.fence,
    workerId: run.workerId ?? '',
    outlives: call.tool.rules.outlives,
    quietMs: call.tool.rules.quietMs,
    dispatchedAt: clock.now(),
    tokenHash: token === null ? null : sha256(token),
    beatAt: null,
    beatJson: null,
    endedAt: null,
    outcome: null,
  }
}

/** A grant that was consumed by something else than an attempt: a question, a refusal. */
export function usedGrant({ run }: Visit, { grant, key }: IssuedCall): Decision[] {
  return grant ? [{ ...grant, usedBy: placeOf(run, key, 0) }] : []
}

/** Where an attempt stands in its run; number 0 is what waits and was never sent. */
export function placeOf({ generation, visit }: Run, key: string, attempt: number): string {
  return attemptPlace(generation, visit, key, attempt)
}

/** What the record's attempt was called when it was sent, also by an older release. */
export function sentName({ run, loaded }: Visit, record: CallRecord): string {
  const place = placeOf(run, keyOf(record), record.attempt)
  const isOld = loaded.attempts.some((row) => row.attemptId === place)
  return isOld ? place : attemptName(attemptId(place, record))
}

/** A recorded call as its tool's functions see it. `id`: of the attempt, if it was just made. */
export function liveCall(
  visit: Visit,
  call: IssuedCall,
  record: CallRecord,
  id: string | null = null,
  token: string | null = null,
): LiveCall {
  const place = placeOf(visit.run, keyOf(record), record.attempt)
  const name = () => (id === null ? sentName(visit, record) : attemptName(id))
  return live(visit, call, { number: record.attempt, place, name, record, token })
}

/** A pure call, which has no record yet, as its tool's function sees it. */
export function livePure(visit: Visit, call: IssuedCall): LiveCall {
  const { namespace, runId } = visit.run
  const place = placeOf(visit.run, call.key, call.tries)
  const spanId = visit.clock.uuid()
  // Most tools do not ask for it, and it takes a hash.
  const name = () => attemptName(attemptId(place, { namespace, runId, spanId }))
  return live(visit, call, { number: call.tries, place, name, record: null, token: null })
}

interface Made {
  readonly number: number
  readonly place: string
  readonly name: () => string
  readonly record: CallRecord | null
  readonly token: string | null
}

function live({ run }: Visit, { tool, risk }: IssuedCall, made: Made): LiveCall {
  const of = {
    runId: run.runId,
    node: run.node,
    tool: tool.name,
    attempt: made.number,
    idempotencyKey: made.record?.idempotencyKey ?? null,
    live: risk.live,
  }
  return new LiveCall(of, made.name, made.token, callOfAttempt(made.place))
}

/** Sent again now, it might be under way when its upstream forgets the key (G6). */
export function isTooLate(visit: Visit, call: IssuedCall): boolean {
  const { record, unknownBefore } = call
  return record !== null && unknownBefore > 0 && knownOf(visit, call, record).keyWindow === 'closed'
}

export function tooLate({ tool }: IssuedCall): FailureData {
  const message = `${tool.name}: its upstream may forget its key before it would have ended`
  return { kind: 'not_sent', name: 'KeyWindow', message }
}

/** The beat that a fresh call of this tool is, as a line of the run's history (D7). */
export function beatsOf(visit: Visit, { tool: { name, rules } }: IssuedCall): Event[] {
  return rules.beat === null ? [] : [visit.event('beat', { beat: rules.beat, tool: name })]
}
