// `pg`, and how connections are made. What a session needs is asked for when it begins; a pooler
// that refuses that (PgBouncer does) is asked without, and the times that matter are then those of
// single transactions and of this side.
import type pg from 'pg'
import { errorFor } from '../../../model/errors.ts'
import type { Location } from './location.ts'

export type Driver = typeof pg

export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw errorFor('STORE_DRIVER_MISSING', cause)
  }
}

const connectMs = 10_000
const keepAliveMs = 10_000

// Asked of the server for the whole session. A worker cut off inside a transaction is noticed
// by its silence (idle) or by the line (user timeout), whichever is first.
const session = {
  statement_timeout: 60_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 10_000,
  options:
    '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 ' +
    '-c tcp_user_timeout=15000',
}

export interface Settings {
  readonly connectionString: string
  /** Whether the server is asked for settings when a session begins. */
  readonly asks: boolean
}

export function clientConfig({ connectionString, asks }: Settings): pg.ClientConfig {
  return {
    connectionString,
    application_name: 'counterfoil',
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    ...(asks ? session : {}),
  }
}

/** Whether a connection failed because of what was asked when it began. */
export function isRefusedSetting(error: unknown): boolean {
  return error instanceof Error && /startup parameter/i.test(error.message)
}

const int8 = 20

export function createPool(driver: Driver, settings: Settings, { poolMax }: Location): pg.Pool {
  return new driver.Pool({
    ...clientConfig(settings),
    max: poolMax,
    // A process that has nothing else to do may end.
    allowExitOnIdle: true,
    types: {
      // Counts and ids stay far below 2^53.
      getTypeParser: ((oid: number, format?: never) =>
        oid === int8 ? Number : driver.types.getTypeParser(oid, format)) as never,
    },
  })
}
