// Whether an item can be decided now, by this person, with this outcome: asked by `decide` before
// it writes anything, and by every screen before it offers anything. I5 is enforced here: nobody
// may say "it did not happen" of an attempt that may still land.

import { type CounterfoilError, errorFor } from '../errors.ts'
import { attemptEnd } from '../replay/attempts.ts'
import { ofCall } from '../run/attempt-id.ts'
import {
  type Attempt,
  type CallRecord,
  type Decision,
  type Evidence,
  type Item,
  keyOf,
  type Outcome,
  type Run,
} from '../run/records.ts'
import { type Choice, choiceOf, deniesAttempts, type Lock, outcomesOf } from './outcomes.ts'
import { type Decider, deciderFault } from './vote.ts'

export interface DecideView {
  readonly run: Run
  readonly records: readonly CallRecord[]
  readonly attempts: readonly (Attempt & { readonly verifies?: boolean })[]
  readonly evidence: readonly (Evidence & { readonly verifies?: boolean })[]
  readonly items: readonly Item[]
  readonly decisions: readonly Decision[]
  readonly deaths: ReadonlyMap<string, number>
}

/** What can be decided about the item, each with what follows from it and what it waits for. */
export function choicesOf(now: Sent | null, item: Item, at: number): Choice[] {
  return outcomesOf(item).map((outcome) => {
    return choiceOf(item, outcome, now && lockOf(now, item, outcome, at))
  })
}

/** What ended the item, of the rows that can be trusted; null while nobody has. */
export function decisionOn<Row extends Decision & { readonly verifies?: boolean }>(
  rows: readonly Row[],
  itemId: string,
): Row | null {
  const own = rows.filter((row) => row.itemId === itemId && row.verifies !== false)
  return own.findLast((row) => row.outcome !== 'comment' && row.outcome !== 'vote') ?? null
}

/** Whoever decides; with an outcome, whether this can be said of the item now. */
export interface Asker extends Decider {
  readonly outcome?: Outcome | undefined
  /** States on record that earlier attempts are over and the quiet time needs no waiting. */
  readonly madeSure?: boolean | undefined
  /** When the look was taken; now, unless told. */
  readonly lookedAt?: number | undefined
}

/**
 * Why nobody decides it any more, or not this person (if one is named), or not with this outcome,
 * or not yet; null if they may. Whatever shows or takes a decision asks this.
 */
export function mayDecide(
  now: Pick<DecideView, 'run' | 'records' | 'evidence' | 'decisions'> & Partial<Sent>,
  item: Item,
  who: Asker | null,
  at: number,
): CounterfoilError | null {
  const notOffered = who && 'outcome' in who ? outcomeFault(item, who.outcome) : null
  const notTheirs = who && deciderFault(now.run, item, who)
  const barred = closedFault(now, item, at) ?? notTheirs ?? settledFault(now, item)
  return notOffered ?? barred ?? (who && tooEarly(now, item, who, at))
}

function outcomeFault(item: Item, outcome: Outcome | undefined): CounterfoilError | null {
  const allowed = outcomesOf(item)
  if (outcome !== undefined && allowed.includes(outcome)) return null
  const message =
    `"${outcome}" is not an outcome of item ${item.itemId}, which is ${whatOf(item)}; ` +
    `choose ${allowed.join(', ')}`
  return errorFor('DECISION_INVALID', message)
}

function whatOf({ kind, reason }: Item): string {
  if (kind !== 'doubt') return kind === 'approval' ? 'an approval' : 'a question'
  return reason === null ? 'a doubt' : `a doubt (${reason})`
}

function tooEarly(
  { attempts, deaths }: Partial<Sent>,
  item: Item,
  { outcome, madeSure, lookedAt }: Asker,
  at: number,
): CounterfoilError | null {
  if (outcome === undefined || madeSure === true || !attempts || !deaths) return null
  const lock = lockOf({ attempts, deaths }, item, outcome, Math.min(lookedAt ?? at, at))
  return lock && lockFault(`"${outcome}"`, lock)
}

export function lockFault(what: string, lock: Lock): CounterfoilError {
  return errorFor('DECISION_TOO_EARLY', what, lock)
}

function closedFault(
  { decisions }: Pick<DecideView, 'decisions'>,
  item: Item,
  at: number,
): CounterfoilError | null {
  const { expire } = item.body.approval ?? {}
  if (item.state === 'open' && expire && expire.at <= at) {
    const when = new Date(expire.at).toISOString()
    return errorFor('ITEM_CLOSED', item.itemId, `item ${item.itemId} has expired (${when})`)
  }
  if (item.state === 'open') return null
  if (item.state === 'closed') {
    return errorFor('ITEM_CLOSED', item.itemId, `item ${item.itemId} was closed: ${item.closedBy}`)
  }
  const said = decisionOn(decisions, item.itemId)
  const how = said ? ` "${said.outcome}" by ${said.by}` : ''
  return errorFor('ITEM_CLOSED', item.itemId, `item ${item.itemId} was decided${how}`)
}

/**
 * Late evidence may have settled the call before its item was closed: the node has seen that
 * answer.
 */
function settledFault(
  now: Pick<DecideView, 'records' | 'evidence'>,
  item: Item,
): CounterfoilError | null {
  const { subject } = item.body
  if (item.reason !== 'unknown' || subject === null) return null
  const call = `the call of item ${item.itemId}`
  const key = keyOf(subject)
  const landed = ofCall(now.evidence, key).some(
    (row) => row.outcome === 'landed' && row.verifies !== false,
  )
  if (landed) return errorFor('ITEM_CLOSED', item.itemId, `${call} happened: late evidence says so`)
  const record = now.records.find((row) => keyOf(row) === key)
  if (record?.status !== 'committed' && record?.status !== 'failed') return null
  return errorFor('ITEM_CLOSED', item.itemId, `${call} is ${record.status} by now`)
}

type Sent = Pick<DecideView, 'attempts' | 'deaths'>

/** Null, or why an outcome cannot be said of a look that was taken at this time. */
export function lockOf(now: Sent, item: Item, outcome: Outcome, lookedAt: number): Lock | null {
  return deniesAttempts(item, outcome) ? quietLock(now, item, lookedAt) : null
}

/** Null, or why a look at what was sent counted for nothing at this time (I5). */
export function quietLock(now: Sent, item: Pick<Item, 'body'>, lookedAt: number): Lock | null {
  const quiet = quietUntil(now, item)
  if (quiet !== null && lookedAt >= quiet.at) return null
  const { at: until = Number.POSITIVE_INFINITY, attempt = '?', worker = '?' } = quiet ?? {}
  const why =
    until === Number.POSITIVE_INFINITY
      ? `attempt ${attempt} may still be running in worker ${worker}`
      : `what it sent may still arrive until ${new Date(until).toISOString()}`
  return { until, why }
}

/**
 * When every earlier attempt is over and its bytes have had their time; Infinity while one runs.
 */
export function quietUntil(
  now: Sent,
  item: Pick<Item, 'body'>,
): { at: number; attempt: number; worker: string } | null {
  const subject = item.body.subject
  if (subject === null) return null
  const key = keyOf(subject)
  const ends = ofCall(now.attempts, key).map((row) => {
    const at = attemptEnd(row, now.deaths) + row.quietMs
    return { at, attempt: row.attempt, worker: row.workerId }
  })
  return ends.sort((a, b) => b.at - a.at)[0] ?? { at: 0, attempt: 0, worker: '' }
}
