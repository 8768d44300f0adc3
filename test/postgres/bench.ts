// What tests of the Postgres store share: the server, a schema of their own, and its clock.
import pg from 'pg'
import { describe, inject } from 'vitest'
import { randomHex, systemClock } from '../../src/clock.ts'
import { migratePostgres, openPostgres } from '../../src/store/postgres/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/index.ts'

export const key = 'a'.repeat(64)

/** As `describe`, for what needs the server; left out, with a message, where there is none. */
export const describePostgres = describe.runIf(inject('postgresUrl') !== '')

/** The shared server, with a schema of its own unless another is named. */
export function postgresUrl(schema = newSchema()): string {
  const url = new URL(inject('postgresUrl'))
  url.searchParams.set('schema', schema)
  return url.href
}

export function newSchema(): string {
  return `t_${randomHex(6)}`
}

export function schemaOf(url: string): string {
  return new URL(url).searchParams.get('schema') ?? 'counterfoil'
}

/** The same server for plain SQL, as another user if one is named. */
export function plainUrl(as?: { user: string; password: string }): string {
  const url = new URL(inject('postgresUrl'))
  if (as) [url.username, url.password] = [as.user, as.password]
  return url.href
}

/** Plain SQL, with the schema of `url` on the search path. */
export async function sql(url: string, text: string, values?: unknown[]) {
  const client = new pg.Client({ connectionString: plainUrl() })
  await client.connect()
  try {
    await client.query(`set search_path to "${schemaOf(url)}"`)
    return (await client.query(text, values)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

export const openAt = (url: string, more: { key?: string } = {}): Promise<Store> =>
  openPostgres({ url, clock: systemClock, key, ...more })

export async function dropSchema(url: string): Promise<void> {
  await sql(url, `drop schema if exists "${schemaOf(url)}" cascade`)
}

/** As new: no rows, ids from the start. Much faster than another schema. */
export async function emptySchema(url: string): Promise<void> {
  const [row] = await sql(
    url,
    `select string_agg(format('%I', tablename), ', ') as names from pg_tables
     where schemaname = $1 and tablename not in ('schema_migrations', 'meta')`,
    [schemaOf(url)],
  )
  // Rows that are final are held by triggers, which a replica's session does not fire.
  await sql(
    url,
    `set session_replication_role = replica; truncate ${row?.['names']} restart identity;
     delete from meta where name like 'key_check:%' or name like 'role:%'`,
  )
}

/** A store whose server's time is the manual clock's. */
export async function openManual(url: string, clock: ManualClock): Promise<Store> {
  await migratePostgres({ url, clock: systemClock })
  await sql(url, 'create table if not exists test_time (ms double precision)')
  await sql(
    url,
    `create or replace function now_ms() returns double precision language sql
     security definer as $$ select ms from "${schemaOf(url)}".test_time $$`,
  )
  await sql(url, 'truncate test_time')
  await sql(url, 'insert into test_time values ($1)', [clock.now()])
  const client = new pg.Client({ connectionString: plainUrl() })
  await client.connect()
  const store = await openPostgres({ url, clock, key })
  return keepTime(store, clock, client, schemaOf(url))
}

const timeless: readonly (keyof Store)[] = ['onChange', 'conceal', 'reveal']

/** Before each call the server is told what time it is. */
function keepTime(store: Store, clock: ManualClock, client: pg.Client, schema: string): Store {
  let told = clock.now()
  let telling: Promise<unknown> = Promise.resolve()
  const tell = () => {
    if (told === clock.now()) return telling
    told = clock.now()
    telling = telling.then(() => client.query(`update "${schema}".test_time set ms = ${told}`))
    return telling
  }
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      const member = target[name]
      if (typeof member !== 'function' || timeless.includes(name)) return member
      return async (...args: unknown[]) => {
        await tell()
        try {
          return await (member as (...args: unknown[]) => unknown)(...args)
        } finally {
          if (name === 'close') await client.end()
        }
      }
    },
  })
}
