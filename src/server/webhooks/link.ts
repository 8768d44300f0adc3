// Links that decide, once. A link is bound to an item, a version and a person; the store keeps its
// hash. Looking at it does nothing, because mail scanners look at everything; it is used by a POST.
import type { DecideRequest } from '../../model/decisions/decide.ts'
import { outcomesOf, outcomesThat } from '../../model/decisions/outcomes.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import type { Notice, Outcome } from '../../model/run/records.ts'
import type { DocumentsPort, InboxPort, Timed } from '../../store/store.ts'
import { format, matches, newSecret, parseSecret } from '../auth/secret.ts'
import type { Links } from './payload.ts'
import type { Subscription } from './subscription.ts'

/** How long a link can be used, unless told. */
export const linkMs = 3 * 24 * 3_600_000
/** How long one that was used is remembered as such. */
const usedMs = 24 * 3_600_000

export interface LinkBody {
  readonly namespace: string
  readonly itemId: string
  readonly version: number
  readonly outcomes: readonly Outcome[]
  /** Whose decision it is. */
  readonly by: string
  readonly claims: readonly string[]
  /** Who made the link. */
  readonly madeBy: string
  /** Of the token it was made with: it lives no longer. Null for those of a webhook. */
  readonly tokenId: string | null
}

interface Row extends LinkBody {
  readonly hash: string
  readonly used: boolean
}

// Of no namespace: it is found before it is known whose it is.
const place = ['link', ''] as const

export async function makeLink(
  store: Timed<DocumentsPort>,
  body: LinkBody,
  ms = linkMs,
): Promise<string> {
  const made = newSecret()
  const row: Row = { ...body, hash: made.hash, used: false }
  await put(store, made.id, row, store.clock.now() + ms, null)
  return format('cfl', made)
}

function put(
  store: Timed<DocumentsPort>,
  id: string,
  row: Row,
  expiresAt: number,
  ifVersion: number | null,
) {
  const [kind, namespace] = place
  const bodyJson = JSON.stringify(row)
  return store.putDocument({ kind, namespace, id, bodyJson, dueAt: null, expiresAt }, ifVersion)
}

export interface Link extends LinkBody {
  readonly id: string
  readonly docVersion: number
  readonly expiresAt: number
  readonly row: Row
}

/** Throws for one that is not there, has expired, or was used. */
export async function findLink(store: Timed<DocumentsPort>, token: string): Promise<Link> {
  const said = parseSecret('cfl', token)
  const found = said && (await store.getDocument(...place, said.id))
  const row = found && (JSON.parse(found.bodyJson) as Row)
  if (said === null || !matches(said.secret, row?.hash ?? null) || row === null) {
    throw errorFor('LINK_NOT_FOUND', 'this link is unknown, or has expired')
  }
  if (row.used) throw used()
  await checkMaker(store, row)
  const { hash: _, used: __, ...body } = row
  const { version, expiresAt } = found as { version: number; expiresAt: number | null }
  return { ...body, id: said.id, docVersion: version, expiresAt: expiresAt ?? 0, row }
}

/** Whoever may decide nothing any more decides nothing by a link of theirs either. */
async function checkMaker(store: Timed<DocumentsPort>, { tokenId, madeBy }: Row): Promise<void> {
  if (!tokenId || (await store.getDocument('token', '', tokenId)) !== null) return
  const message = `this link has ended: the token of ${madeBy}, who made it, was revoked or expired`
  throw errorFor('LINK_NOT_FOUND', message)
}

/**
 * Uses it, then decides: of two at once one goes on. What could not be decided for reasons of our
 * own (a store that is away) gives the link back.
 */
export async function useLink<T>(
  store: Timed<DocumentsPort>,
  link: Link,
  decide: (request: Pick<DecideRequest, 'by' | 'claims' | 'version' | 'evidence'>) => Promise<T>,
): Promise<T> {
  const { id, docVersion, row, by, claims, version, madeBy, expiresAt } = link
  const until = Math.max(expiresAt, store.clock.now() + usedMs)
  if (!(await put(store, id, { ...row, used: true }, until, docVersion))) throw used()
  const evidence = `by a link that ${madeBy} made`
  try {
    return await decide({ by, claims, version, evidence })
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code === '' || code.startsWith('STORE_') || code === 'DECISION_INVALID') {
      await put(store, id, row, expiresAt, docVersion + 1)
    }
    throw error
  }
}

/** For an approval that is told to somebody who may decide it by a link. */
export async function makeLinks(
  { store, publicUrl }: { store: Timed<DocumentsPort & InboxPort>; publicUrl: string },
  { linksFor, by: madeBy, namespace }: Subscription,
  { itemId }: Notice,
): Promise<Links | null> {
  const item = linksFor === null || itemId === null ? null : await store.getItem(namespace, itemId)
  if (item === null || linksFor === null || item.state !== 'open') return null
  const offered = outcomesOf(item)
  if (!outcomesThat('link').every((outcome) => offered.includes(outcome))) return null
  const body = { namespace, itemId: item.itemId, version: item.version, by: linksFor, claims: [] }
  const make = (outcome: Outcome) =>
    makeLink(store, { ...body, outcomes: [outcome], madeBy, tokenId: null })
  const url = (token: string) => `${publicUrl}/v1/links/${token}`
  return { approve: url(await make('approve')), reject: url(await make('reject')) }
}

function used(): CounterfoilError {
  return errorFor('LINK_USED')
}
