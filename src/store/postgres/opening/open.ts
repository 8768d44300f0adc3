// Opens the database: looks first, changes nothing until it is known to be usable and durable (I8),
// then migrates if this role may, and signs in.
import type { Clock } from '../../../clock.ts'
import {
  holdingLock,
  type Migrated,
  mayMigrate,
  migrateSchema,
  type SchemaStatus,
  schemaStatus,
} from '../migrate.ts'
import { ServerClock } from '../server-clock.ts'
import { Connection, type Query } from './connection.ts'
import { createPool, isRefusedSetting, loadDriver, type Settings } from './driver.ts'
import { storeError } from './errors.ts'
import { openKeys, requireKey } from './key.ts'
import { locate } from './location.ts'
import { createRoles, type GivenRole, type Roles, readRoles } from './roles.ts'
import { checkServer, readServer, type ServerFacts } from './server.ts'

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
    const caveats = checkServer(c, await readServer(c))
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
    // What refuses settings is a pooler: it may give each statement another session.
    new Connection(
      createPool(driver, settings, location),
      location,
      new ServerClock(clock),
      settings.asks,
    )
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

/** Applies what is missing; for whoever owns the tables. */
export function migratePostgres(where: Where): Promise<Migrated> {
  return using(where, async (c) => {
    checkServer(c, await readServer(c))
    return migrateSchema(c)
  })
}

export interface PostgresStatus extends SchemaStatus {
  /** Without a password. */
  readonly url: string
  readonly server: ServerFacts
  /** Whether this user may bring the schema up to date. */
  readonly mayMigrate: boolean
  readonly roles: readonly GivenRole[]
}

/** Changes nothing, and needs no key. */
export function postgresStatus(where: Where): Promise<PostgresStatus> {
  return using(where, async (c) => {
    const query: Query = (text, values) => c.query(text, values)
    const status = await schemaStatus(c, query)
    return {
      ...status,
      url: c.url,
      server: await readServer(c),
      mayMigrate: await mayMigrate(c),
      roles: status.applied.length === 0 ? [] : await readRoles(query, c.schema),
    }
  })
}

/** Makes and grants the roles of workers and readers. */
export function createPostgresRoles(where: Where, roles: Roles): Promise<readonly GivenRole[]> {
  return using(where, (c) =>
    holdingLock(c, async (query) => {
      const { pending } = await schemaStatus(c, query)
      if (pending.length > 0) {
        const says = `its tables lack ${pending.join(', ')}; run \`counterfoil db migrate\` first`
        throw storeError('STORE_OUTDATED', c.url, { says })
      }
      await createRoles(query, c.schema, roles)
      return readRoles(query, c.schema)
    }),
  )
}
