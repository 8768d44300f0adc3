// What the attempts of a call say: which of them are over, which certainly had no effect, and how
// many are left whose outcome nobody knows (G2, I5).
import { numberOfAttempt } from '../run/attempt-id.ts'
import type { Attempt, AttemptOutcome, CallRecord, Decision, Evidence } from '../run/records.ts'
import type { Sealed } from './rows.ts'

/**
 * By the record, which is signed: an attempt whose row is gone is not one that never was. `from`:
 * the first that no person has ruled out.
 */
export function unknownAttempts(
  record: CallRecord,
  attempts: readonly Sealed<Attempt>[],
  evidence: readonly Sealed<Evidence>[],
  from = 1,
): number {
  const known = attempts.filter((row) => row.attempt >= from && isCertain(row, evidence))
  return Math.max(0, record.attempt - from + 1 - known.length)
}

/** Certainly not sent. A callback says so of an attempt whose function has only deferred it. */
function isCertain(attempt: Sealed<Attempt>, evidence: readonly Sealed<Evidence>[]): boolean {
  if (attempt.verifies && hadNoEffect(attempt.outcome)) return true
  return evidence.some(
    ({ verifies, attemptId, outcome }) =>
      verifies && attemptId === attempt.attemptId && hadNoEffect(outcome),
  )
}

/** The upstream has refused it, or it was never sent. */
export function hadNoEffect(outcome: AttemptOutcome | null): boolean {
  return outcome === 'refused' || outcome === 'not_sent'
}

/**
 * When an attempt was over: by its own report, or by its worker's death if it does not outlive
 * that. Infinity while it may still run.
 */
export function attemptEnd(
  row: Attempt & { readonly verifies?: boolean },
  deaths: ReadonlyMap<string, number>,
): number {
  const death = row.outlives ? undefined : deaths.get(row.workerId)
  const reported = row.verifies === false ? null : row.endedAt
  return reported ?? death ?? Number.POSITIVE_INFINITY
}

/**
 * The number of the attempt that used a grant, which rules out those before it and no others;
 * Infinity for a grant that was not used, and for any other decision.
 */
export function usedAt({ usedBy }: Pick<Decision, 'usedBy'>): number {
  return usedBy === null ? Number.POSITIVE_INFINITY : numberOfAttempt(usedBy)
}
