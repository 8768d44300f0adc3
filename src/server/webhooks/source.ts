// Who may send webhooks here: named sources with secrets, two of them while one is being replaced.
import { randomHex } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import { rowsOf } from '../../store/pages.ts'
import type { Document, DocumentsPort, Timed } from '../../store/store.ts'
import { newSigningSecret } from './signature.ts'

export const sourceActs = ['decision', 'signal', 'callback'] as const
export type SourceAct = (typeof sourceActs)[number]

export interface Source {
  readonly id: string
  readonly namespace: string
  readonly name: string
  /** What it may send. */
  readonly acts: readonly SourceAct[]
  /** It knows who its people are: the `by` of what it sends is believed. */
  readonly trustsBy: boolean
  /** What it counts as where only some may decide. */
  readonly claims: readonly string[]
  readonly by: string
  readonly createdAt: number
}

interface Body extends Omit<Source, 'id' | 'createdAt'> {
  readonly secrets: readonly { readonly secret: string; readonly until: number | null }[]
}

/** How long the secret before the last still verifies. */
export const rotateMs = 24 * 3_600_000

// Of no namespace: a request is verified before it is known whose it is.
const place = ['source', ''] as const

export type NewSource = Pick<Source, 'namespace' | 'name' | 'by'> &
  Partial<Pick<Source, 'acts' | 'trustsBy' | 'claims'>>

export async function addSource(
  store: Timed<DocumentsPort>,
  said: NewSource,
): Promise<{ source: Source; secret: string }> {
  const { namespace, name, by, acts = sourceActs, trustsBy = false, claims = [] } = said
  const secret = newSigningSecret()
  const shown = { namespace, name, acts, trustsBy, claims, by }
  const secrets = [{ secret: store.conceal(secret), until: null }]
  const id = `src_${randomHex(12)}`
  await put(store, id, { ...shown, secrets }, null)
  return { source: { id, ...shown, createdAt: store.clock.now() }, secret }
}

function put(
  store: Timed<DocumentsPort>,
  id: string,
  body: Body,
  ifVersion: number | null,
): Promise<boolean> {
  const [kind, namespace] = place
  const times = { dueAt: null, expiresAt: null }
  const bodyJson = JSON.stringify(body)
  return store.putDocument({ kind, namespace, id, bodyJson, ...times }, ifVersion)
}

function read({ id, bodyJson, createdAt }: Document): Source {
  const { secrets: _, ...body } = JSON.parse(bodyJson) as Body
  return { id, ...body, createdAt }
}

/** With every secret that verifies now; null if there is none with this id. */
export async function findSource(
  store: Timed<DocumentsPort>,
  id: string,
): Promise<{ source: Source; secrets: string[] } | null> {
  const row = await store.getDocument(...place, id)
  if (row === null) return null
  const now = store.clock.now()
  const { secrets } = JSON.parse(row.bodyJson) as Body
  const live = secrets.filter(({ until }) => until === null || until > now)
  return { source: read(row), secrets: live.flatMap(({ secret }) => store.reveal(secret) ?? []) }
}

export async function listSources(
  store: Timed<DocumentsPort>,
  namespace: string,
): Promise<Source[]> {
  const rows: Source[] = []
  for await (const row of rowsOf((page) => store.listDocuments({ kind: 'source', ...page }))) {
    const source = read(row)
    if (source.namespace === namespace) rows.push(source)
  }
  return rows
}

/** A new secret; the last one verifies for a day, so that the sender can change over. */
export async function rotateSource(
  store: Timed<DocumentsPort>,
  namespace: string,
  id: string,
): Promise<string> {
  const row = await own(store, namespace, id)
  const body = JSON.parse(row.bodyJson) as Body
  const secret = newSigningSecret()
  const [last] = body.secrets
  const until = store.clock.now() + rotateMs
  const secrets = [
    { secret: store.conceal(secret), until: null },
    ...(last ? [{ secret: last.secret, until }] : []),
  ]
  if (await put(store, id, { ...body, secrets }, row.version)) return secret
  throw errorFor('SOURCE_BUSY', id)
}

export async function removeSource(
  store: Timed<DocumentsPort>,
  namespace: string,
  id: string,
): Promise<void> {
  await own(store, namespace, id)
  await store.deleteDocument(...place, id)
}

async function own(store: Timed<DocumentsPort>, namespace: string, id: string): Promise<Document> {
  const row = await store.getDocument(...place, id)
  if (row && read(row).namespace === namespace) return row
  throw errorFor('SOURCE_NOT_FOUND', id)
}

export function sourceJson(one: Source) {
  return {
    source_id: one.id,
    namespace: one.namespace,
    name: one.name,
    acts: one.acts,
    trusts_by: one.trustsBy,
    claims: one.claims,
    by: one.by,
    created_at: new Date(one.createdAt).toISOString(),
  }
}
