// The terms of an approval: who may decide, how many of them it takes, and what becomes of it when
// nobody does in time. Pure data and their reading; decide.ts, vote.ts and deadline.ts obey them.
import * as limits from '../limits.ts'

/** Another queue, if nobody has decided by then. */
export interface Escalation {
  afterMs: number
  queue: string
  /** Who may decide from then on, instead of those before. */
  deciders?: readonly string[]
  /** How long the decision may take from then on. */
  slaMs?: number
}

/** The end of an approval that nobody has decided: its outcome is `expire`. */
export interface Expiry {
  afterMs: number
  /** What the node is told it counts as; `reject`, unless told. */
  as?: 'approve' | 'reject'
}

/** What a node or a policy may say about an approval. */
export interface ApprovalTerms {
  /** Who may decide: names, `role:…` and `group:…`; anybody, unless told. */
  deciders?: readonly string[]
  /** How many people have to approve; one, unless told. */
  quorum?: number
  /** How many have to reject; one, unless told. */
  rejects?: number
  /** Whoever has started the run may not decide. */
  notStarter?: boolean
  /** How long the decision may take. */
  slaMs?: number
  escalate?: Escalation
  expire?: Expiry
}

/** One of the people who have said yes or no where several have to. */
export interface Vote {
  readonly by: string
  readonly says: 'approve' | 'reject'
  readonly why: string
  readonly at: number
}

/** What becomes of an item that nobody decides; what was not asked for is not there. */
export interface Deadlines {
  /** Beside other deadlines, its SLA, and when it was noticed that it had passed. */
  readonly slaAt?: number | null
  readonly slaPassedAt?: number
  /** Null once it was done. */
  readonly escalate?: {
    readonly at: number
    readonly queue: string
    readonly deciders: readonly string[] | null
    readonly slaMs: number | null
  } | null
  readonly escalated?: { readonly from: string; readonly at: number }
}

/** What an item holds of it; what was not asked for is not there. */
export interface ApprovalBody extends Deadlines {
  /** SHA-256 of the canonical form of what was shown: a decision is bound to it. */
  readonly shownHash: string
  /** Who may decide; null for anybody. */
  readonly deciders: readonly string[] | null
  /** JSON Schema of an edit, if the schema's library can tell. */
  readonly schema: unknown
  /** Why it was asked, for a call that the risk policy held. */
  readonly why: string | null
  readonly quorum?: number
  readonly rejects?: number
  readonly notStarter?: boolean
  /** For whoever looks at a list: what counts are the signed rows. */
  readonly votes?: readonly Vote[]
  readonly expire?: { readonly at: number; readonly as: 'approve' | 'reject' }
}

export function approvalBody(
  shown: Pick<ApprovalBody, 'shownHash' | 'schema' | 'why'>,
  terms: ApprovalTerms,
  from: number,
): ApprovalBody {
  const { deciders = null, quorum = 1, rejects = 1, slaMs, escalate, expire } = terms
  const slaAt = slaMs === undefined ? null : from + slaMs
  return {
    ...shown,
    deciders,
    ...(quorum > 1 ? { quorum } : {}),
    ...(rejects > 1 ? { rejects } : {}),
    ...(terms.notStarter === true ? { notStarter: true } : {}),
    ...(escalate || expire ? { slaAt } : {}),
    ...(escalate ? { escalate: escalationOf(escalate, from) } : {}),
    ...(expire ? { expire: { at: from + expire.afterMs, as: expire.as ?? 'reject' } } : {}),
  }
}

/** What a queue says about its items: how long a decision may take, and who is asked then. */
export interface QueueTerms {
  slaMs?: number
  escalate?: Escalation
}

/** By the name of the queue. */
export type Queues = Readonly<Record<string, QueueTerms>>

