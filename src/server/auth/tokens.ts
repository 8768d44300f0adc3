// Tokens: made once, shown once, kept as hashes.
import { errorFor } from '../../model/errors.ts'
import { isName } from '../../model/name.ts'
import { rowsOf } from '../../store/pages.ts'
import type { Document, DocumentsPort, Timed } from '../../store/store.ts'
import { type Role, roles } from './principal.ts'
import { format, matches, newSecret, parseSecret } from './secret.ts'

export interface Token {
  readonly id: string
  readonly name: string
  readonly role: Role
  /** One namespace, or `*`. */
  readonly namespace: string
  /** What approvals may ask for: `finance`, `legal`. */
  readonly groups: readonly string[]
}

interface Body extends Omit<Token, 'id'> {
  readonly hash: string
  readonly by: string
}

export interface NewToken {
  readonly name: string
  readonly role: Role
  readonly namespace: string
  readonly groups?: readonly string[]
  readonly by: string
  readonly expiresAt?: number | null
}

export type TokenRow = Token & Pick<Document, 'createdAt' | 'expiresAt'> & { by: string }

// Of no namespace: a token is found before it is known whose it is.
const place = ['token', ''] as const

export async function createToken(
  store: Timed<DocumentsPort>,
  request: NewToken,
): Promise<{ token: string; row: TokenRow }> {
  checkToken(request)
  const { name, role, namespace, groups = [], by, expiresAt = null } = request
  const made = newSecret()
  const body: Body = { name, role, namespace, groups, by, hash: made.hash }
  const [kind, home] = place
  const row = { kind, namespace: home, id: made.id, bodyJson: JSON.stringify(body) }
  await store.putDocument({ ...row, dueAt: null, expiresAt }, null)
  const createdAt = store.clock.now()
  const shown = { id: made.id, name, role, namespace, groups, by, createdAt, expiresAt }
  return { token: format('cf', made), row: shown }
}

function checkToken({ name, role, namespace, groups = [] }: NewToken): void {
  const bad = (what: string) => errorFor('TOKEN_INVALID', what)
  const usable = typeof name === 'string' && name.trim() !== '' && name.length <= nameLengthMax
  // What cannot be seen could make one name look like another's.
  if (!usable || /\p{Cc}|\p{Cf}|\p{Cs}/u.test(name))
    throw bad('it needs a name of 1 to 100 plain characters')
  if (name === 'counterfoil' || name.startsWith('hook:')) {
    throw bad('choose another name: this one is reserved for the machine, or for a webhook')
  }
  if (!roles.includes(role)) throw bad(`it needs a role: ${roles.join(', ')}`)
  if (namespace !== '*' && !isName(namespace)) throw bad('it needs a namespace, or *')
  if (groups.length > groupsMax || !groups.every(isName)) {
    throw bad('groups: letters, digits, _ . : - and at most 50 of them')
  }
}

const nameLengthMax = 100
const groupsMax = 50

/** The token that a text is, if it is right and neither revoked nor expired. */
export async function findToken(
  store: Timed<DocumentsPort>,
  text: string | undefined,
): Promise<Token | null> {
  const said = parseSecret('cf', text)
  if (said === null) return null
  const found = await store.getDocument(...place, said.id)
  const body = found && (JSON.parse(found.bodyJson) as Body)
  if (!matches(said.secret, body?.hash ?? null) || body === null) return null
  const { name, role, namespace, groups } = body
  return { id: said.id, name, role, namespace, groups }
}

/** Those of one namespace; of all for `*`. */
export async function listTokens(
  store: Timed<DocumentsPort>,
  namespace: string,
): Promise<TokenRow[]> {
  const rows: TokenRow[] = []
  for await (const row of rowsOf((page) => store.listDocuments({ kind: 'token', ...page }))) {
    const { hash: _, ...body } = JSON.parse(row.bodyJson) as Body
    const { id, createdAt, expiresAt } = row
    if (namespace === '*' || body.namespace === namespace) {
      rows.push({ id, ...body, createdAt, expiresAt })
    }
  }
  return rows
}

/** Its sessions end with it. */
export async function revokeToken(
  store: Timed<DocumentsPort>,
  namespace: string,
  id: string,
): Promise<void> {
  const found = await store.getDocument(...place, id)
  const body = found && (JSON.parse(found.bodyJson) as Body)
  const own = body !== null && (namespace === '*' || body.namespace === namespace)
  if (own && (await store.deleteDocument(...place, id))) return
  throw errorFor('TOKEN_NOT_FOUND', id)
}

export function tokenJson({ id, name, role, namespace, groups, by, ...times }: TokenRow) {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const { createdAt, expiresAt } = times
  return {
    token_id: id,
    name,
    role,
    namespace,
    groups,
    created_by: by,
    created_at: iso(createdAt),
    expires_at: iso(expiresAt),
  }
}
