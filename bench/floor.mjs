// The raw floor: one single-row insert commit, same process, driver and settings, on a WAL that has
// been checkpointed past 1,000 pages already.
import Database from 'better-sqlite3'

export function openFloor(/** @type {string} */ path) {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('create table floor (id integer primary key, body text)')
  const insert = db.prepare('insert into floor (body) values (?)')
  const body = 'x'.repeat(100)
  for (let i = 0; i < 1_500; i++) insert.run(body)
  return {
    /** Microseconds for one commit, over `count` of them. */
    measure(/** @type {number} */ count) {
      const from = process.hrtime.bigint()
      for (let i = 0; i < count; i++) insert.run(body)
      return Number(process.hrtime.bigint() - from) / 1_000 / count
    },
    close: () => db.close(),
  }
}
