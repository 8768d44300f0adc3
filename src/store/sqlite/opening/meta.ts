// Names and values that describe the file itself.
import type Database from 'better-sqlite3'

export function getMeta(db: Database.Database, name: string): string | null {
  const row = db.prepare('select value from meta where name = ?').raw(true).get(name)
  return row === undefined ? null : ((row as unknown[])[0] as string)
}

export function setMeta(db: Database.Database, name: string, value: string): void {
  db.prepare(
    `insert into meta (name, value) values (?, ?)
     on conflict (name) do update set value = excluded.value`,
  ).run(name, value)
}

const keyPrefix = 'key_check:'

/** The check value of every key that rows may be signed with, by the key's id. */
export function keyChecks(db: Database.Database): Map<string, string> {
  const rows = db
    .prepare('select name, value from meta where name glob ? order by rowid')
    .raw(true)
    .all(`${keyPrefix}*`) as [string, string][]
  return new Map(rows.map(([name, value]) => [name.slice(keyPrefix.length), value]))
}

export function setKeyCheck(db: Database.Database, id: string, check: string): void {
  setMeta(db, keyPrefix + id, check)
}
