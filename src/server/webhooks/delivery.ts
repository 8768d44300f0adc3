// One delivery: what is to be told to one receiver, and how far that is. Its id is a hash of the
// notice and the subscription: however often it is made, it is one, and it is sent under that id.

import { errorFor } from '../../model/errors.ts'
import { sha256 } from '../../model/json/canonical.ts'
import type { Notice } from '../../model/run/records.ts'
import type { Document, DocumentsPort, Timed } from '../../store/store.ts'

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export interface DeliveryBody {
  readonly webhookId: string
  readonly notice: Notice
  readonly state: DeliveryState
  readonly attempts: number
  /** How the last attempt ended, in words; null before the first. */
  readonly last: string | null
  readonly lastAt: number | null
}

export interface Delivery extends DeliveryBody {
  readonly id: string
  readonly namespace: string
  readonly version: number
  readonly dueAt: number | null
  readonly createdAt: number
}

export const kind = 'delivery'

/** How long one that has ended can be looked at. */
const keepMs = 7 * 24 * 3_600_000

export function deliveryId(notice: Notice, webhookId: string): string {
  const { namespace, noticeId } = notice
  return `msg_${sha256(JSON.stringify([namespace, noticeId, webhookId])).slice(0, 32)}`
}

/** Makes it, unless it was made before. */
export async function addDelivery(
  store: Timed<DocumentsPort>,
  notice: Notice,
  webhookId: string,
): Promise<void> {
  const { namespace } = notice
  const body: DeliveryBody = {
    webhookId,
    notice,
    state: 'waiting',
    attempts: 0,
    last: null,
    lastAt: null,
  }
  const id = deliveryId(notice, webhookId)
  const times = { dueAt: store.clock.now(), expiresAt: null }
  await store.putDocument({ kind, namespace, id, bodyJson: JSON.stringify(body), ...times }, null)
}

export function read({ id, namespace, version, dueAt, createdAt, bodyJson }: Document): Delivery {
  return { id, namespace, version, dueAt, createdAt, ...(JSON.parse(bodyJson) as DeliveryBody) }
}

/** Compare and set: of two who have it in hands one goes on. */
export async function putDelivery(
  store: Timed<DocumentsPort>,
  old: Delivery,
  change: Partial<DeliveryBody>,
  dueAt: number | null,
): Promise<Delivery | null> {
  const { id, namespace, version, createdAt, dueAt: _, ...before } = old
  const body: DeliveryBody = { ...before, ...change }
  const expiresAt = body.state === 'waiting' ? null : store.clock.now() + keepMs
  const bodyJson = JSON.stringify(body)
  const done = await store.putDocument({ kind, namespace, id, bodyJson, dueAt, expiresAt }, version)
  return done ? { id, namespace, version: version + 1, dueAt, createdAt, ...body } : null
}

/** By a person: once more from the beginning, under the same id. */
export async function retryDelivery(
  store: Timed<DocumentsPort>,
  namespace: string,
  id: string,
): Promise<Delivery> {
  const row = await store.getDocument(kind, namespace, id)
  if (row === null) throw errorFor('DELIVERY_NOT_FOUND', id)
  const change = { state: 'waiting', attempts: 0 } as const
  const made = await putDelivery(store, read(row), change, store.clock.now())
  if (made) return made
  throw errorFor('DELIVERY_BUSY', id)
}

export function deliveryJson(one: Delivery) {
  const time = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const { noticeId, kind: about, runId, itemId } = one.notice
  return {
    delivery_id: one.id,
    webhook_id: one.webhookId,
    namespace: one.namespace,
    notice_id: noticeId,
    kind: about,
    run_id: runId,
    item_id: itemId,
    state: one.state,
    attempts: one.attempts,
    last: one.last,
    last_at: time(one.lastAt),
    next_at: one.state === 'waiting' ? time(one.dueAt) : null,
    created_at: time(one.createdAt),
  }
}
