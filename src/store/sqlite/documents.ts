// The server's own small rows, and what people outside must be told.
import * as limits from '../../model/limits.ts'
import type { Notice } from '../../model/run/records.ts'
import type { Document, DocumentFilter, DocumentsPort, NewDocument, Page } from '../store.ts'
import { page } from './list.ts'
import type { Connection } from './opening/connection.ts'
import type { SqlValue } from './tables.ts'
import * as tables from './tables.ts'

const ofKey = 'kind = ? and namespace = ? and document_id = ?'
const isAlive = '(expires_at is null or expires_at > ?)'
const alive = `select ${tables.documents.columns} from documents where ${ofKey} and ${isAlive}`
const drop = `delete from documents where ${ofKey} and ${isAlive} and version = ifnull(?, version)`
const endNotice = 'delete from notices where namespace = ? and notice_id = ?'

export function documents(c: Connection): DocumentsPort {
  return {
    conceal: (text) => c.sealer.conceal(text),
    reveal: (concealed) => c.sealer.reveal(concealed),
    getDocument: async (kind, namespace, id) => {
      const row = c.plain(() => c.sql(alive).get(kind, namespace, id, c.clock.now()))
      return row === undefined ? null : tables.documents.decode(row)
    },
    putDocument: async (document, ifVersion) => c.write(() => put(c, document, ifVersion)),
    deleteDocument: async (kind, namespace, id, ifVersion = undefined) => {
      const values = [kind, namespace, id, c.clock.now(), ifVersion ?? null]
      return c.plain(() => c.sql(drop).run(...values)).changes > 0
    },
    listDocuments: async (filter) => list(c, filter),
    takeNotices: async (workerId, countMax, leaseMs) => take(c, workerId, countMax, leaseMs),
    endNotice: async (namespace, noticeId) => {
      c.plain(() => c.sql(endNotice).run(namespace, noticeId))
    },
  }
}

const remove = `delete from documents where ${ofKey} and not ${isAlive}`
const add = `insert into documents (kind, namespace, document_id, version, body_json, due_at,
  expires_at, created_at, updated_at) values (?, ?, ?, 1, ?, ?, ?, ?, ?)
  on conflict (kind, namespace, document_id) do nothing`
const change = `update documents set version = version + 1, body_json = ?, due_at = ?,
  expires_at = ?, updated_at = ? where ${ofKey} and ${isAlive} and version = ?`

/** Within a transaction. */
function put(c: Connection, document: NewDocument, ifVersion: number | null): boolean {
  const { kind, namespace, id, bodyJson, dueAt, expiresAt } = document
  const now = c.clock.now()
  const key = [kind, namespace, id]
  const values = [bodyJson, dueAt, expiresAt]
  if (ifVersion !== null) {
    return c.sql(change).run(...values, now, ...key, now, ifVersion).changes > 0
  }
  c.sql(remove).run(...key, now)
  return c.sql(add).run(...key, ...values, now, now).changes > 0
}

function list(c: Connection, filter: DocumentFilter): Page<Document> {
  const { kind, namespace, dueBefore, countMax = limits.pageSize } = filter
  const where = `kind = ? and ${isAlive} ${namespace === undefined ? '' : 'and namespace = ?'}`
  const given = namespace === undefined ? [] : [namespace]
  const values: SqlValue[] = [kind, c.clock.now(), ...given]
  const columns = `select ${tables.documents.columns}, rowid from documents`
  if (dueBefore !== undefined) {
    const sql = `${columns} where ${where} and due_at <= ? order by due_at limit ?`
    const rows = c.plain(() => c.sql(sql).all(...values, dueBefore, countMax))
    return { items: rows.map(tables.documents.decode), next: null }
  }
  const sql = `${columns} where ${where} and rowid > ? order by rowid limit ?`
  return page(c, filter, 1, (after, count) => c.sql(sql).all(...values, ...after, count)).map(
    tables.documents.decode,
  )
}

const free = `select ${tables.notices.columns}, rowid from notices where taken_until <= ?
  order by rowid limit ?`
const takeOne = 'update notices set taken_by = ?, taken_until = ? where rowid = ?'

/** Looks first without the lock: most passes find nothing. */
function take(c: Connection, workerId: string, countMax: number, leaseMs: number): Notice[] {
  const now = c.clock.now()
  const look = () => c.sql(free).all(now, countMax)
  if (c.plain(look).length === 0) return []
  return c.write(() =>
    look().map((row) => {
      c.sql(takeOne).run(workerId, now + leaseMs, row.at(-1))
      return tables.notices.decode(row)
    }),
  )
}

const rowsMax = 1_000
const over = `delete from documents where rowid in (
  select rowid from documents where expires_at <= ? limit ?)`
const stale = 'delete from notices where rowid in (select rowid from notices where at <= ? limit ?)'

/** What has expired, and what nobody was there to be told of. */
export function dropDocuments(c: Connection, now: number): void {
  c.plain(() => c.sql(over).run(now, rowsMax))
  c.plain(() => c.sql(stale).run(now - limits.noticeKeepMs, rowsMax))
}
