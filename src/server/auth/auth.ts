// Who asks. A bearer token, or a session cookie that stands for one; roles; namespaces.
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { isName } from '../../model/name.ts'
import type { DocumentsPort } from '../../store/store.ts'
import type { ServerContext } from '../context.ts'
import type { Route } from '../http/route.ts'
import { anonymous, everywhere, type Principal, roles } from './principal.ts'
import { readSession, type Session } from './sessions.ts'
import { findToken, type Token } from './tokens.ts'

/** Null if nobody is said; throws for what is said and is not right. */
export async function authenticate(
  context: ServerContext,
  request: Request,
): Promise<Principal | null> {
  const header = request.headers.get('authorization')
  if (header !== null) {
    const [, text] = /^Bearer ([!-~]{1,200})$/i.exec(header) ?? []
    const token = await findToken(context.store, text)
    if (token === null) throw unauthenticated('the token is not valid, was revoked or has expired')
    return principalOf(token, null)
  }
  const session = await readSession(context, request)
  if (session === null) return null
  const token = await findTokenOf(context.store, session)
  return token && principalOf(token, session)
}

/** A session lives no longer than its token. */
async function findTokenOf(store: DocumentsPort, { tokenId }: Session): Promise<Token | null> {
  const found = await store.getDocument('token', '', tokenId)
  return found === null ? null : { id: tokenId, ...JSON.parse(found.bodyJson) }
}

function principalOf(token: Token, session: Session | null): Principal {
  const { id, name, role, namespace, groups } = token
  const claims = [`role:${role}`, ...groups.map((group) => `group:${group}`)]
  return { id, name, role, namespace, claims, session }
}

export function checkRole(route: Route, who: Principal | null): Principal {
  if (route.role === 'none') return who ?? anonymous
  if (who === null) throw unauthenticated('say `Authorization: Bearer cf_…`, or sign in')
  if (roles.indexOf(who.role) >= roles.indexOf(route.role)) return who
  const why = `this needs the role ${route.role}; ${who.name} is ${who.role}`
  throw errorFor('ROLE_FORBIDDEN', why, { needs: route.role, role: who.role })
}

export function unauthenticated(why: string): CounterfoilError {
  return errorFor('UNAUTHENTICATED', why)
}

/** The namespace that a request is about. */
export function namespaceOf(who: Principal, asked: string | null, own: string): string {
  if (asked !== null && !isName(asked)) {
    const what = 'letters, digits, _ . : - and at most 128 of them'
    throw errorFor('REQUEST_INVALID', 'namespace', what)
  }
  if (who.namespace === everywhere) return asked ?? own
  if (asked === null || asked === who.namespace) return who.namespace
  throw errorFor('NAMESPACE_FORBIDDEN', who.namespace)
}
