// Writes a golden ledger (J5): once for each release, and whenever the schema of a store grew.
//   node scripts/golden.mjs [sqlite | postgres]
// To test/replay/ledgers/<version>-<newest migration>, for Postgres with its name between them; a
// server is started for it. What is there is never written again: later releases must read what
// this one wrote.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import pg from 'pg'
import { startPostgres } from '../test/postgres/server.mjs'
import { dumpOf, packed } from '../test/replay/postgres.mjs'

const kind = process.argv[2] ?? 'sqlite'
if (!['sqlite', 'postgres'].includes(kind)) {
  console.error('node scripts/golden.mjs [sqlite | postgres]')
  process.exit(2)
}
const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const migrations = readdirSync(join(root, `src/store/${kind}/migrations`)).sort()
const newest = (migrations.at(-1) ?? '').replace(/\.sql$/, '')
const name = [version, ...(kind === 'sqlite' ? [] : [kind]), newest].join('-')
const folder = join(root, 'test/replay/ledgers', name)
if (existsSync(folder)) {
  console.error(`${folder} is there already, and stays as it is`)
  process.exit(1)
}

const setup = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: root, stdio: 'inherit' })
if (setup.status !== 0) process.exit(1)
const scratch = mkdtempSync(join(tmpdir(), 'counterfoil-golden-'))
const log = join(scratch, 'sent.log')

/** Two processes work on it, and both are killed in a call. */
function live(/** @type {string} */ store, /** @type {Record<string, string>} */ more = {}) {
  for (const life of ['first', 'second']) {
    const args = ['test/replay/write.mjs', store, log, life]
    const env = { ...process.env, ...more }
    const options = /** @type {const} */ ({ cwd: root, env, encoding: 'utf8', timeout: 60_000 })
    const { signal, status, stderr } = spawnSync(process.execPath, args, options)
    if (signal !== 'SIGKILL') throw new Error(`the ${life} process: ${signal ?? status}\n${stderr}`)
  }
}

/** @typedef {{ id: string, state: string }} Found */

/** @returns {Found[]} */
function writeSqlite() {
  const path = join(scratch, 'runs.db')
  live(`sqlite:${path}`)
  // The log of the database into the database: one file, as a dead process would leave two.
  const db = new Database(path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.pragma('journal_mode = DELETE')
  const found = /** @type {Found[]} */ (db.prepare('select run_id as id, state from runs').all())
  db.close()
  mkdirSync(folder, { recursive: true })
  copyFileSync(path, join(folder, 'runs.sqlite'))
  copyFileSync(`${path}.key`, join(folder, 'runs.sqlite.key'))
  cpSync(`${path}.blobs`, join(folder, 'runs.sqlite.blobs'), { recursive: true })
  return found
}

/** @returns {Promise<Found[]>} */
async function writePostgres() {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url })
  try {
    live(server.url, { COUNTERFOIL_KEY: 'a'.repeat(64) })
    await client.connect()
    const dump = await dumpOf(client, 'counterfoil')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'rows.json.gz'), packed(dump))
    return (await client.query('select run_id as id, state from counterfoil.runs')).rows
  } finally {
    await client.end()
    await server.stop()
  }
}

const found = kind === 'sqlite' ? writeSqlite() : await writePostgres()
const states = Object.fromEntries(found.map(({ id, state }) => [id, state]))
const lines = readFileSync(log, 'utf8').trim().split('\n')
const sent = lines.map((line) => JSON.parse(line))
const facts = { version, store: kind, schema: newest, states, sent }
writeFileSync(join(folder, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`)
rmSync(scratch, { recursive: true, force: true })
console.log(`${folder}: ${Object.keys(states).length} runs, ${sent.length} sent`)
