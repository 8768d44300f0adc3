// Keys that come after the first. The order lets a crash fall anywhere: the key is in the file
// before its check value is in the database, and the check value before any row is signed with it.
// So a key without a check value has signed nothing, and is taken in by whoever comes next; and a
// row whose key id has no check value is forged, which needs no look at the file.
import type Database from 'better-sqlite3'
import { type CounterfoilError, errorFor } from '../../../model/errors.ts'
import { type Key, keyCheck } from '../../seal.ts'
import type { Connection } from './connection.ts'
import { storeError } from './errors.ts'
import { checkKeys, keyPath, newKey, readKeyFile, replaceKeyFile } from './key.ts'
import { keyChecks, setKeyCheck } from './meta.ts'

/** Adds a key that signs from now on, and answers its id. */
export function rotateKey(c: Connection): string {
  if (c.sealer.given) throw keyGiven(c.path)
  // Under the write lock: of two processes that rotate at once, the second sees the first's key.
  const keys = c.write(() => {
    const old = readKeyFile(c.path) ?? []
    const checks = keyChecks(c.db)
    checkKeys(c.path, old, checks)
    const next = [...old, newKey(freeId([...old.map((key) => key.id), ...checks.keys()]))]
    replace(c.path, next)
    takeIn(c.db, next, checks)
    return next
  })
  for (const key of keys) c.sealer.add(key)
  return keys.at(-1)?.id ?? ''
}

/** Records the keys that have no check value yet. Under the write lock. */
export function takeIn(
  db: Database.Database,
  keys: readonly Key[],
  checks: ReadonlyMap<string, string>,
): void {
  for (const key of keys) if (!checks.has(key.id)) setKeyCheck(db, key.id, keyCheck(key))
}

/**
 * What another process has added since this one opened the store, when a row is met that is signed
 * with it. A key of the store that cannot be had is no forgery: then nothing is said about the row.
 */
export function findKeys(
  db: Database.Database,
  path: string,
  given: boolean,
  id: string,
): readonly Key[] {
  const checks = keyChecks(db)
  if (!checks.has(id)) return []
  if (given) throw keyUnknown(path, id, 'it was opened with other keys; give this one as well')
  try {
    const keys = readKeyFile(path)
    checkKeys(path, keys, checks)
    return (keys ?? []).filter((key) => checks.has(key.id))
  } catch (cause) {
    throw keyUnknown(path, id, (cause as Error).message, cause)
  }
}

function freeId(ids: readonly string[]): string {
  const numbers = ids.map((id) => Number(/^k(\d{1,9})$/.exec(id)?.[1] ?? 0))
  return `k${Math.max(0, ...numbers) + 1}`
}

function replace(path: string, keys: readonly Key[]): void {
  try {
    replaceKeyFile(path, keys)
  } catch (cause) {
    const full = (cause as NodeJS.ErrnoException).code === 'ENOSPC'
    const says = `its key file ${keyPath(path)} cannot be replaced: ${(cause as Error).message}`
    throw storeError(full ? 'STORE_FULL' : 'STORE_READ_ONLY', path, { says, cause })
  }
}

/** Retryable: once the key is there again, the same look succeeds. */
function keyUnknown(path: string, id: string, why: string, cause?: unknown): CounterfoilError {
  return errorFor('STORE_KEY_MISSING', path, id, why, cause)
}

function keyGiven(path: string): CounterfoilError {
  const why =
    'its keys were given from outside, and cannot be rotated from here; put the new key at the ' +
    'end of COUNTERFOIL_KEY (or of `key`) yourself, after a comma'
  return errorFor('STORE_KEY_GIVEN', path, why)
}
