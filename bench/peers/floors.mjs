// The raw floors: what one durable commit costs here, with nothing on top of it.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openFloor as openSqlite } from '../floor.mjs'
import { openFloor as openPostgres } from '../postgres-floor.mjs'
import { round } from './numbers.mjs'

/**
 * Milliseconds for one commit.
 * @typedef {{ fdatasync: number, sqlite: number, postgres: number, postgres50: number }} Floor
 */

const bytes = Buffer.alloc(4_096, 1)

/** @param {number} count */
function fdatasync(/** @type {number} */ fd, count) {
  const from = performance.now()
  for (let i = 0; i < count; i++) {
    writeSync(fd, bytes)
    fdatasyncSync(fd)
  }
  return (performance.now() - from) / count
}

/**
 * @param {string} dir
 * @param {import('./postgres.mjs').Postgres} postgres
 */
export async function openFloors(dir, postgres) {
  const file = join(dir, 'floor.dat')
  const fd = openSync(file, 'a')
  const sqlite = openSqlite(join(dir, 'floor.db'))
  const store = await postgres.store('floor')
  const server = await openPostgres(store.env.url)
  await server.many(500)
  return {
    /**
     * Short, and taken before and after every timing: a shared disk changes by the minute.
     * @returns {Promise<Floor>}
     */
    probe: async (/** @type {number} */ count) => ({
      fdatasync: round(fdatasync(fd, count), 4),
      sqlite: round(sqlite.measure(count) / 1_000, 4),
      postgres: round((await server.one(count)) / 1_000, 4),
      postgres50: round((await server.many(count * 3)) / 1_000, 4),
    }),
    close: async () => {
      await server.close()
      sqlite.close()
      closeSync(fd)
      rmSync(file)
    },
  }
}

/**
 * @param {Floor} a
 * @param {Floor} b
 * @returns {Floor}
 */
export const between = (a, b) => ({
  fdatasync: round((a.fdatasync + b.fdatasync) / 2, 4),
  sqlite: round((a.sqlite + b.sqlite) / 2, 4),
  postgres: round((a.postgres + b.postgres) / 2, 4),
  postgres50: round((a.postgres50 + b.postgres50) / 2, 4),
})
