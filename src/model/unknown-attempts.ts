// How many attempts of a call nobody knows the outcome of (G2): for the engine's verdict and for
// whoever foretells it.
import type { Attempt, CallRecord, Evidence } from './records.ts'

type Checked<T> = T & { readonly verifies: boolean }

/**
 * By the record, which is signed: an attempt whose row is gone is not one that never was. `from`:
 * the first that no person has ruled out.
 */
export function unknownAttempts(
  record: CallRecord,
  attempts: readonly Checked<Attempt>[],
  evidence: readonly Checked<Evidence>[],
  from = 1,
): number {
  const known = attempts.filter((row) => row.attempt >= from && isCertain(row, evidence))
  return Math.max(0, record.attempt - from + 1 - known.length)
}

/** Certainly not sent. A callback says so of an attempt whose function has only deferred it. */
function isCertain(attempt: Checked<Attempt>, evidence: readonly Checked<Evidence>[]): boolean {
  if (attempt.verifies && isNo(attempt.outcome)) return true
  return evidence.some(
    ({ verifies, attemptId, outcome }) =>
      verifies && attemptId === attempt.attemptId && isNo(outcome),
  )
}

function isNo(outcome: Attempt['outcome']): boolean {
  return outcome === 'refused' || outcome === 'not_sent'
}
