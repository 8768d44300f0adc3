// The first attempt of a call lies in the call's own row, as long as nothing is on record of it but
// that it was sent, and nothing was sent after it. So an intent is one row. Whatever is said of it
// later (its end, a token, a word of it) makes a row of its own, like those of all others; when the
// call is sent again, or by somebody else, a trigger makes it (final.ts). Only here is it known
// that there are two places: whoever reads attempts is given both as one.
// Invariants: what was said of an attempt when it was sent stays, whichever place it lies in.
import { callKeyOfAttempt } from '../../model/run/attempt-id.ts'
import { type Attempt, type CallRecord, keyOf } from '../../model/run/records.ts'
import { scopeVisit } from '../../model/run/scope.ts'
import { attempts as finality } from '../rules/finality.ts'
import type { Sealed } from '../store.ts'

/** What the row of a call holds of its first attempt; all null if it holds none. */
export interface Sent {
  /** The end of its id: what stands before it is the call's own (`idOf`). */
  readonly tail: string | null
  readonly outlives: boolean | null
  readonly quietMs: number | null
  readonly dispatchedAt: number | null
}

export const notSent: Sent = { tail: null, outlives: null, quietMs: null, dispatchedAt: null }

/** An attempt of a change, and the record of its call if the change has that too. */
export interface Placed {
  readonly attempt: Attempt
  readonly record: CallRecord | null
}

export interface Paired {
  /** Those that may lie in the row of their call. */
  readonly sent: ReadonlyMap<CallRecord, Attempt>
  readonly others: readonly Placed[]
}

export function paired(records: readonly CallRecord[], attempts: readonly Attempt[]): Paired {
  const sent = new Map<CallRecord, Attempt>()
  const others: Placed[] = []
  if (attempts.length === 0) return { sent, others }
  const byKey = new Map<string, CallRecord[]>()
  for (const record of records) {
    const key = keyOf(record)
    byKey.set(key, [...(byKey.get(key) ?? []), record])
  }
  for (const attempt of attempts) {
    // The key may be that of calls of several visits.
    const alike = attempt.attempt === 1 ? byKey.get(callKeyOfAttempt(attempt.attemptId)) : undefined
    const record = alike?.find((one) => tailOf(one, attempt) !== null)
    if (record && isBare(attempt) && isSender(record, attempt)) sent.set(record, attempt)
    else others.push({ attempt, record: record ?? null })
  }
  return { sent, others }
}

/** Nothing is said of it but that it was sent. */
export function isBare({ tokenHash, beatAt, beatJson, endedAt, outcome }: Attempt): boolean {
  return (tokenHash ?? beatAt ?? beatJson ?? endedAt ?? outcome) === null
}

/** The row names who has sent it. */
function isSender(record: CallRecord, { fence, workerId }: Attempt): boolean {
  return record.attempt === 1 && record.fence === fence && record.workerId === workerId
}

export function sentOf(record: CallRecord, attempt: Attempt | undefined): Sent {
  if (attempt === undefined) return notSent
  const { outlives, quietMs, dispatchedAt } = attempt
  return { tail: tailOf(record, attempt), outlives, quietMs, dispatchedAt }
}

/** The row of a call, as far as it says who has sent what. */
export type Sender = Pick<CallRecord, (typeof senders)[number]>

export const senders = [
  ...(['namespace', 'runId', 'nodeId', 'checkpointId', 'tool', 'inputHash'] as const),
  ...(['occurrence', 'attempt', 'fence', 'workerId'] as const),
] as const

/** What the row says of the first attempt; null if that lies elsewhere, or there was none. */
export function firstAttempt(record: Sender, sent: Sent): Attempt | null {
  const { tail, outlives, quietMs, dispatchedAt } = sent
  if (record.attempt !== 1 || tail === null || dispatchedAt === null) return null
  const { namespace, runId, fence, workerId } = record
  return {
    ...{ namespace, runId, attemptId: idOf(record, tail), attempt: 1, fence, workerId },
    ...{ outlives: outlives === true, quietMs: quietMs ?? 0, dispatchedAt, tokenHash: null },
    ...{ beatAt: null, beatJson: null, endedAt: null, outcome: null },
  }
}

