// What the server is, and whether it can be trusted with the ledger (I8).

import type { Connection } from './connection.ts'
import { storeError } from './errors.ts'

export interface ServerFacts {
  /** As the server shows it: `16.4`. */
  readonly version: string
  readonly versionNumber: number
  readonly database: string
  /** Who this connection is. */
  readonly user: string
  readonly encoding: string
  readonly standby: boolean
  readonly fsync: string
  readonly fullPageWrites: string
  /** Of this session; a commit that writes the ledger raises `off` to `on` for itself. */
  readonly synchronousCommit: string
  readonly synchronousStandbyNames: string
}

const versionMin = 140_000

export async function readServer(c: Connection): Promise<ServerFacts> {
  const [row = {}] = await c.query(
    `select current_setting('server_version') as version,
       current_setting('server_version_num')::int as "versionNumber",
       current_database() as database, current_user::text as user,
       current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby,
       current_setting('fsync') as fsync,
       current_setting('full_page_writes') as "fullPageWrites",
       current_setting('synchronous_commit') as "synchronousCommit",
       current_setting('synchronous_standby_names') as "synchronousStandbyNames"`,
  )
  return row as unknown as ServerFacts
}

/** Throws if it cannot be used; answers what it does not promise. */
export function checkServer(c: Connection, server: ServerFacts): string[] {
  const unfit = (says: string) => storeError('STORE_UNFIT', c.url, { says })
  if (server.versionNumber < versionMin) {
    throw unfit(`the server is Postgres ${server.version}; it has to be 14 or newer`)
  }
  if (server.encoding !== 'UTF8') {
    throw unfit(`the database's encoding is ${server.encoding}; create one with -E UTF8`)
  }
  if (server.standby) {
    const says = 'the server is a standby, which cannot be written; name the primary'
    throw storeError('STORE_UNREACHABLE', c.url, { says })
  }
  if (server.fsync !== 'on') {
    const says =
      'it does not keep what it acknowledges: the server runs with fsync = off; set it to on ' +
      'and restart the server'
    throw storeError('STORE_NOT_DURABLE', c.url, { says })
  }
  if (server.fullPageWrites === 'on') return []
  return [
    `store ${c.url}: the server runs with full_page_writes = off: a power cut can damage it ` +
      'beyond repair unless its file system writes pages whole',
  ]
}
