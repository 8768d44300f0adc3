// Writes a golden ledger (J5): once for each release, and whenever the schema of the store grew.
//   node scripts/golden.mjs [folder]
// Unless said: test/replay/ledgers/<version>-<newest migration>.
// What is there is never written again: later releases must read what this one wrote.
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
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const migrations = readdirSync(join(root, 'src/store/sqlite/migrations')).sort()
const newest = (migrations.at(-1) ?? '').replace(/\.sql$/, '')
const folder = resolve(process.argv[2] ?? join(root, `test/replay/ledgers/${version}-${newest}`))
if (existsSync(folder)) {
  console.error(`${folder} is there already, and stays as it is`)
  process.exit(1)
}

const setup = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: root, stdio: 'inherit' })
if (setup.status !== 0) process.exit(1)
const scratch = mkdtempSync(join(tmpdir(), 'counterfoil-golden-'))
const [path, log] = [join(scratch, 'runs.db'), join(scratch, 'sent.log')]
for (const life of ['first', 'second']) {
  const args = ['test/replay/write.mjs', `sqlite:${path}`, log, life]
  const options = /** @type {const} */ ({ cwd: root, encoding: 'utf8', timeout: 60_000 })
  const { signal, status, stderr } = spawnSync(process.execPath, args, options)
  if (signal !== 'SIGKILL') throw new Error(`the ${life} process: ${signal ?? status}\n${stderr}`)
}

// The log of the database into the database: one file, as a dead process would leave two.
const db = new Database(path)
db.pragma('wal_checkpoint(TRUNCATE)')
db.pragma('journal_mode = DELETE')
const states = Object.fromEntries(
  /** @type {{ id: string, state: string }[]} */ (
    db.prepare('select run_id as id, state from runs').all()
  ).map(({ id, state }) => [id, state]),
)
db.close()
const lines = readFileSync(log, 'utf8').trim().split('\n')
const facts = { version, schema: newest, states, sent: lines.map((line) => JSON.parse(line)) }
mkdirSync(folder, { recursive: true })
copyFileSync(path, join(folder, 'runs.sqlite'))
copyFileSync(`${path}.key`, join(folder, 'runs.sqlite.key'))
cpSync(`${path}.blobs`, join(folder, 'runs.sqlite.blobs'), { recursive: true })
writeFileSync(join(folder, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`)
rmSync(scratch, { recursive: true, force: true })
console.log(`${folder}: ${Object.keys(states).length} runs, ${facts.sent.length} sent`)