/** All attempts, wherever they lie, in the order of their dispatch. */
export function withFirst(
  own: readonly Sealed<Attempt>[],
  first: readonly Attempt[],
): Sealed<Attempt>[] {
  if (first.length === 0) return [...own]
  const all = new Map(own.map((row) => [row.attemptId, row]))
  for (const row of first) {
    const known = all.get(row.attemptId)
    if (known === undefined) all.set(row.attemptId, Object.assign(row, { verifies: true }))
    // Nobody but a forger makes a row that says another thing of the same dispatch.
    else if (!mayFollow(row, known)) all.set(row.attemptId, { ...known, verifies: false })
  }
  const inOrder = (a: Attempt, b: Attempt) =>
    a.dispatchedAt - b.dispatchedAt || (a.attemptId < b.attemptId ? -1 : 1)
  return [...all.values()].sort(inOrder)
}

/** Whether a row of its own may be made of what the call's row says. */
export function mayFollow(first: Attempt, row: Attempt): boolean {
  return finality.follows(first, row)
}

const tailForm = /^(~[^/~]*)?$/

/** Null for the attempt of another call, and for one that is not the first. */
function tailOf(record: CallRecord, { attemptId: id }: Attempt): string | null {
  const at = id.indexOf('/')
  const stem = `/${keyOf(record)}/1`
  if (at < 0 || !id.startsWith(stem, at)) return null
  const name = id.slice(at + stem.length)
  if (!tailForm.test(name)) return null
  const place = id.slice(0, at)
  if (place === placeOf(record)) return name
  const { nodeId, checkpointId } = record
  const visit = place.slice(place.indexOf('#') + 1)
  return visit === `${scopeVisit(nodeId, checkpointId)}` ? `${place}${name}` : null
}

function idOf(record: Sender, tail: string): string {
  const at = tail.indexOf('~')
  const [place, name] = at < 0 ? [tail, ''] : [tail.slice(0, at), tail.slice(at)]
  return `${place || placeOf(record)}/${keyOf(record)}/1${name}`
}

/** `generation#visit` of a graph's own visit; the ids of a scope are its host's. */
function placeOf({ checkpointId }: Pick<CallRecord, 'checkpointId'>): string {
  return checkpointId.slice(checkpointId.indexOf('#') + 1)
}

type Position = (text: string, part: string) => string

/** The same in SQL that both databases speak, but for how a text is searched. */
export function idInSql(row: string, position: Position): string {
  const at = position(`${row}.attempt_id || '~'`, "'~'")
  const own = `substr(${row}.checkpoint_id, ${position(`${row}.checkpoint_id`, "'#'")} + 1)`
  const place = `coalesce(nullif(substr(${row}.attempt_id, 1, ${at} - 1), ''), ${own})`
  const key = `${row}.tool_name || '/' || ${row}.input_hash || '/' || ${row}.occurrence`
  return `${place} || '/' || ${key} || '/1' || substr(${row}.attempt_id, ${at})`
}

/**
 * Makes a row of its own, unless there is one: of `old` in a trigger, or of the rows `from` which
 * are named like that.
 */
export function firstToOwnRow(row: string, position: Position, from: string | null): string {
  const id = idInSql(row, position)
  const facts = ['fence', 'worker_id', 'outlives', 'quiet_ms', 'dispatched_at']
  const columns = ['namespace', 'workflow_id', 'attempt_id', 'attempt', ...facts]
  const values = [`${row}.namespace`, `${row}.workflow_id`, id, '1']
  const place = `a.namespace = ${row}.namespace and a.workflow_id = ${row}.workflow_id`
  return `insert into tool_call_attempts (${columns.join(', ')})
  select ${[...values, ...facts.map((column) => `${row}.${column}`)].join(', ')}${from ?? ''}
  ${from === null ? 'where' : 'and'} not exists (
    select 1 from tool_call_attempts a where ${place} and a.attempt_id = ${id})`
}
