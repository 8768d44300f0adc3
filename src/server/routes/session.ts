// Signing in and out.
import { z } from 'zod'
import { unauthenticated } from '../auth/auth.ts'
import { beginSession, endSession, takeTicket } from '../auth/sessions.ts'
import { findToken } from '../auth/tokens.ts'
import * as limits from '../http/limits.ts'
import { type Call, route } from '../http/route.ts'

const tag = 'session'
const about = z.object({
  name: z.string(),
  role: z.enum(['viewer', 'operator', 'admin']),
  namespace: z.string(),
  csrf: z.string().nullable(),
  version: z.string(),
  store: z.string(),
  demo: z.boolean(),
})

function shown({ server, client }: Call, who: Call['who'], csrf: string | null) {
  const { name, role, namespace, claims } = who
  const { version, store, demo } = server
  const [kind = ''] = store.url.split(':')
  const where = namespace === '*' ? client.namespace : namespace
  const scope = { namespace: where, every_namespace: namespace === '*', claims }
  return { name, role, ...scope, csrf, version, store: kind, demo }
}

const show = route({
  method: 'GET',
  path: '/v1/session',
  role: 'viewer',
  tag,
  summary: 'Who asks, and the CSRF token that writes by cookie need.',
  answer: about.loose(),
  handler: (call) => ({ json: shown(call, call.who, call.who.session?.csrf ?? null) }),
})

const signIn = route({
  method: 'POST',
  path: '/v1/session',
  role: 'none',
  tag,
  secret: true,
  summary: 'Signs in with a token: sets the session cookie.',
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({ token: z.string().max(200) }),
  answer: about.loose(),
  status: 201,
  handler: async (call) => {
    const { server, body } = call
    const token = await findToken(server.store, body.token)
    if (token === null) throw unauthenticated('the token is not valid, was revoked or has expired')
    // What the browser came with is ended, and never taken over.
    await endSession(server, call.who.session)
    const { cookie, session } = await beginSession(server, token.id)
    const who = { ...call.who, ...token, claims: [`role:${token.role}`], session }
    const headers = { 'content-type': 'application/json; charset=utf-8', 'set-cookie': cookie }
    return new Response(JSON.stringify(shown(call, who, session.csrf)), { status: 201, headers })
  },
})

const signOut = route({
  method: 'DELETE',
  path: '/v1/session',
  role: 'viewer',
  tag,
  status: 204,
  summary: 'Signs out: the session ends here and in the browser.',
  handler: async ({ server, who }) =>
    new Response(null, {
      status: 204,
      headers: { 'set-cookie': await endSession(server, who.session) },
    }),
})

const enter = route({
  method: 'GET',
  path: '/enter',
  role: 'none',
  tag,
  type: 'text/html',
  status: 303,
  summary: 'Signs in by the URL that the server has printed: once.',
  query: z.strictObject({ ticket: z.string().max(200) }),
  handler: async ({ query, server, who }) => {
    const tokenId = await takeTicket(server.store, query.ticket)
    // Opened a second time in the same browser: it is signed in already.
    if (tokenId === null && who.session) return home(server)
    if (tokenId === null) throw unauthenticated(usedTicket)
    await endSession(server, who.session)
    const { cookie } = await beginSession(server, tokenId)
    return home(server, cookie)
  },
})

const usedTicket =
  'this address signs in once, and within an hour; start the server again for another, or sign ' +
  'in with a token: counterfoil token create'

/** Always to our own first page: nobody chooses where. */
function home({ demo }: Call['server'], cookie?: string): Response {
  const location = demo ? '/demo' : '/'
  const headers = { location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) }
  return new Response(null, { status: 303, headers })
}

export const sessionRoutes = [show, signIn, signOut, enter]
