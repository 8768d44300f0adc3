// Which field of a row is which column. One list per table, complete by its type, read in both
// directions, so that writing and reading cannot drift apart.
import { canonical, NotPlainDataError } from '../../model/canonical.ts'
import type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Notice,
  Run,
  Signal,
} from '../../model/records.ts'
import { bodyOf } from '../item-body.ts'
import { blankRow, blankSealed, type Unchecked } from '../row.ts'
import type { Document, ThreadStep, ThreadWrite } from '../store.ts'
import { clean } from './text.ts'

/** A row by its columns, as it travels: JSON in one direction, JSON or a result in the other. */
export type Columns = Record<string, unknown>

export interface Table<T> {
  readonly name: string
  /** Comma-separated, for select lists. */
  readonly columns: string
  /** As a database can hold it: what is signed must be what comes back. */
  tidy(row: T): T
  encode(row: T): Columns
  decode(columns: Columns): T
  decodeSealed(columns: Columns): Unchecked<T>
}

interface Column {
  readonly column: string
  readonly json: boolean
}

const json = (column: string): Column => ({ column, json: true })

function table<T extends object>(
  name: string,
  fields: { readonly [K in keyof T]-?: string | Column },
): Table<T> {
  const columns = (Object.keys(fields) as (keyof T & string)[]).map((key) => {
    const field: string | Column = fields[key]
    const column: Column = typeof field === 'string' ? { column: field, json: false } : field
    return { key, ...column }
  })
  const keys = columns.map(({ key }) => key)
  const [blank, sealed] = [blankRow(keys), blankSealed(keys)]
  const fill = (row: Record<string, unknown>, from: Columns) => {
    for (const { key, column, json } of columns) {
      const value = from[column]
      row[key] = json && value !== null ? readable(value as string) : value
    }
    return row
  }
  return {
    name,
    columns: columns.map(({ column }) => column).join(', '),
    tidy: (row) => {
      let tidied = row
      for (const { key, json } of columns) {
        const value = row[key]
        if (json || typeof value !== 'string') continue
        const text = clean(value)
        if (text !== value) tidied = { ...tidied, [key]: text }
      }
      return tidied
    },
    encode: (row) => {
      const encoded: Columns = {}
      for (const { key, column, json } of columns) {
        const value = row[key]
        encoded[column] = json && value !== null ? jsonOf(value) : value
      }
      return encoded
    },
    decode: (from) => fill({ ...blank }, from) as T,
    decodeSealed: (from) => fill({ ...sealed }, from) as Unchecked<T>,
  }
}

/**
 * Iterative: what a model wrote may be nested deeper than JSON.stringify can go. What the canonical
 * form refuses (a lone surrogate in an event) must still not hold a commit up.
 */
function jsonOf(value: unknown): string {
  try {
    return canonical(value)
  } catch (error) {
    if (!(error instanceof NotPlainDataError)) throw error
    return JSON.stringify(value)
  }
}

/**
 * Null for what somebody has made unreadable: one such row must not keep the others from being
 * worked on and listed. What is signed no longer verifies then.
 */
