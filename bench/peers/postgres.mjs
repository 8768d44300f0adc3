// A real Postgres server with a database for each store.
import pg from 'pg'
import { startPostgres as startServer } from '../../test/postgres/server.mjs'

const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '300',
}
const shown = ['server_version', ...Object.keys(settings), 'wal_sync_method', 'shared_buffers']

/** @typedef {Awaited<ReturnType<typeof startPostgres>>} Postgres */

export async function startPostgres() {
  const server = await startServer({ settings })
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  const one = async (/** @type {string} */ query) =>
    Object.values((await admin.query(query)).rows[0])[0]
  /** @type {Record<string, string>} */
  const facts = {}
  for (const name of shown) facts[name] = String(await one(`show ${name}`))
  return {
    facts,
    store: async (/** @type {string} */ label) => {
      const name = label.replaceAll(/[^a-z0-9]+/gi, '_').toLowerCase()
      await admin.query(`create database ${name}`)
      const url = new URL(server.url)
      url.pathname = name
      return {
        /** @type {any} */
        env: { url: url.href },
        bytes: async () => {
          await admin.query('checkpoint')
          return Number(await one(`select pg_database_size('${name}')`))
        },
        logBytes: async () => Number(await one(`select pg_current_wal_lsn() - '0/0'::pg_lsn`)),
        syncs: async () =>
          Number(await one(`select coalesce(sum(fsyncs), 0) from pg_stat_io where object = 'wal'`)),
        close: async () => {
          await admin.query(`drop database ${name} with (force)`)
        },
      }
    },
    stop: async () => {
      await admin.end()
      await server.stop()
    },
  }
}
