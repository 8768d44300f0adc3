// The ledger as it travels: by --json and by the API.
import { attemptName, numberOfAttempt } from '../../model/run/attempt-id.ts'
import type { Evidence } from '../../model/run/records.ts'
import type { Sealed } from '../../store/store.ts'
import type { LedgerEntry } from '../ledger/ledger.ts'
import type { VerifyReport } from '../ledger/verify.ts'
import { iso } from './iso.ts'
import { decisionJson, recordJson } from './rows.ts'

export function entryJson({ record, visit, attempts, evidence, decisions }: LedgerEntry) {
  const { attempts: count, ...row } = recordJson(record, visit)
  return {
    ...row,
    attempt_count: count,
    attempts: attempts.map((one) => ({
      attempt_id: attemptName(one.attemptId),
      attempt: one.attempt,
      worker_id: one.workerId,
      fence: one.fence,
      dispatched_at: iso(one.dispatchedAt),
      ended_at: iso(one.endedAt),
      outcome: one.outcome,
      outlives: one.outlives,
      quiet_ms: one.quietMs,
      verifies: one.verifies,
    })),
    evidence: evidence.map(evidenceJson),
    decisions: decisions.map((one) => ({ ...decisionJson(one), verifies: one.verifies })),
  }
}

function evidenceJson(row: Sealed<Evidence>) {
  return {
    attempt_id: attemptName(row.attemptId),
    attempt: numberOfAttempt(row.attemptId),
    outcome: row.outcome,
    result: row.resultJson === null ? null : JSON.parse(row.resultJson),
    result_digest: row.resultDigest,
    external_id: row.externalId,
    error: row.errorJson === null ? null : JSON.parse(row.errorJson),
    at: iso(row.at),
    verifies: row.verifies,
  }
}

export function verifyJson({ counts, findings, found, moving, limits }: VerifyReport) {
  return {
    ok: found === 0,
    counts,
    found,
    findings: findings.map(({ runId, kind, subject, message }) => ({
      run_id: runId,
      kind,
      subject,
      message,
    })),
    moving,
    limits,
  }
}
