// What a call is answered with: by its receipt, or by what a person said of it.
import { CallFailedError, type FailureData, OutcomeUnknownError } from '../errors.ts'
import { type CallRecord, type Decision, isAsked, type Vote } from '../run/records.ts'
import type { Entry, Settled } from './entry.ts'

/** The answer that a settled record gives, fresh or replayed alike. */
export function settledBy(record: CallRecord): Settled | null {
  if (record.seq === null) return null
  if (record.status === 'committed') {
    return { seq: record.seq, ok: true, value: parseResult(record.resultJson) }
  }
  if (record.status !== 'failed') return null
  const failure = JSON.parse(record.errorJson ?? 'null') as FailureData
  return { seq: record.seq, ok: false, value: errorOf(record.tool, failure) }
}

/** A tool that returned nothing has no text, and gives nothing again. */
export function parseResult(json: string | null): unknown {
  return json === null ? undefined : JSON.parse(json)
}

export function errorOf(tool: string, failure: FailureData): Error {
  return failure.kind === 'unknown'
    ? new OutcomeUnknownError(tool, failure.message)
    : new CallFailedError(tool, failure)
}

/** Failed by a person who did not know whether it had happened. */
export function isBlindFailure(decision: Decision): boolean {
  // In these the call itself was never sent.
  const unsent = decision.reason === 'drift' || decision.reason === 'same_effect'
  return decision.outcome === 'fail' && decision.kind === 'doubt' && !unsent
}

/**
 * The row of a call whose fate a person decided; null for a final row, which is never rewritten.
 */
export function ruledRecord(entry: Entry, now: number): CallRecord | null {
  const { record, ruling, settled } = entry
  if (ruling === null || settled === null) return null
  if (record.status === 'committed' || record.status === 'failed') return null
  return {
    ...record,
    status: settled.ok ? 'committed' : 'failed',
    seq: settled.seq,
    resultJson: settled.ok && settled.value !== undefined ? JSON.stringify(settled.value) : null,
    errorJson: settled.ok ? null : JSON.stringify(decidedFailure(ruling)),
    unresolved: isBlindFailure(ruling),
    settledAt: now,
  }
}

function decidedFailure(decision: Decision): FailureData {
  const kind = isBlindFailure(decision) ? 'unknown' : 'decided'
  return { kind, name: 'Decision', message: decision.why, code: decision.outcome }
}

export function answerOf(
  decision: Decision,
  record: CallRecord | null,
  votes: readonly Vote[] = [],
): { ok: boolean; value: unknown } {
  const tool = decision.subject?.tool ?? 'call'
  const declined = decision.outcome === 'reject' || decision.outcome === 'expire'
  const rejected = declined && !isAsked(tool)
  if (decision.outcome === 'fail' || rejected) {
    return { ok: false, value: errorOf(tool, decidedFailure(decision)) }
  }
  const value = parseResult(decision.resultJson)
  if (decision.kind === 'approval')
    return { ok: true, value: approvalOf(decision, value, record, votes) }
  if (decision.kind !== 'question') return { ok: true, value }
  return { ok: true, value: { answer: value, by: decision.by, reason: decision.why } }
}

/** What `ctx.approval` answers; the data are those that were shown, or what was put in place. */
function approvalOf(
  decision: Decision,
  result: unknown,
  record: CallRecord | null,
  votes: readonly Vote[],
) {
  const { outcome, by, why: reason, at, itemId } = decision
  const shown = (parseResult(record?.inputJson ?? null) as { data?: unknown } | undefined)?.data
  const data = outcome === 'edit' ? result : (shown ?? null)
  const answer = outcome === 'respond' ? result : null
  const content = outcome === 'edit' || outcome === 'respond' ? result : null
  const message = {
    role: 'human',
    kind: 'decision',
    item: itemId,
    outcome,
    by,
    reason,
    at,
    content,
  }
  const expired = outcome === 'expire' && result === 'approve'
  const approved = outcome === 'approve' || outcome === 'edit' || expired
  return { approved, outcome, data, answer, by, reason, at, itemId, votes, message }
}