function readable(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

export const runs = table<Run>('runs', {
  namespace: 'namespace',
  runId: 'run_id',
  graph: 'graph',
  version: 'version',
  state: 'state',
  node: 'node',
  generation: 'generation',
  visit: 'visit',
  reached: 'reached',
  inputHash: 'input_hash',
  outputJson: 'output_json',
  outputDigest: 'output_digest',
  errorJson: 'error_json',
  waitingFor: json('waiting_for'),
  stop: json('stop'),
  fence: 'fence',
  workerId: 'worker_id',
  arrivals: 'arrivals',
  claims: 'claims',
  commitId: 'commit_id',
  traceId: 'trace_id',
  parentRunId: 'parent_run_id',
  parentAttemptId: 'parent_attempt_id',
  startedBy: 'started_by',
  wakeAt: 'wake_at',
  endedAt: 'ended_at',
  swept: 'swept',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

export const checkpoints = table<Checkpoint>('checkpoints', {
  namespace: 'namespace',
  runId: 'run_id',
  generation: 'generation',
  visit: 'visit',
  node: 'node',
  version: 'version',
  schemaVersion: 'schema_version',
  kind: 'kind',
  baseVisit: 'base_visit',
  previous: 'previous',
  bodyJson: 'body_json',
  bodyDigest: 'body_digest',
  digest: 'digest',
  createdAt: 'created_at',
})

export const records = table<CallRecord>('tool_call_results', {
  namespace: 'namespace',
  runId: 'workflow_id',
  nodeId: 'node_id',
  checkpointId: 'checkpoint_id',
  tool: 'tool_name',
  inputHash: 'input_hash',
  occurrence: 'occurrence',
  nth: 'nth',
  replayClass: 'replay_class',
  idempotencyKey: 'idempotency_key',
  expiresAt: 'expires_at',
  dueAt: 'due_at',
  status: 'status',
  seq: 'seq',
  after: 'after_seq',
  inputJson: 'input_json',
  resultJson: 'result_json',
  resultDigest: 'result_digest',
  externalId: 'external_id',
  errorJson: 'error_json',
  usageJson: 'usage_json',
  unresolved: 'unresolved',
  attempt: 'attempt',
  fence: 'fence',
  workerId: 'worker_id',
  spanId: 'span_id',
  createdAt: 'created_at',
  settledAt: 'settled_at',
})

export const attempts = table<Attempt>('tool_call_attempts', {
  namespace: 'namespace',
  runId: 'workflow_id',
  attemptId: 'attempt_id',
  attempt: 'attempt',
  fence: 'fence',
  workerId: 'worker_id',
  outlives: 'outlives',
  quietMs: 'quiet_ms',
  dispatchedAt: 'dispatched_at',
  tokenHash: 'token_hash',
  beatAt: 'beat_at',
  beatJson: 'beat_json',
  endedAt: 'ended_at',
  outcome: 'outcome',
})

export const evidence = table<Evidence>('call_evidence', {
  namespace: 'namespace',
  runId: 'workflow_id',
  attemptId: 'attempt_id',
  outcome: 'outcome',
  resultJson: 'result_json',
  resultDigest: 'result_digest',
  externalId: 'external_id',
  errorJson: 'error_json',
  at: 'at',
  seq: 'seq',
})

export const signals = table<Signal>('signals', {
  namespace: 'namespace',
  runId: 'run_id',
  signalId: 'signal_id',
  name: 'name',
  dataJson: 'data_json',
  at: 'at',
  usedBy: 'used_by',
})

const itemRows = table<Item>('inbox_items', {
  namespace: 'namespace',
  runId: 'run_id',
  itemId: 'item_id',
  kind: 'kind',
  reason: 'reason',
  state: 'state',
  version: 'version',
  queue: 'queue',
  title: 'title',
  generation: 'generation',
  visit: 'visit',
  dueAt: 'due_at',
  overdueAt: 'overdue_at',
  body: json('body_json'),
  createdAt: 'created_at',
  closedAt: 'closed_at',
  closedBy: 'closed_by',
})

export const items: Table<Item> = {
  ...itemRows,
  decode: (columns) => {
    const row = itemRows.decode(columns)
    return { ...row, body: bodyOf(row.body) }
  },
}

export const decisions = table<Decision>('decisions', {
  namespace: 'namespace',
  runId: 'run_id',
  decisionId: 'decision_id',
  itemId: 'item_id',
  kind: 'kind',
  reason: 'reason',
  generation: 'generation',
  visit: 'visit',
  subject: json('subject_json'),
  outcome: 'outcome',
  record: json('record_json'),
  resultJson: 'result_json',
  shownHash: 'shown_hash',
  by: 'decided_by',
  why: 'why',
  evidence: 'evidence',
  madeSure: 'made_sure',
  version: 'version',
  at: 'at',
  seq: 'seq',
  usedBy: 'used_by',
  voidedAt: 'voided_at',
})

export const events = table<Event>('events', {
  namespace: 'namespace',
  runId: 'run_id',
  at: 'at',
  kind: 'kind',
  generation: 'generation',
  visit: 'visit',
  data: json('data_json'),
})

export const notices = table<Notice>('notices', {
  namespace: 'namespace',
  noticeId: 'notice_id',
  kind: 'kind',
  runId: 'run_id',
  itemId: 'item_id',
  at: 'at',
  dataJson: 'data_json',
})

export const documents = table<Document>('documents', {
  kind: 'kind',
  namespace: 'namespace',
  id: 'document_id',
  version: 'version',
  bodyJson: 'body_json',
  dueAt: 'due_at',
  expiresAt: 'expires_at',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
})

export const threadSteps = table<ThreadStep>('thread_steps', {
  namespace: 'namespace',
  threadId: 'thread_id',
  space: 'space',
  stepId: 'step_id',
  parentId: 'parent_id',
  whole: 'whole',
  bodyJson: 'body_json',
  noteJson: 'note_json',
  createdAt: 'created_at',
})

export const threadWrites = table<ThreadWrite>('thread_writes', {
  namespace: 'namespace',
  threadId: 'thread_id',
  space: 'space',
  stepId: 'step_id',
  taskId: 'task_id',
  place: 'place',
  channel: 'channel',
  bodyJson: 'body_json',
})
