// The server's own small rows, and what people outside must be told.
import { randomHex } from '../../clock.ts'
import * as limits from '../../model/limits.ts'
import type { Notice } from '../../model/run/records.ts'
import { createSealer } from '../seal.ts'
import type { Document, DocumentFilter, DocumentsPort, NewDocument, Page } from '../store.ts'
import { paged } from '../whole-runs/lists.ts'
import type { Data } from './data.ts'

const keyOf = (kind: string, namespace: string, id: string) => JSON.stringify([kind, namespace, id])
const noticeKey = (namespace: string, noticeId: string) => JSON.stringify([namespace, noticeId])

export function documents(data: Data): DocumentsPort {
  // Nothing here outlives the process, so its key need not.
  const sealer = createSealer([{ id: 'memory', secret: Buffer.from(randomHex(32), 'hex') }])
  return {
    conceal: (text) => sealer.conceal(text),
    reveal: (concealed) => sealer.reveal(concealed),
    getDocument: async (kind, namespace, id) => find(data, keyOf(kind, namespace, id)),
    putDocument: async (document, ifVersion) => put(data, document, ifVersion),
    deleteDocument: async (kind, namespace, id, ifVersion) => {
      const key = keyOf(kind, namespace, id)
      const found = find(data, key)
      if (found === null || found.version !== (ifVersion ?? found.version)) return false
      return data.documents.delete(key)
    },
    listDocuments: async (filter) => list(data, filter),
    takeNotices: async (_workerId, countMax, leaseMs) => take(data, countMax, leaseMs),
    endNotice: async (namespace, noticeId) => {
      data.notices.delete(noticeKey(namespace, noticeId))
    },
  }
}

function isOver(data: Data, { expiresAt }: Document): boolean {
  return expiresAt !== null && expiresAt <= data.clock.now()
}

function find(data: Data, key: string): Document | null {
  const found = data.documents.get(key)
  return found === undefined || isOver(data, found) ? null : found
}

function put(data: Data, document: NewDocument, ifVersion: number | null): boolean {
  const { kind, namespace, id, bodyJson, dueAt, expiresAt } = document
  const key = keyOf(kind, namespace, id)
  const old = find(data, key)
  if ((old?.version ?? null) !== ifVersion) return false
  const now = data.clock.now()
  const times = { createdAt: old?.createdAt ?? now, updatedAt: now }
  // A new one is the last in the order of making.
  if (old === null) data.documents.delete(key)
  const version = (ifVersion ?? 0) + 1
  data.documents.set(key, { kind, namespace, id, version, bodyJson, dueAt, expiresAt, ...times })
  return true
}

function list(data: Data, filter: DocumentFilter): Page<Document> {
  const { kind, namespace, dueBefore, countMax = limits.pageSize } = filter
  const rows = [...data.documents.values()].filter(
    (row) =>
      row.kind === kind &&
      (namespace === undefined || row.namespace === namespace) &&
      !isOver(data, row),
  )
  if (dueBefore === undefined) return paged(rows, filter)
  const due = rows
    .flatMap((row) =>
      row.dueAt !== null && row.dueAt <= dueBefore ? [{ row, at: row.dueAt }] : [],
    )
    .sort((a, b) => a.at - b.at)
  return { items: due.slice(0, countMax).map(({ row }) => row), next: null }
}

export function addNotice(data: Data, notice: Notice): void {
  const key = noticeKey(notice.namespace, notice.noticeId)
  if (!data.notices.has(key)) data.notices.set(key, { notice, takenUntil: 0 })
}

function take(data: Data, countMax: number, leaseMs: number): Notice[] {
  const now = data.clock.now()
  const free = [...data.notices].filter(([, { takenUntil }]) => takenUntil <= now)
  return free.slice(0, countMax).map(([key, { notice }]) => {
    data.notices.set(key, { notice, takenUntil: now + leaseMs })
    return notice
  })
}

/** What has expired, and what nobody was there to be told of. */
export function dropDocuments(data: Data): void {
  for (const [key, row] of data.documents) if (isOver(data, row)) data.documents.delete(key)
  const before = data.clock.now() - limits.noticeKeepMs
  for (const [key, { notice }] of data.notices) if (notice.at <= before) data.notices.delete(key)
}
