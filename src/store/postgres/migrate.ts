// Brings the schema up to date: numbered .sql files, applied once each, recognised by their
// checksum; then functions, views and triggers, made anew when their text has changed. All in one
// transaction under a lock of their own; workers may go on meanwhile.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { pause, randomHex } from '../../clock.ts'
import { isCounterfoilError } from '../../model/errors.ts'
import { readRules, rulesDue, rulesText, rulesVersion } from '../sql/rules-version.ts'
import { knownRules } from './functions.ts'
import type { Connection, Query } from './opening/connection.ts'
import { storeError } from './opening/errors.ts'
import { grantAgain } from './opening/roles.ts'

export interface Migration {
  readonly id: number
  readonly name: string
  readonly checksum: string
  readonly sql: string
}

export interface SchemaStatus {
  readonly schema: string
  readonly applied: readonly string[]
  readonly pending: readonly string[]
}

export interface Migrated extends SchemaStatus {
  /** What was applied just now. */
  readonly added: readonly string[]
}

const folder = new URL('./migrations/', import.meta.url)
/** An index over many rows takes its time. */
const migrateMs = 3_600_000
// A change of a table waits for those who use it, and who comes after waits for the change. So it
// gives up soon, lets them pass, and tries again.
const lockMs = 2_000
const triesMax = 15
const betweenMs = 500

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

/** What is applied and what is missing. Throws if it is not ours to use. Changes nothing. */
export async function schemaStatus(c: Connection, query: Query): Promise<SchemaStatus> {
  const known = knownMigrations()
  const table = `${c.schema}.schema_migrations`
  const [there] = await query('select to_regclass($1) is not null as made', [table])
  const rows = there?.['made'] ? await query(`select * from ${table} order by id`) : []
  for (const row of rows) {
    const mine = known.find((migration) => migration.id === row['id'])
    if (mine === undefined) throw storeError('STORE_NEWER', c.url)
    if (mine.checksum === row['checksum']) continue
    const says =
      `migration ${row['name']} has changed since it was applied; nothing was ` +
      'changed; install an unmodified Counterfoil'
    throw storeError('STORE_MIGRATION_CHANGED', c.url, { says })
  }
  const done = new Set(rows.map((row) => row['id']))
  const due = await areRulesDue(c, query, rows.length > 0)
  const missing = known.filter(({ id }) => !done.has(id)).map(({ name }) => name)
  return {
    schema: c.location.schema,
    applied: [...rows.map((row) => row['name'] as string), ...(due ? [] : [rulesName])],
    pending: [...missing, ...(due ? [rulesName] : [])],
  }
}

/** How functions, views and triggers are called among what is applied and pending. */
export const rulesName = 'functions'

async function areRulesDue(c: Connection, query: Query, made: boolean): Promise<boolean> {
  const read = `select value from ${c.schema}.meta where name = 'rules'`
  const [row] = made ? await query(read) : []
  return rulesDue(readRules((row?.['value'] as string | undefined) ?? null), knownRules().checksum)
}

const ours = `select t.tgname as name, t.tgrelid::regclass::text as on_table
  from pg_trigger t join pg_proc p on p.oid = t.tgfoid
  join pg_namespace n on n.oid = p.pronamespace
  where not t.tgisinternal and p.proname = 'refuse' and n.nspname = $1`

async function makeRules(c: Connection, query: Query): Promise<void> {
  const { checksum, functions, triggers } = knownRules()
  for (const text of functions) await query(text, [], migrateMs)
  for (const { name, on_table: table } of await query(ours, [c.location.schema])) {
    await query(`drop trigger ${name} on ${table}`)
  }
  for (const text of triggers) await query(text)
  await query(
    `insert into meta (name, value) values ('rules', $1)
     on conflict (name) do update set value = excluded.value`,
    [rulesText({ version: rulesVersion, checksum })],
  )
}

/** Whether this role may make tables here; a worker's may not. */
export async function mayMigrate(c: Connection): Promise<boolean> {
  const [row] = await c.query(
    `select coalesce(
       (select has_schema_privilege(oid, 'create') from pg_namespace where nspname = $1),
       has_database_privilege(current_database(), 'create')) as may`,
    [c.location.schema],
  )
  return row?.['may'] === true
}

/** Applies what is missing; another process may have been first. */
export async function migrateSchema(c: Connection): Promise<Migrated> {
  for (let tries = 1; ; tries++) {
    try {
      return await holdingLock(c, (query) => migrateOnce(c, query))
    } catch (error) {
      if (!isCounterfoilError(error, 'STORE_BUSY') || tries === triesMax) throw error
      await pause(c.clock, betweenMs)
    }
  }
}

/** One at a time for a schema; another migration is waited for, however long it takes. */
export function holdingLock<T>(c: Connection, fn: (query: Query) => Promise<T>): Promise<T> {
  return c.transaction(async (query) => {
    await query('set local statement_timeout = 0; set local lock_timeout = 0')
    const name = `counterfoil:${c.location.schema}`
    await query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name], migrateMs)
    await query(`set local lock_timeout = ${lockMs}`)
    return fn(query)
  })
}

async function migrateOnce(c: Connection, query: Query): Promise<Migrated> {
  await makeSchema(c, query)
  const { pending } = await schemaStatus(c, query)
  await query(`set local search_path to ${c.schema}, pg_temp`)
  for (const { id, name, checksum, sql } of knownMigrations()) {
    if (!pending.includes(name)) continue
    await query(sql, [], migrateMs)
    await query(
      `insert into schema_migrations (id, name, checksum, applied_at)
       values ($1, $2, $3, now())`,
      [id, name, checksum],
    )
  }
  if (pending.includes(rulesName)) await makeRules(c, query)
  if (pending.length > 0) await signIn(c, query)
  return { ...(await schemaStatus(c, query)), added: pending }
}

async function makeSchema(c: Connection, query: Query): Promise<void> {
  const { schema } = c.location
  const [there] = await query('select 1 from pg_namespace where nspname = $1', [schema])
  if (there === undefined) await query(`create schema ${c.schema}`)
  await query(
    `create table if not exists ${c.schema}.schema_migrations (
       id bigint primary key, name text not null, checksum text not null,
       applied_at timestamptz not null)`,
  )
}

/** What a new database is given; and nobody but who is granted it may call anything. */
async function signIn(c: Connection, query: Query): Promise<void> {
  await query(
    `insert into meta (name, value) values ('store_id', $1), ('incarnation', incarnation())
     on conflict do nothing`,
    [randomHex(16)],
  )
  await query(`revoke all on all functions in schema ${c.schema} from public`)
  await grantAgain(query, c.schema)
}
