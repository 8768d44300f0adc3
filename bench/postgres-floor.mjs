// The raw floor on Postgres: single-row insert commits over the same driver, one after the other on
// one connection, and over fifty.
import pg from 'pg'

const insert = 'insert into bench_floor (body) values ($1)'
const body = ['x'.repeat(100)]
const connections = 50

export async function openFloor(/** @type {string} */ url) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  await pool.query('drop table if exists bench_floor')
  await pool.query('create table bench_floor (id bigserial primary key, body text)')
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()))
  const [first] = clients
  const since = (/** @type {bigint} */ from, /** @type {number} */ count) =>
    Number(process.hrtime.bigint() - from) / 1_000 / count
  return {
    /** Microseconds for one commit. */
    one: async (/** @type {number} */ count) => {
      const from = process.hrtime.bigint()
      for (let i = 0; i < count; i++) await first?.query(insert, body)
      return since(from, count)
    },
    /** The same, over all connections at once. */
    many: async (/** @type {number} */ count) => {
      const from = process.hrtime.bigint()
      const each = Math.ceil(count / connections)
      await Promise.all(
        clients.map(async (client) => {
          for (let i = 0; i < each; i++) await client.query(insert, body)
        }),
      )
      return since(from, each * connections)
    },
    close: async () => {
      for (const client of clients) client.release()
      await pool.query('drop table bench_floor')
      await pool.end()
    },
  }
}
