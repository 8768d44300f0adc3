// Opens the file: looks first, changes nothing until it is known to be ours and its key is right,
// then asserts durability (I8), migrates and signs in.
import Database from 'better-sqlite3'
import { type Clock, randomHex } from '../../clock.ts'
import { bootId } from '../boot.ts'
import { createSealer, type Key, keyCheck } from '../seal.ts'
import { Connection } from './connection.ts'
import { sqliteCode, storeError, translate } from './errors.ts'
import { incarnationOf } from './incarnation.ts'
import { checkKeys, createKeyFile, givenKey, readKeyFile } from './key.ts'
import { noteOtherBoots } from './lease.ts'
import { checkFileSystem, locate } from './location.ts'
import { getMeta, keyChecks, setKeyCheck, setMeta } from './meta.ts'
import { isFresh, knownMigrations, migrate } from './migrate.ts'

export interface SqliteOptions {
  path: string
  clock: Clock
  /** 64 hex digits instead of the key file. */
  key?: string
  allowNetworkFs?: boolean
}

/** A lock is waited for this long before the caller is told, and tries again. */
const busyMs = 5_000

export function openConnection(options: SqliteOptions): Connection {
  const path = locate(options.path)
  if (options.allowNetworkFs !== true) checkFileSystem(path)
  const fileKeys = options.key === undefined ? readKeyFile(path) : null
  let db: Database.Database | undefined
  try {
    db = new Database(path, { timeout: busyMs })
    return prepare(db, path, options, fileKeys)
  } catch (error) {
    db?.close()
    throw translate(error, path)
  }
}

function prepare(
  db: Database.Database,
  path: string,
  options: SqliteOptions,
  fileKeys: Key[] | null,
): Connection {
  const known = knownMigrations()
  const fresh = patiently(() => isFresh(db, path, known))
  const checks = fresh ? new Map<string, string>() : keyChecks(db)
  // Read again after the checks: another process may have made the file and its key since the first
  // look, the key before the check.
  const keysNow = options.key === undefined ? (fileKeys ?? readKeyFile(path)) : null
  let keys = options.key === undefined ? keysNow : [givenKey(path, options.key, checks)]
  checkKeys(path, keys, checks)
  keys ??= createKeyFile(path)
  patiently(() => assertDurable((text) => db.pragma(text, { simple: true }), path))

  const sealer = createSealer(keys)
  const connection = new Connection(db, path, options.clock, bootId(), sealer)
  connection.write(() => {
    migrate(db, path, known, options.clock.now())
    signIn(db, path, keys)
    noteOtherBoots(connection)
  })
  return connection
}

/** What a new file is given, and what a known one is compared with once more, under the lock. */
function signIn(db: Database.Database, path: string, keys: readonly Key[]): void {
  const checks = keyChecks(db)
  checkKeys(path, keys, checks)
  for (const key of keys) if (!checks.has(key.id)) setKeyCheck(db, key.id, keyCheck(key))
  if (getMeta(db, 'store_id') !== null) return
  setMeta(db, 'store_id', randomHex(16))
  setMeta(db, 'incarnation', incarnationOf(path))
}

/**
 * I8. The driver's own default in WAL mode is weaker, and loses acknowledged intents in a power
 * cut. What was set is read back: a file system may refuse, and SQLite then goes on without a word.
 */
export function assertDurable(
  pragma: (text: string) => unknown,
  path: string,
  platform: NodeJS.Platform = process.platform,
): void {
  const wanted: [string, string, unknown][] = [
    ['journal_mode', 'WAL', 'wal'],
    ['synchronous', 'FULL', 2],
  ]
  if (platform === 'darwin') {
    wanted.push(['fullfsync', 'ON', 1], ['checkpoint_fullfsync', 'ON', 1])
  }
  for (const [name, value, expected] of wanted) {
    pragma(`${name} = ${value}`)
    const got = pragma(name)
    if (got === expected) continue
    const says =
      `it does not keep what it acknowledges: ${name} is ${String(got)} after it was set to ` +
      `${value}; put it on a local disk with a common file system`
    throw storeError('STORE_NOT_DURABLE', path, { says })
  }
}

/** Two processes that make a file at once meet in locks that SQLite's timeout does not cover. */
function patiently<T>(fn: () => T): T {
  const waitMs = 20
  for (let waited = 0; ; waited += waitMs) {
    try {
      return fn()
    } catch (error) {
      if (!sqliteCode(error)?.startsWith('SQLITE_BUSY') || waited >= busyMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs)
    }
  }
}
