// Opens the file: looks first, changes nothing until it is known to be ours and its key is right,
// then asserts durability (I8), migrates and signs in.
import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { type Clock, randomHex } from '../../../clock.ts'
import type { CounterfoilError } from '../../../model/errors.ts'
import { bootId } from '../../boot.ts'
import { createSealer, type Key } from '../../seal.ts'
import { incarnationOf } from '../identity/incarnation.ts'
import { placeOf } from '../identity/place.ts'
import { hasWitness, Witness, witnessPath } from '../identity/witness.ts'
import { noteOtherBoots } from '../lease.ts'
import { isFresh, knownMigrations, migrate } from '../migrate.ts'
import { Connection } from './connection.ts'
import { sqliteCode, storeError, translate } from './errors.ts'
import { checkKeys, createKeyFile, givenKeys, keyPath, readKeyFile } from './key.ts'
import { checkFileSystem, locate } from './location.ts'
import { getMeta, keyChecks, setMeta } from './meta.ts'
import { findKeys, takeIn } from './rotate.ts'
import { steadyClock } from './steady.ts'

export interface SqliteOptions {
  path: string
  clock: Clock
  /** Instead of the key file: 64 hex digits, or several such with commas; the last signs. */
  key?: string
  allowNetworkFs?: boolean
}

/** A lock is waited for this long before the caller is told, and tries again. */
const busyMs = 5_000

/**
 * Rows of 2 KB, a message of a conversation, fill a page of 4 KB by half: such a file was 2.2 times
 * its payload, and is 1.3 times with pages this small. Commits were as fast (docs/benchmarks.md).
 */
const pageBytes = 2_048
/** 4 MB of log between two checkpoints of the database, as SQLite has it for pages of 4 KB. */
const walPages = 2_000

export function openConnection(options: SqliteOptions): Connection {
  const path = locate(options.path)
  if (options.allowNetworkFs !== true) checkFileSystem(path)
  // A key file that cannot be right is refused before the database is made or touched.
  const keyed = options.key === undefined && readKeyFile(path) !== null
  if ((keyed || hasWitness(path)) && !existsSync(path)) throw gone(path, 'gone')
  let db: Database.Database | undefined
  try {
    db = new Database(path, { timeout: busyMs })
    return prepare(db, path, options)
  } catch (error) {
    db?.close()
    throw translate(error, path)
  }
}

/**
 * A database is made before its key and its witness: if they are there and it is not, it was lost.
 * They are looked at first.
 */
function gone(path: string, how: 'gone' | 'empty'): CounterfoilError {
  const others = [keyPath(path), witnessPath(path)].filter((file) => existsSync(file))
  const left = `${others.join(' and ')} ${others.length > 1 ? 'are' : 'is'}`
  const says =
    `the database is ${how}, ${left} still there; nothing was made. Put the file back (from a ` +
    'backup: then `counterfoil store adopt`). To start with an empty store, move them ' +
    'away first'
  return storeError('STORE_FILE_MISSING', path, { says })
}

/** Made for a store that has none yet; one that is missing is for a person to explain. */
function attachWitness(c: Connection): void {
  const witness = new Witness(c.path, c.sealer, getMeta(c.db, 'store_id') ?? '')
  c.write(() => {
    const known = getMeta(c.db, 'commits') !== null
    if (witness.look().kind !== 'none' || known) return
    setMeta(c.db, 'commits', '0')
    witness.make(0)
  })
  c.witness = witness
}

function prepare(db: Database.Database, path: string, options: SqliteOptions): Connection {
  const known = knownMigrations()
  // In this order: another process may be making the store, and makes the witness last.
  const witnessed = hasWitness(path)
  const fresh = patiently(() => isFresh(db, path, known))
  if (fresh && witnessed) throw gone(path, 'empty')
  const keys = keysOf(path, options, fresh ? new Map() : keyChecks(db))
  if (fresh) db.pragma(`page_size = ${pageBytes}`)
  patiently(() => assertDurable((text) => db.pragma(text, { simple: true }), path))
  db.pragma(`wal_autocheckpoint = ${walPages}`)

  const given = options.key !== undefined
  const sealer = createSealer(keys, { given, find: (id) => findKeys(db, path, given, id) })
  const connection = new Connection(db, path, options.clock, bootId(), sealer)
  connection.write(() => {
    migrate(db, path, known, options.clock.now())
    for (const key of signIn(db, path, options)) sealer.add(key)
    noteOtherBoots(connection)
    connection.steadyNow = steadyClock(connection)
  })
  connection.place = placeOf(path)
  attachWitness(connection)
  return connection
}

/**
 * All keys that rows may be signed with, made if there are none yet. The file is read after the
 * check values: another process may add a key at any moment, to the file first.
 */
function keysOf(path: string, options: SqliteOptions, checks: ReadonlyMap<string, string>): Key[] {
  const keys = options.key === undefined ? readKeyFile(path) : givenKeys(path, options.key, checks)
  checkKeys(path, keys, checks)
  return keys ?? createKeyFile(path)
}

/**
 * What a new file is given, and what a known one is compared with once more, under the lock: a key
 * may have been added since the first look.
 */
function signIn(db: Database.Database, path: string, options: SqliteOptions): Key[] {
  const checks = keyChecks(db)
  const keys = keysOf(path, options, checks)
  takeIn(db, keys, checks)
  if (getMeta(db, 'store_id') === null) {
    setMeta(db, 'store_id', randomHex(16))
    setMeta(db, 'incarnation', incarnationOf(path))
  }
  return keys
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
