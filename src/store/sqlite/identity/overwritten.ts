// Whether the files that this process has open still hold what it has written (I12). Written over
// in place, a database and its log keep their names and inodes, and SQLite goes on with the pages
// it has in memory; who opens them later finds the old state. So the count is read again by a
// connection that remembers nothing. Every transaction writes it: it is where the last one is.
import Database from 'better-sqlite3'
import type { Connection } from '../opening/connection.ts'

const count = "select value from meta where name = 'commits'"
/** What such a read ends with when pages belong to different times. */
const torn = /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/

/** Null, or a sentence for people: for good, as nothing that is written from then on is kept. */
export function overwrittenSince(c: Connection): string | null {
  if (c.lost !== null || c.witness === null || c.place === null) return c.lost
  // In this order: the count may grow in between, and must not seem to be behind then.
  const seen = c.witness.read()
  if (seen.kind !== 'count') return null
  const there = countAnew(c.path)
  if (there === null || there >= seen.count) return null
  c.lost =
    `what was written to ${c.path} is not in it any more: the database, or it and its log, was ` +
    'written over while this process had it open, and nothing more is sent. Stop all its ' +
    'processes, put the right files there, run `counterfoil store adopt`, and start again'
  return c.lost
}

/** Null where nothing can be said. */
function countAnew(path: string): number | null {
  try {
    const db = new Database(path, { readonly: true, fileMustExist: true })
    try {
      return Number(db.prepare(count).pluck().get() ?? 0)
    } finally {
      db.close()
    }
  } catch (error) {
    return torn.test((error as { code?: string }).code ?? '') ? -1 : null
  }
}
