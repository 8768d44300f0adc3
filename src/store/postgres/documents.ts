// The server's own small rows, and what people outside must be told; the rules are
// functions/07_server.sql.
import * as limits from '../../model/limits.ts'
import type { Document, DocumentFilter, DocumentsPort, Page } from '../store.ts'
import { conditions, selectPage } from './list.ts'
import type { Connection } from './opening/connection.ts'
import * as tables from './tables.ts'

export function documents(c: Connection): DocumentsPort {
  return {
    conceal: (text) => c.keys.sealer.conceal(text),
    reveal: (concealed) => c.keys.sealer.reveal(concealed),
    getDocument: async (kind, namespace, id) => {
      const [row] = await c.query(
        `select ${tables.documents.columns} from ${c.schema}.documents
         where kind = $1 and namespace = $2 and document_id = $3 and ${isAlive(c)}`,
        [kind, namespace, id],
      )
      return row === undefined ? null : tables.documents.decode(row)
    },
    putDocument: ({ kind, namespace, id, bodyJson, dueAt, expiresAt }, ifVersion) =>
      c.ask('put_document', [kind, namespace, id, bodyJson, dueAt, expiresAt, ifVersion]),
    deleteDocument: (kind, namespace, id, ifVersion) =>
      c.ask('delete_document', [kind, namespace, id, ifVersion ?? null]),
    listDocuments: (filter) => list(c, filter),
    takeNotices: async (workerId, countMax, leaseMs) => {
      const rows = await c.call('take_notices', [workerId, countMax, leaseMs])
      return rows.map(tables.notices.decode)
    },
    endNotice: async (namespace, noticeId) => {
      await c.call('end_notice', [namespace, noticeId])
    },
  }
}

const isAlive = (c: Connection) => `(expires_at is null or expires_at > ${c.schema}.now_ms())`

async function list(c: Connection, filter: DocumentFilter): Promise<Page<Document>> {
  const { kind, namespace, dueBefore, countMax = limits.pageSize } = filter
  const where = conditions({ kind, namespace })
  const from = `select ${tables.documents.columns}, id from ${c.schema}.documents
    where ${where.text} and ${isAlive(c)}`
  if (dueBefore !== undefined) {
    const due = `and due_at <= ${where.mark(dueBefore)} order by due_at`
    const rows = await c.query(`${from} ${due} limit ${where.mark(countMax)}`, where.values)
    return { items: rows.map(tables.documents.decode), next: null }
  }
  const page = await selectPage(c, filter, ['id'], (after) => {
    const next = after === null ? '' : `and id > ${where.mark(after)}`
    return [`${from} ${next} order by id`, where.values]
  })
  return { items: page.rows.map(tables.documents.decode), next: page.next }
}
