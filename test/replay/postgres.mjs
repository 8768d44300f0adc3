// A golden ledger of Postgres: the rows of every table as the server's own JSON, and the migrations
// that had made the tables. Restored, they are the tables of that day with the rows of that day.
import { readFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'

/**
 * @typedef {object} Dump
 * @property {string[]} migrations Names of files, in their order.
 * @property {Record<string, string>} rows By table, a list as JSON.
 */
/** @typedef {import('pg').Client} Client */

const folder = new URL('../../src/store/postgres/migrations/', import.meta.url)

/**
 * @param {Client} client
 * @param {string} schema
 * @returns {Promise<Dump>}
 */
export async function dumpOf(client, schema) {
  const tables = await client.query(
    'select tablename as name from pg_tables where schemaname = $1 order by 1',
    [schema],
  )
  /** @type {Dump} */
  const dump = { migrations: [], rows: {} }
  for (const { name } of tables.rows) {
    const text = `select json_agg(t)::text as rows from "${schema}"."${name}" t`
    const found = (await client.query(text)).rows[0].rows
    if (found !== null) dump.rows[name] = found
  }
  const made = `select name from "${schema}".schema_migrations order by id`
  dump.migrations = (await client.query(made)).rows.map(({ name }) => name)
  return dump
}

/**
 * Into a schema that is not there yet.
 * @param {Client} client
 * @param {string} schema
 * @param {Dump} dump
 */
export async function restore(client, schema, { migrations, rows }) {
  await client.query(`create schema "${schema}"; set search_path to "${schema}", pg_temp`)
  await client.query(`create table schema_migrations (
    id bigint primary key, name text not null, checksum text not null,
    applied_at timestamptz not null)`)
  for (const name of migrations) {
    await client.query(readFileSync(new URL(name, folder), 'utf8').replaceAll('\r\n', '\n'))
  }
  // Triggers hold rows that are final, which a replica's session does not fire.
  await client.query('set session_replication_role = replica')
  for (const [table, list] of Object.entries(rows)) await fill(client, schema, table, list)
  // Functions and triggers are not rows: whoever opens the schema makes them.
  await client.query("delete from meta where name = 'rules'")
  await client.query('reset session_replication_role; reset search_path')
}

/**
 * @param {Client} client
 * @param {string} schema
 * @param {string} table
 * @param {string} list
 */
async function fill(client, schema, table, list) {
  const { rows } = await client.query(
    `select column_name as name, is_identity = 'YES' as counts from information_schema.columns
     where table_schema = $1 and table_name = $2 and is_generated = 'NEVER'`,
    [schema, table],
  )
  const columns = rows.map(({ name }) => `"${name}"`).join(', ')
  await client.query(
    `insert into "${table}" (${columns}) overriding system value
     select ${columns} from json_populate_recordset(null::"${table}", $1::json)`,
    [list],
  )
  for (const { name, counts } of rows) {
    if (!counts) continue
    await client.query(
      `select setval(pg_get_serial_sequence('"${schema}"."${table}"', '${name}'),
         (select max("${name}") from "${table}"))`,
    )
  }
}

/** @param {Dump} dump */
export const packed = (dump) => gzipSync(JSON.stringify(dump), { level: 9 })

/**
 * @param {string} path
 * @returns {Dump}
 */
export const unpacked = (path) => JSON.parse(gunzipSync(readFileSync(path)).toString('utf8'))
