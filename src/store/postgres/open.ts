// Opens the database: looks first, changes nothing until it is known to be usable and durable (I8),
// then migrates if this role may, and signs in.
import type { Clock } from '../../clock.ts'
import { Connection, type Query } from './connection.ts'
import { createPool, isRefusedSetting, loadDriver, type Settings } from './driver.ts'
import { storeError } from './errors.ts'
import { openKeys, requireKey } from './key.ts'
import { locate } from './location.ts'
import { mayMigrate, migrateSchema, type SchemaStatus, schemaStatus } from './migrate.ts'
import { createRoles, type Roles } from './roles.ts'
import { ServerClock } from './server-clock.ts'

export interface PostgresOptions {
  /** `postgres://…`, with `?schema=` and `?pool=` of our own. */
  url: string
  clock: Clock
  /** 64 hex digits, or several such with commas; the last signs. */
  key?: string
}

export interface Opened {
  readonly c: Connection
  readonly settings: Settings
  readonly caveats: readonly string[]
}

export async function openConnection(options: PostgresOptions): Promise<Opened> {
  const { url } = locate(options.url)
  const key = requireKey(url, options.key)
  const { c, settings } = await connect(options)
  try {
    const caveats = await checkServer(c)
    await bringUpToDate(c)
    c.keys = await openKeys(c, key)
    for (let i = 0; i < 3; i++) await c.measure()
    return { c, settings, caveats }
  } catch (error) {
    await c.close()
    throw error
  }
}

type Where = Pick<PostgresOptions, 'url' | 'clock'>

async function connect({ url, clock }: Where): Promise<{ c: Connection; settings: Settings }> {
  const location = locate(url)
  const driver = await loadDriver()
  const to = (settings: Settings) =>
    new Connection(createPool(driver, settings, location), location, new ServerClock(clock))
  const settings = { connectionString: location.connectionString, asks: true }
  const c = to(settings)
  try {
    await c.query('select 1')
    return { c, settings }
  } catch (error) {
    await c.close()
    if (!isRefusedSetting((error as Error).cause)) throw error
  }
  const bare = { ...settings, asks: false }
  return { c: to(bare), settings: bare }
}

const versionMin = 140_000

/** Throws if it cannot be used; answers what it does not promise. */
async function checkServer(c: Connection): Promise<string[]> {
  const [row] = await c.query(
    `select current_setting('server_version_num')::int as version,
       current_setting('server_version') as shown, current_setting('server_encoding') as encoding,
       current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
       pg_is_in_recovery() as standby`,
  )
  const unfit = (says: string) => storeError('STORE_UNFIT', c.url, { says })
  if ((row?.['version'] as number) < versionMin) {
    throw unfit(`the server is Postgres ${row?.['shown']}; it has to be 14 or newer`)
  }
  if (row?.['encoding'] !== 'UTF8') {
    throw unfit(`the database's encoding is ${row?.['encoding']}; create one with -E UTF8`)
  }
  if (row?.['standby'] === true) {
    const says = 'the server is a standby, which cannot be written; name the primary'
    throw storeError('STORE_UNREACHABLE', c.url, { says })
  }
  if (row?.['fsync'] !== 'on') {
    const says =
      'it does not keep what it acknowledges: the server runs with fsync = off; set it to on ' +
      'and restart the server'
    throw storeError('STORE_NOT_DURABLE', c.url, { says })
  }
  if (row?.['pages'] === 'on') return []
  return [
    `store ${c.url}: the server runs with full_page_writes = off: a power cut can damage it ` +
      'beyond repair unless its file system writes pages whole',
  ]
}

async function bringUpToDate(c: Connection): Promise<void> {
  const { pending } = await schemaStatus(c, (text, values) => c.query(text, values))
  if (pending.length === 0) return
  if (await mayMigrate(c)) {
    await migrateSchema(c)
    return
  }
  const says =
    `its tables lack ${pending.join(', ')}, and this role may not make them; run ` +
    '`counterfoil db migrate` as the role that owns them'
  throw storeError('STORE_OUTDATED', c.url, { says })
}

async function using<T>(where: Where, fn: (c: Connection) => Promise<T>): Promise<T> {
  const { c } = await connect(where)
  try {
    return await fn(c)
  } finally {
    await c.close()
  }
}

/** For whoever looks without opening the store; `schema` is as it is written in SQL. */
export function readPostgres<T>(
  where: Where,
  fn: (query: Query, schema: string) => Promise<T>,
): Promise<T> {
  return using(where, (c) => fn((text, values) => c.query(text, values), c.schema))
}

/** Applies what is missing; for whoever owns the tables. */
export function migratePostgres(where: Where): Promise<SchemaStatus> {
  return using(where, async (c) => {
    await checkServer(c)
    return migrateSchema(c)
  })
}

export function postgresStatus(where: Where): Promise<SchemaStatus> {
  return using(where, (c) => schemaStatus(c, (text, values) => c.query(text, values)))
}

/** Makes and grants the roles of workers and readers. */
export function createPostgresRoles(where: Where, roles: Roles): Promise<void> {
  return using(where, (c) => c.transaction((query) => createRoles(query, c.schema, roles)))
}