/** When an item that is no approval is due, and what else becomes of it (E10). */
export function dueOf(
  own: number | null | undefined,
  terms: QueueTerms,
  from: number,
): { dueAt: number; deadlines?: Deadlines } {
  const slaAt = from + (own ?? terms.slaMs ?? limits.itemSlaMs)
  const { escalate } = terms
  if (escalate === undefined) return { dueAt: slaAt }
  const deadlines = { slaAt, escalate: escalationOf(escalate, from) }
  return { dueAt: Math.min(slaAt, deadlines.escalate.at), deadlines }
}

/** What is wrong with what `open` was told about queues; null if nothing is. */
export function queuesFault(queues: unknown): string | null {
  if (queues === undefined) return null
  if (typeof queues !== 'object' || queues === null) return '`queues` must be an object by name'
  for (const [name, terms] of Object.entries(queues)) {
    const { slaMs, escalate, ...rest } = (terms ?? {}) as QueueTerms
    const [strange] = Object.keys(rest)
    if (strange !== undefined) return `queues.${name} has no option \`${strange}\``
    const fault = isMs(slaMs) ? escalateFault(escalate) : '`slaMs` must be milliseconds above 0'
    if (fault !== null) return `queues.${name}: ${fault}`
  }
  return null
}

function escalationOf({ afterMs, queue, deciders, slaMs }: Escalation, from: number) {
  return { at: from + afterMs, queue, deciders: deciders ?? null, slaMs: slaMs ?? null }
}

/** What is wrong with what was said, in words; null if nothing is. */
export function termsFault(terms: ApprovalTerms): string | null {
  const { deciders, quorum = 1, rejects = 1, notStarter, slaMs, escalate, expire } = terms
  if (!isNames(deciders)) return '`deciders` must be a list of names, at least one'
  if (!isMs(slaMs)) return '`slaMs` must be milliseconds above 0'
  for (const [key, count] of [
    ['quorum', quorum],
    ['rejects', rejects],
  ] as const) {
    const fits = Number.isInteger(count) && count >= 1 && count <= limits.quorumMax
    if (!fits) return `\`${key}\` must be a whole number from 1 to ${limits.quorumMax}`
  }
  if (notStarter !== undefined && typeof notStarter !== 'boolean') {
    return '`notStarter` must be true or false'
  }
  return countFault(deciders, quorum, rejects) ?? escalateFault(escalate) ?? expireFault(expire)
}

/** Where all who may decide are known by name, it must be able to end. */
function countFault(deciders: readonly string[] | undefined, quorum: number, rejects: number) {
  if (deciders === undefined || deciders.some(isClaim)) return null
  const people = new Set(deciders).size
  if (quorum + rejects <= people + 1) return null
  const both = `\`quorum\` ${quorum} and \`rejects\` ${rejects}`
  return `with ${people} deciders, ${both} could both be missed`
}

function escalateFault(escalate: Escalation | undefined): string | null {
  if (escalate === undefined) return null
  const { afterMs, queue, deciders, slaMs } = escalate ?? {}
  if (!isMs(afterMs) || afterMs === undefined) return '`escalate.afterMs` must be milliseconds'
  if (typeof queue !== 'string' || queue === '') return '`escalate.queue` must be a string'
  if (!isNames(deciders)) return '`escalate.deciders` must be a list of names, at least one'
  return isMs(slaMs) ? null : '`escalate.slaMs` must be milliseconds above 0'
}

function expireFault(expire: Expiry | undefined): string | null {
  if (expire === undefined) return null
  const { afterMs, as = 'reject' } = expire ?? {}
  if (!isMs(afterMs) || afterMs === undefined) return '`expire.afterMs` must be milliseconds'
  return as === 'approve' || as === 'reject' ? null : "`expire.as` must be 'approve' or 'reject'"
}

/** Whether it names no person, but what a token says about one. */
export function isClaim(decider: string): boolean {
  return /^(role|group):/.test(decider)
}

function isNames(value: unknown): boolean {
  if (value === undefined) return true
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string')
}

function isMs(value: unknown): boolean {
  const fits = (ms: number) => ms > 0 && ms <= limits.waitMsMax
  return value === undefined || (typeof value === 'number' && fits(value))
}
