// Brings the schema up to date: numbered .sql files, applied once each, recognised by their
// checksum; then the triggers, which are made anew when their text has changed.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { readRules, rulesDue, rulesText, rulesVersion } from '../sql/rules-version.ts'
import { storeError } from './opening/errors.ts'
import { getMeta, setMeta } from './opening/meta.ts'
import { triggerTexts } from './opening/triggers.ts'

export interface Migration {
  readonly id: number
  readonly name: string
  readonly checksum: string
  readonly sql: string
}

const folder = new URL('./migrations/', import.meta.url)

export function knownMigrations(): Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{3}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const sql = readFileSync(new URL(name, folder), 'utf8').replaceAll('\r\n', '\n')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { id: Number(name.slice(0, 3)), name, checksum, sql }
    })
}

/** 'CFOI', so that `file` and we can tell such a database from another program's. */
const applicationId = 0x43464f49

/** Whether nothing was written to it yet. Throws if it is not ours. Changes nothing. */
export function isFresh(db: Database.Database, path: string, known: readonly Migration[]): boolean {
  const tables = db.prepare('select count(*) from sqlite_master').pluck().get() as number
  if (tables === 0) return true
  if (db.pragma('application_id', { simple: true }) !== applicationId) {
    const says =
      'this is a SQLite database of another program; nothing was changed; name another file'
    throw storeError('STORE_NOT_A_DATABASE', path, { says })
  }
  checkApplied(db, path, known)
  return false
}

function checkApplied(
  db: Database.Database,
  path: string,
  known: readonly Migration[],
): Set<number> {
  const rows = db.prepare('select id, name, checksum from schema_migrations').all() as Migration[]
  for (const row of rows) {
    const mine = known.find((migration) => migration.id === row.id)
    if (mine === undefined) throw storeError('STORE_NEWER', path)
    if (mine.checksum !== row.checksum) {
      const says =
        `migration ${row.name} has changed since it was applied; nothing was ` +
        'changed; install an unmodified Counterfoil'
      throw storeError('STORE_MIGRATION_CHANGED', path, { says })
    }
  }
  return new Set(rows.map((row) => row.id))
}

/** Applies what is missing, under the write lock: another process may have been first. */
export function migrate(
  db: Database.Database,
  path: string,
  known: readonly Migration[],
  now: number,
): void {
  const fresh = isFresh(db, path, known)
  const applied = fresh ? new Set<number>() : checkApplied(db, path, known)
  for (const { id, name, checksum, sql } of known) {
    if (applied.has(id)) continue
    db.exec(sql)
    db.prepare(
      'insert into schema_migrations (id, name, checksum, applied_at) values (?, ?, ?, ?)',
    ).run(id, name, checksum, now)
  }
  makeTriggers(db)
  if (fresh) db.pragma(`application_id = ${applicationId}`)
}

const ours = `select name from sqlite_master where type = 'trigger'
  and (sql like '%row is final:%' or name = 'tool_call_results_first')`

function makeTriggers(db: Database.Database): void {
  const texts = triggerTexts()
  const checksum = createHash('sha256').update(texts.join('\n')).digest('hex')
  if (!rulesDue(readRules(getMeta(db, 'rules')), checksum)) return
  for (const name of db.prepare(ours).pluck().all()) db.exec(`drop trigger "${name}"`)
  for (const text of texts) db.exec(text)
  setMeta(db, 'rules', rulesText({ version: rulesVersion, checksum }))
}
