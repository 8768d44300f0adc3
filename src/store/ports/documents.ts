// The port that the server needs: small rows of its own, and the outbox of what
// people outside must be told.
import type { Notice } from '../../model/run/records.ts'
import type { ListRequest, Page } from './page.ts'

/** A small row of the server's own: a token, a session, an answer that was given. */
export interface Document {
  readonly kind: string
  readonly namespace: string
  readonly id: string
  readonly version: number
  readonly bodyJson: string
  /** When somebody has to look at it. */
  readonly dueAt: number | null
  /** From then on it is as if it were not there. */
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

export type NewDocument = Pick<
  Document,
  'kind' | 'namespace' | 'id' | 'bodyJson' | 'dueAt' | 'expiresAt'
>

/** With `dueBefore`: those that are due, the longest first, in one page. */
export interface DocumentFilter extends Partial<ListRequest> {
  readonly kind: string
  readonly dueBefore?: number
}

export interface DocumentsPort {
  /** A secret that has to be read again (a webhook's), as it may lie in a document. */
  conceal(text: string): string
  /** Null for what no key of this store has concealed. */
  reveal(concealed: string): string | null
  getDocument(kind: string, namespace: string, id: string): Promise<Document | null>
  /**
   * Compare and set; the new version is one more. `ifVersion` null: only if there is none; one that
   * has expired counts as none.
   */
  putDocument(document: NewDocument, ifVersion: number | null): Promise<boolean>
  /** False if there is none, or none of this version. */
  deleteDocument(kind: string, namespace: string, id: string, ifVersion?: number): Promise<boolean>
  listDocuments(filter: DocumentFilter): Promise<Page<Document>>
  /** Notices that nobody has taken, or whose taker let `leaseMs` pass; the oldest first. */
  takeNotices(workerId: string, countMax: number, leaseMs: number): Promise<Notice[]>
  /** All that had to be done about it is done, or on record elsewhere. */
  endNotice(namespace: string, noticeId: string): Promise<void>
}
