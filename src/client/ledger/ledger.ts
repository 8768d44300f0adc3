// The ledger of a run as people read it: every call with its attempts, and what was learnt and said
// about it. It changes nothing.
import { callOfAttempt } from '../../model/run/attempt-id.ts'
import {
  type Attempt,
  type CallRecord,
  type Decision,
  type Evidence,
  keyOf,
  type Run,
  type Subject,
} from '../../model/run/records.ts'
import { scopeGraph, scopeVisit } from '../../model/run/scope.ts'
import { rowsOf } from '../../store/pages.ts'
import type { InboxPort, LedgerPort, Loaded, Page, Sealed } from '../../store/store.ts'

export interface LedgerEntry {
  readonly record: Sealed<CallRecord>
  readonly generation: number
  readonly visit: number
  readonly attempts: readonly Sealed<Attempt>[]
  readonly evidence: readonly Sealed<Evidence>[]
  readonly decisions: readonly Sealed<Decision>[]
}

export interface LedgerFilter {
  readonly visit?: number
  /** This visit of the present generation and all that came after it. */
  readonly since?: number
  readonly tool?: string
  /** Only the last of those that were asked for. */
  readonly countMax?: number
  readonly onProgress?: (calls: number) => void
}

export interface Ledger {
  readonly entries: readonly LedgerEntry[]
  /** Those that `countMax` has left out. */
  readonly left: number
  /** Decisions that belong to none of these calls: about the run, or a call that was never made. */
  readonly decisions: readonly Sealed<Decision>[]
}

type Placed = Pick<LedgerEntry, 'record' | 'generation' | 'visit'>

export async function readLedger(
  store: LedgerPort & InboxPort,
  run: Run,
  filter: LedgerFilter = {},
): Promise<Ledger> {
  const asked: Placed[] = []
  let left = 0
  let read = 0
  for await (const record of rowsOf((page) => store.listRecords(run, page))) {
    filter.onProgress?.(++read)
    const place = placeOf(run, record)
    if (!isAskedFor(run, filter, { record, ...place })) continue
    asked.push({ record, ...place })
    if (asked.length <= (filter.countMax ?? Number.POSITIVE_INFINITY)) continue
    asked.shift()
    left++
  }
  const attempts = byCall(await store.listAttempts(run))
  const evidence = byCall(await store.listEvidence(run))
  const decisions = (await store.listDecisions(run)).filter((row) => isInside(run, filter, row))
  const used = new Set<string>()
  const entries = asked.map((entry) => {
    const call = `${entry.generation}#${entry.visit}/${keyOf(entry.record)}`
    const own = decisions.filter((row) => isAbout(row, entry))
    for (const row of own) used.add(row.decisionId)
    const found = { attempts: attempts.get(call) ?? [], evidence: evidence.get(call) ?? [] }
    return { ...entry, ...found, decisions: own }
  })
  // A decision about a call that was not asked for is not shown as one about nothing.
  const whole = filter.tool === undefined && left === 0
  const others = whole ? decisions.filter((row) => !used.has(row.decisionId)) : []
  return { entries, left, decisions: others }
}

/** One page of the calls, in the order they were made, each with all that belongs to it. */
export async function ledgerPage(
  store: LedgerPort & InboxPort,
  run: Run,
  request: { cursor?: string; countMax?: number },
): Promise<Page<LedgerEntry>> {
  const { items, next } = await store.listRecords(run, request)
  const attempts = byCall(await store.listAttempts(run))
  const evidence = byCall(await store.listEvidence(run))
  const decisions = await store.listDecisions(run)
  const entries = items.map((record) => {
    const entry = { record, ...placeOf(run, record) }
    const call = `${entry.generation}#${entry.visit}/${keyOf(record)}`
    const found = { attempts: attempts.get(call) ?? [], evidence: evidence.get(call) ?? [] }
    return { ...entry, ...found, decisions: decisions.filter((row) => isAbout(row, entry)) }
  })
  return { items: await withResults(store, run, entries), next }
}

/** The results that lie in blobs put into their rows; one that cannot be had does not verify. */
export async function withResults(
  store: LedgerPort & InboxPort,
  run: Run,
  entries: readonly LedgerEntry[],
): Promise<LedgerEntry[]> {
  const visits = new Map<string, Loaded | null>()
  const filled: LedgerEntry[] = []
  for (const entry of entries) {
    const { record, generation, visit } = entry
    const elsewhere = record.resultJson === null && record.resultDigest !== null
    if (!elsewhere || generation !== run.generation) {
      filled.push(entry)
      continue
    }
    const { nodeId, checkpointId } = record
    const scope = run.graph === scopeGraph.name ? { scope: { nodeId, checkpointId } } : {}
    const place = `${visit}/${JSON.stringify(scope)}`
    if (!visits.has(place)) visits.set(place, await store.load(run, { visit, ...scope }))
    const found = visits.get(place)?.records.find((row) => keyOf(row) === keyOf(record))
    filled.push({ ...entry, record: found ?? record })
  }
  return filled
}

/** The visit that a record belongs to; a foreign runtime's ids stand for a number. */
export function placeOf(run: Run, record: CallRecord): { generation: number; visit: number } {
  const { nodeId, checkpointId } = record
  if (run.graph === scopeGraph.name) {
    return { generation: run.generation, visit: scopeVisit(nodeId, checkpointId) }
  }
  const [visit, generation] = checkpointId.split('#').reverse().map(Number)
  return { generation: generation ?? 0, visit: visit ?? 0 }
}

function isAskedFor(run: Run, filter: LedgerFilter, entry: Placed): boolean {
  if (filter.tool !== undefined && entry.record.tool !== filter.tool) return false
  return isInside(run, filter, entry)
}

function isInside(
  run: Run,
  { visit, since }: LedgerFilter,
  at: { generation: number; visit: number },
): boolean {
  if (visit !== undefined && at.visit !== visit) return false
  return since === undefined || (at.generation === run.generation && at.visit >= since)
}

/** By `generation#visit/tool/hash/occurrence`, which the id of an attempt begins with. */
function byCall<T extends { attemptId: string }>(rows: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>()
  for (const row of rows) {
    const call = callOfAttempt(row.attemptId)
    const known = found.get(call)
    if (known) known.push(row)
    else found.set(call, [row])
  }
  return found
}

function isAbout(decision: Decision, { record, generation, visit }: Placed): boolean {
  if (decision.generation !== generation || decision.visit !== visit) return false
  const names = (subject: Subject | null) => subject !== null && keyOf(subject) === keyOf(record)
  if (names(decision.subject) || names(decision.record)) return true
  // "Send" in a drift is about a place, and the call that is then sent there may have another
  // input.
  const { subject } = decision
  const place = subject?.tool === record.tool && subject.nth === record.nth
  return place && decision.usedBy?.startsWith(`${generation}#${visit}/${keyOf(record)}/`) === true
}
