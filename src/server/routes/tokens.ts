// Tokens, for admins. An admin of one namespace sees and makes those of it only.
import { z } from 'zod'
import { errorFor } from '../../model/errors.ts'
import { everywhere, type Principal, roles } from '../auth/principal.ts'
import { createToken, listTokens, revokeToken, tokenJson } from '../auth/tokens.ts'
import * as limits from '../http/limits.ts'
import { part } from '../http/page.ts'
import { route } from '../http/route.ts'
import * as shapes from '../http/shapes.ts'

const tag = 'tokens'
const shown = z.looseObject({ token_id: z.string(), name: z.string(), role: z.enum(roles) })

/** What an admin of everything has chosen; of one namespace, that one. */
const scopeOf = (who: Principal) => who.namespace

const list = route({
  method: 'GET',
  path: '/v1/tokens',
  role: 'admin',
  tag,
  summary: 'The tokens, without their secrets.',
  query: z.strictObject(shapes.paging),
  answer: shapes.list(shown),
  handler: async ({ query, who, client: { store } }) => {
    const rows = await listTokens(store, scopeOf(who))
    return { json: part(rows.map(tokenJson), query) }
  },
})

const create = route({
  method: 'POST',
  path: '/v1/tokens',
  role: 'admin',
  tag,
  secret: true,
  summary: 'Makes a token. It is shown once, here.',
  bodyBytesMax: limits.smallBodyBytesMax,
  body: z.strictObject({
    name: z.string().trim().min(1).max(100),
    role: z.enum(roles),
    namespace: z.union([shapes.name, z.literal(everywhere)]).optional(),
    groups: z.array(shapes.name).max(50).optional(),
    expires_in_ms: z
      .int()
      .min(1_000)
      .max(10 * 365 * 24 * 3_600_000)
      .optional(),
  }),
  answer: z.looseObject({ token: z.string(), token_id: z.string() }),
  status: 201,
  handler: async ({ body, who, client: { store, clock, namespace: own } }) => {
    const { name, role, groups = [], expires_in_ms: ms, namespace = own } = body
    if (who.namespace !== everywhere && namespace !== who.namespace) {
      throw errorFor('NAMESPACE_FORBIDDEN', who.namespace)
    }
    const expiresAt = ms === undefined ? null : clock.now() + ms
    const made = await createToken(store, {
      name,
      role,
      namespace,
      groups,
      expiresAt,
      by: who.name,
    })
    return { json: { token: made.token, ...tokenJson(made.row) } }
  },
})

const revoke = route({
  method: 'DELETE',
  path: '/v1/tokens/:token',
  role: 'admin',
  tag,
  status: 204,
  summary: 'Revokes a token; its sessions end with it.',
  params: z.object({ token: shapes.id }),
  handler: async ({ params, who, client: { store } }) => {
    await revokeToken(store, scopeOf(who), params.token)
    return { json: null }
  },
})

export const tokenRoutes = [list, create, revoke]
