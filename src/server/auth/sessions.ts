// Sessions of browsers, and the one-time tickets of printed URLs.
// Invariants: a session is made at sign-in and never taken from the request, so that nobody can
// give one to somebody else; the cookie holds the secret, the store its hash; the CSRF token is
// made of the secret and kept nowhere.
import { timingSafeEqual } from 'node:crypto'
import { errorFor } from '../../model/errors.ts'
import { sha256 } from '../../model/json/canonical.ts'
import type { Document, DocumentsPort } from '../../store/store.ts'
import type { ServerContext } from '../context.ts'
import * as limits from '../http/limits.ts'
import { format, matches, newSecret, parseSecret, type Secret } from './secret.ts'

export interface Session {
  readonly id: string
  readonly tokenId: string
  readonly csrf: string
}

interface Body {
  readonly tokenId: string
  readonly hash: string
  readonly endsAt: number
}

const place = ['session', ''] as const

/** With the prefix, a browser takes it by HTTPS only, for this host only. */
export const cookieName = (tls: boolean) => (tls ? '__Host-counterfoil' : 'counterfoil')

function csrfOf({ secret }: Secret): string {
  return sha256(`csrf:${secret}`, 'base64url')
}

export async function beginSession(
  { store, clock, tls }: ServerContext,
  tokenId: string,
): Promise<{ cookie: string; session: Session }> {
  const made = newSecret()
  const now = clock.now()
  const body: Body = { tokenId, hash: made.hash, endsAt: now + limits.sessionMaxMs }
  await store.putDocument(rowOf(made.id, body, now), null)
  const cookie = cookieOf(tls, format('cfs', made), limits.sessionMaxMs)
  return { cookie, session: { id: made.id, tokenId, csrf: csrfOf(made) } }
}

function rowOf(id: string, body: Body, now: number) {
  const expiresAt = Math.min(now + limits.sessionIdleMs, body.endsAt)
  const [kind, namespace] = place
  return { kind, namespace, id, bodyJson: JSON.stringify(body), dueAt: null, expiresAt }
}

function cookieOf(tls: boolean, value: string, ms: number): string {
  const age = Math.floor(ms / 1_000)
  const parts = [`${cookieName(tls)}=${value}`, 'Path=/', `Max-Age=${age}`, 'HttpOnly']
  return [...parts, 'SameSite=Strict', ...(tls ? ['Secure'] : [])].join('; ')
}

export async function readSession(
  { store, clock, tls }: ServerContext,
  request: Request,
): Promise<Session | null> {
  const said = parseSecret('cfs', cookieIn(request, cookieName(tls)))
  if (said === null) return null
  const found = await store.getDocument(...place, said.id)
  const body = found && (JSON.parse(found.bodyJson) as Body)
  if (!matches(said.secret, body?.hash ?? null) || found === null || body === null) return null
  await touch(store, clock.now(), found, body)
  return { id: said.id, tokenId: body.tokenId, csrf: csrfOf(said) }
}

/** In use, it does not end for being idle. Somebody else's touch is as good. */
async function touch(store: DocumentsPort, now: number, row: Document, body: Body): Promise<void> {
  if (now - row.updatedAt < limits.sessionTouchMs) return
  await store.putDocument(rowOf(row.id, body, now), row.version)
}

function cookieIn(request: Request, name: string): string | undefined {
  const header = request.headers.get('cookie') ?? ''
  const found = header.split(/; */).filter((part) => part.startsWith(`${name}=`))
  // Two of the same name: one of them is not ours.
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined
}

/** Ends it, and tells the browser to forget it. */
export async function endSession(context: ServerContext, session: Session | null): Promise<string> {
  if (session) await context.store.deleteDocument(...place, session.id)
  return cookieOf(context.tls, '', 0)
}

/** A write by cookie needs what only a page of ours can know and send. */
export function checkCsrf(context: ServerContext, request: Request, { csrf }: Session): void {
  const refused = (why: string) => errorFor('CSRF_INVALID', why)
  const origin = request.headers.get('origin')
  const site = request.headers.get('sec-fetch-site')
  if (origin !== null && origin !== new URL(context.publicUrl()).origin) {
    throw refused('the request comes from another site')
  }
  if (site !== null && site !== 'same-origin') throw refused('the request comes from another site')
  const said = Buffer.from(request.headers.get('x-csrf-token') ?? '')
  const right = Buffer.from(csrf)
  if (said.length === right.length && timingSafeEqual(said, right)) return
  throw refused('send X-CSRF-Token: the `csrf` of GET /v1/session')
}

export async function makeTicket({ store, clock }: ServerContext, tokenId: string) {
  const made = newSecret()
  const body = { tokenId, hash: made.hash }
  const times = { dueAt: null, expiresAt: clock.now() + limits.ticketMs }
  const row = { kind: 'ticket', namespace: '', id: made.id, bodyJson: JSON.stringify(body) }
  await store.putDocument({ ...row, ...times }, null)
  return format('cft', made)
}

/** The token that a ticket stands for: once, whoever is first. */
export async function takeTicket(store: DocumentsPort, text: string): Promise<string | null> {
  const said = parseSecret('cft', text)
  if (said === null) return null
  const found = await store.getDocument('ticket', '', said.id)
  const body = found && (JSON.parse(found.bodyJson) as { tokenId: string; hash: string })
  if (!matches(said.secret, body?.hash ?? null) || found === null || body === null) return null
  const first = await store.deleteDocument('ticket', '', said.id, found.version)
  return first ? body.tokenId : null
}
