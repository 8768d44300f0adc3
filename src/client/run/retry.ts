// A failed run, tried again by a person from its last checkpoint (C10). What succeeded is read
// back; for each call that failed the person says what becomes of it: a failure that is kept would
// only fail the run again.
import { type Clock, timeId } from '../../clock.ts'
import { authorFault } from '../../model/decisions/author.ts'
import { type DecideView, lockFault, quietLock } from '../../model/decisions/may-decide.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { canonical, keptText, sha256 } from '../../model/json/canonical.ts'
import { parseStored } from '../../model/json/stored.ts'
import { openFailures } from '../../model/replay/failures.ts'
import {
  bare,
  type CallRecord,
  type Decision,
  eventOf,
  type Item,
  keyOf,
  type RunRef,
  type Subject,
} from '../../model/run/records.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import type { Changes, LedgerPort, Loaded } from '../../store/store.ts'

/**
 * `send`: once more. `keep`: it stays failed. Or the result, where a person knows that it happened.
 */
export type Fate = 'send' | 'keep' | { happened: unknown }

export interface RetryRequest {
  by: string
  reason: string
  /** By the call's name: `send_email#0` is the first call of send_email in the visit. */
  calls?: Readonly<Record<string, Fate>>
  /** States on record that no earlier attempt of an unknown outcome can still land. */
  madeSure?: boolean
}

/** A failed call of the run's present visit, as a retry names it. */
export interface FailedCall {
  readonly name: string
  readonly tool: string
  readonly input: unknown
  readonly error: unknown
  /** Failed by a person who did not know whether it had happened. */
  readonly unresolved: boolean
}

export async function failedCalls(store: LedgerPort, ref: RunRef): Promise<FailedCall[]> {
  const now = await store.load(ref)
  return now === null ? [] : openFailures(now).map(shown)
}

export async function retryRun(
  store: LedgerPort,
  clock: Clock,
  ref: RunRef,
  request: RetryRequest,
): Promise<void> {
  const fault = authorFault(request)
  if (fault) throw invalid(`a retry ${fault}`)
  await store.amend(ref, 'client', (now) => ({
    changes: changesFor(now, request, clock),
    value: null,
  }))
}

function changesFor(now: Loaded, request: RetryRequest, clock: Clock): Changes {
  const { run } = now
  if (run.graph === scopeGraph.name) {
    throw invalid(`${run.runId} is of a foreign runtime: its host retries by opening a scope`)
  }
  if (run.state !== 'failed') {
    throw errorFor('RUN_NOT_FAILED', run.runId, run.state)
  }
  const at = clock.now()
  const failures = openFailures(now)
  checkNames(failures, request)
  const changes = { items: [] as Item[], decisions: abandonsVoided(now, at) }
  for (const record of failures) {
    // A pure call is worth another try, and harms nobody.
    const silent = record.replayClass === 'pure' ? 'send' : 'keep'
    const fate = request.calls?.[nameOf(record)] ?? silent
    if (fate === 'keep') continue
    if (fate === 'send' && record.unresolved) checkQuiet(now, record, request, at)
    const made = decisionOf(now, record, fate, request, { at, decisionId: timeId(clock, 'dec') })
    changes.items.push(made.item)
    changes.decisions.push(made.decision)
  }
  const { by, reason } = request
  const cause = `tried again by ${by}: ${reason}`
  return {
    ...changes,
    run: { state: 'pending', errorJson: null, waitingFor: null, arrive: true },
    events: [eventOf(run, at, 'state', { from: 'failed', to: 'pending', cause })],
  }
}

/** Who tries a run again has thought better of its end. */
function abandonsVoided({ decisions }: Loaded, at: number): Decision[] {
  return decisions
    .filter((row) => row.outcome === 'abandon' && row.voidedAt === null)
    .map((row) => ({ ...bare(row), voidedAt: at }))
}

/** Every failed call that is not pure has to be named: nothing is sent or kept by silence. */
function checkNames(failures: readonly CallRecord[], { calls = {} }: RetryRequest): void {
  const names = failures.map(nameOf)
  const strange = Object.keys(calls).find((name) => !names.includes(name))
  if (strange !== undefined) {
    throw invalid(`\`calls\` names ${strange}; the failed ones are ${names.join(', ') || 'none'}`)
  }
  const silent = failures.filter((row) => row.replayClass !== 'pure').map(nameOf)
  const missing = silent.filter((name) => calls[name] === undefined)
  if (missing.length === 0) return
  throw invalid(
    `say what becomes of ${missing.join(', ')}: "send" (once more), "keep" (stays failed), or ` +
      '{ happened: result }',
    { calls: missing },
  )
}

function checkQuiet(now: DecideView, record: CallRecord, request: RetryRequest, at: number): void {
  if (request.madeSure === true) return
  const lock = quietLock(now, { body: { subject: subjectOf(record) } as Item['body'] }, at)
  if (lock) throw lockFault(`to send ${nameOf(record)} once more`, lock)
}

function decisionOf(
  { run }: Loaded,
  record: CallRecord,
  fate: Exclude<Fate, 'keep'>,
  request: RetryRequest,
  { at, decisionId }: { at: number; decisionId: string },
): { item: Item; decision: Decision } {
  const { namespace, runId, generation, visit } = run
  const subject = subjectOf(record)
  const id = sha256(canonical([namespace, runId, generation, visit, 'failed', keyOf(record)]))
  const itemId = `item_${id.slice(0, 20)}`
  const input = parsed(record, record.inputJson)
  const body = {
    subject,
    node: record.nodeId,
    scope: null,
    input,
    attempt: record.attempt,
    idempotencyKey: record.idempotencyKey,
    unmatched: [],
    error: null,
    probe: null,
    data: null,
    approval: null,
    damage: null,
  }
  const where = { namespace, runId, itemId, generation, visit, kind: 'doubt', reason: 'failed' }
  const outcome = fate === 'send' ? 'send' : 'happened'
  const decision = {
    ...where,
    decisionId,
    subject,
    outcome,
    record: null,
    by: request.by,
    why: request.reason,
    resultJson: fate === 'send' ? null : keptText(fate.happened ?? null),
    shownHash: null,
    evidence: null,
    madeSure: request.madeSure === true,
    version: 1,
    at,
    seq: null,
    usedBy: null,
    voidedAt: null,
  } as Decision
  const item = {
    ...where,
    state: 'decided',
    version: 1,
    queue: 'doubts',
    title: `${record.tool}: it failed`,
    dueAt: null,
    overdueAt: null,
    body,
    createdAt: at,
    closedAt: at,
    closedBy: null,
  } as Item
  return { item, decision }
}

function subjectOf({ tool, inputHash, occurrence, nth }: CallRecord): Subject {
  return { tool, inputHash, occurrence, nth }
}

function nameOf({ tool, nth }: CallRecord): string {
  return `${tool}#${nth}`
}

function parsed(record: CallRecord, json: string | null): unknown {
  return json === null ? null : parseStored(json, `what is recorded of ${nameOf(record)}`)
}

function shown(record: CallRecord): FailedCall {
  const { tool, inputJson, errorJson, unresolved } = record
  return {
    name: nameOf(record),
    tool,
    input: parsed(record, inputJson),
    error: parsed(record, errorJson) as FailedCall['error'],
    unresolved,
  }
}

function invalid(message: string, details: Record<string, unknown> = {}): CounterfoilError {
  return errorFor('RETRY_INVALID', message, details)
}
