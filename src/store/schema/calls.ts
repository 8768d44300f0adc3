// The ledger: calls, their attempts, and what was learnt about these later.
import type { Attempt, CallRecord, Evidence } from '../../model/run/records.ts'
import { allBut, count, describe, type Fields, flag, maybe, text, time } from './describe.ts'

const recordFields: Fields<CallRecord> = {
  namespace: text('namespace'),
  runId: text('workflow_id'),
  nodeId: text('node_id'),
  checkpointId: text('checkpoint_id'),
  tool: text('tool_name'),
  inputHash: text('input_hash'),
  occurrence: count('occurrence'),
  nth: count('nth'),
  replayClass: text('replay_class'),
  idempotencyKey: maybe(text('idempotency_key')),
  expiresAt: maybe(time('expires_at')),
  dueAt: maybe(time('due_at')),
  status: text('status'),
  seq: maybe(count('seq')),
  after: count('after_seq'),
  inputJson: maybe(text('input_json')),
  resultJson: maybe(text('result_json')),
  resultDigest: maybe(text('result_digest')),
  externalId: maybe(text('external_id')),
  errorJson: maybe(text('error_json')),
  usageJson: maybe(text('usage_json')),
  unresolved: flag('unresolved'),
  attempt: count('attempt'),
  fence: count('fence'),
  workerId: text('worker_id'),
  spanId: text('span_id'),
  createdAt: time('created_at'),
  settledAt: maybe(time('settled_at')),
}

export const records = describe<CallRecord>('tool_call_results', recordFields, {
  key: [
    ...(['namespace', 'runId', 'nodeId', 'checkpointId', 'tool', 'inputHash'] as const),
    'occurrence',
  ],
  sealed: { as: 'record', fields: allBut(recordFields, []) },
  final: {
    settled: { field: 'status', values: ['committed', 'failed'] },
    // To write it again would rewrite the index by time for nothing.
    fixed: ['createdAt'],
    once: [],
    says: 'a settled call, or the making of a call',
  },
  // The first attempt, while nothing is to be said of it but that it was sent.
  beside: [
    ...[maybe(text('attempt_id')), maybe(flag('outlives'))],
    ...[maybe(time('quiet_ms')), maybe(time('dispatched_at'))],
  ],
  kept: 'a call is never deleted',
})

/** What a receipt writes; everything else of the row is its intent's. */
export const endOfRecord = [
  ...(['status', 'seq', 'resultJson', 'resultDigest', 'externalId', 'errorJson'] as const),
  ...(['usageJson', 'unresolved', 'settledAt'] as const),
] as const satisfies readonly (keyof CallRecord)[]

const attemptFields: Fields<Attempt> = {
  namespace: text('namespace'),
  runId: text('workflow_id'),
  attemptId: text('attempt_id'),
  attempt: count('attempt'),
  fence: count('fence'),
  workerId: text('worker_id'),
  outlives: flag('outlives'),
  quietMs: time('quiet_ms'),
  dispatchedAt: time('dispatched_at'),
  tokenHash: maybe(text('token_hash')),
  beatAt: maybe(time('beat_at')),
  beatJson: maybe(text('beat_json')),
  endedAt: maybe(time('ended_at')),
  outcome: maybe(text('outcome')),
}

export const attempts = describe<Attempt>('tool_call_attempts', attemptFields, {
  key: ['namespace', 'runId', 'attemptId'],
  sealed: {
    as: 'attempt',
    fields: allBut(attemptFields, ['beatAt', 'beatJson']),
    unless: ['endedAt', 'outcome', 'tokenHash'],
  },
  final: {
    fixed: ['attempt', 'fence', 'workerId', 'outlives', 'quietMs', 'dispatchedAt'],
    once: [['endedAt', 'outcome'], ['tokenHash']],
    says: 'an attempt can only be heard of, end once, and have one token',
  },
  kept: 'an attempt is never deleted',
})

const evidenceFields: Fields<Evidence> = {
  namespace: text('namespace'),
  runId: text('workflow_id'),
  attemptId: text('attempt_id'),
  outcome: text('outcome'),
  resultJson: maybe(text('result_json')),
  resultDigest: maybe(text('result_digest')),
  externalId: maybe(text('external_id')),
  errorJson: maybe(text('error_json')),
  at: time('at'),
  seq: maybe(count('seq')),
}

export const evidence = describe<Evidence>('call_evidence', evidenceFields, {
  key: ['namespace', 'runId', 'attemptId'],
  sealed: { as: 'evidence', fields: allBut(evidenceFields, []) },
  final: {
    fixed: allBut(evidenceFields, ['seq']),
    once: [['seq']],
    says: 'evidence can only be given its seq, and once',
  },
  kept: 'evidence is never deleted',
})
