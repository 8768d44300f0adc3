// Who is told of what: rows of the server's own. The signing secret is shown once, when it is made,
// and lies in the store encrypted.
import { randomHex } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { NoticeKind } from '../../model/run/records.ts'
import { rowsOf } from '../../store/pages.ts'
import type { Document, DocumentsPort, Timed } from '../../store/store.ts'
import { checkLiteral } from './address.ts'
import { newSigningSecret } from './signature.ts'

export const noticeKinds = ['waiting_human', 'doubt', 'sla_passed', 'run_failed'] as const

export const formats = ['standard', 'slack'] as const
export type Format = (typeof formats)[number]

export interface Subscription {
  readonly id: string
  readonly namespace: string
  readonly url: string
  readonly kinds: readonly NoticeKind[]
  /** Only items of these queues; all, if it is null. */
  readonly queues: readonly string[] | null
  readonly format: Format
  /** Whose decisions the links in it make; null for no such links. */
  readonly linksFor: string | null
  readonly allowPrivate: boolean
  readonly by: string
  readonly createdAt: number
}

export type NewSubscription = Pick<Subscription, 'namespace' | 'url' | 'by'> &
  Partial<Pick<Subscription, 'kinds' | 'queues' | 'format' | 'linksFor' | 'allowPrivate'>>

interface Body extends Omit<Subscription, 'id' | 'namespace' | 'createdAt'> {
  readonly secret: string
}

const kind = 'webhook'

export async function addSubscription(
  store: Timed<DocumentsPort>,
  said: NewSubscription,
): Promise<{ subscription: Subscription; secret: string }> {
  const { namespace, by, url, queues = null, linksFor = null, allowPrivate = false } = said
  const { kinds = noticeKinds, format = 'standard' } = said
  checkUrl(url, allowPrivate)
  const id = `wh_${randomHex(12)}`
  const secret = newSigningSecret()
  const shown = { url: new URL(url).href, kinds, queues, format, linksFor, allowPrivate, by }
  const body: Body = { ...shown, secret: store.conceal(secret) }
  const bodyJson = JSON.stringify(body)
  await store.putDocument({ kind, namespace, id, bodyJson, dueAt: null, expiresAt: null }, null)
  return { subscription: { id, namespace, ...shown, createdAt: store.clock.now() }, secret }
}

/** HTTPS, unless it goes to a network that was allowed by name. */
function checkUrl(url: string, allowPrivate: boolean): void {
  const bad = (what: string) => errorFor('WEBHOOK_INVALID', what)
  if (!URL.canParse(url) || url.length > 2_048) throw bad('`url` must be a URL')
  const { protocol, username, password, hostname } = new URL(url)
  if (protocol !== 'https:' && !(protocol === 'http:' && allowPrivate)) {
    throw bad('`url` must begin with https://; http:// needs allow_private')
  }
  if (username !== '' || password !== '') throw bad('`url` must not contain a name or a password')
  checkLiteral(hostname, { allowPrivate })
}

function read({ id, namespace, bodyJson, createdAt }: Document): Subscription {
  const { secret: _, ...body } = JSON.parse(bodyJson) as Body
  return { id, namespace, ...body, createdAt }
}

export async function listSubscriptions(
  store: Timed<DocumentsPort>,
  namespace: string,
): Promise<Subscription[]> {
  const rows: Subscription[] = []
  for await (const row of rowsOf((page) => store.listDocuments({ kind, namespace, ...page }))) {
    rows.push(read(row))
  }
  return rows
}

/** With the secret that it is signed with; null if there is none, or none of ours. */
export async function findSubscription(
  store: Timed<DocumentsPort>,
  namespace: string,
  id: string,
): Promise<{ subscription: Subscription; secret: string } | null> {
  const row = await store.getDocument(kind, namespace, id)
  if (row === null) return null
  const secret = store.reveal((JSON.parse(row.bodyJson) as Body).secret)
  return secret === null ? null : { subscription: read(row), secret }
}

export async function removeSubscription(
  store: Timed<DocumentsPort>,
  namespace: string,
  id: string,
) {
  if (await store.deleteDocument(kind, namespace, id)) return
  throw errorFor('WEBHOOK_NOT_FOUND', id)
}

export function subscriptionJson(one: Subscription) {
  return {
    webhook_id: one.id,
    namespace: one.namespace,
    url: one.url,
    kinds: one.kinds,
    queues: one.queues,
    format: one.format,
    links_for: one.linksFor,
    allow_private: one.allowPrivate,
    by: one.by,
    created_at: new Date(one.createdAt).toISOString(),
  }
}
