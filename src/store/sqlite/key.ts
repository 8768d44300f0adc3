// The key file beside the database: lines of `<id> <64 hex digits>`, the last one signs, all
// verify. It is made once, whole: written under another name, synced, then linked into place, so
// that of two processes that make it at once one wins and both read the same.
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { randomHex } from '../../clock.ts'
import type { CounterfoilError } from '../../model/errors.ts'
import { type Key, keyCheck } from '../seal.ts'
import { storeError } from './errors.ts'

const line = /^([\w-]{1,64}) ([0-9a-f]{64})$/i

export function keyPath(path: string): string {
  return `${path}.key`
}

/** The keys in the file, or null if there is none. Changes nothing. */
export function readKeyFile(path: string): Key[] | null {
  const file = keyPath(path)
  let text: string
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) throw exposed(path)
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    if ((error as NodeJS.ErrnoException).code?.startsWith('E') !== true) throw error
    const says = `its key file ${file} cannot be read; give this user permission to read it`
    throw storeError('STORE_KEY_MISSING', path, { says, cause: error })
  }
  const keys = text
    .split('\n')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => parseLine(path, part))
  if (keys.length > 0) return keys
  throw wrong(path, `its key file ${file} is empty; put the right one back from where you keep it`)
}

function parseLine(path: string, text: string): Key {
  const [, id, hex] = line.exec(text) ?? []
  if (id !== undefined && hex !== undefined) return { id, secret: Buffer.from(hex, 'hex') }
  throw wrong(
    path,
    `its key file ${keyPath(path)} has a line that is not "<id> <64 hex digits>"; ` +
      'put the right one back from where you keep it',
  )
}

/** Makes the key file, or reads the one that another process has made meanwhile. */
export function createKeyFile(path: string): Key[] {
  const file = keyPath(path)
  const draft = `${file}.${randomHex(6)}`
  const fd = openSync(draft, 'wx', 0o600)
  try {
    writeSync(fd, `k1 ${randomHex(32)}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  syncDirectory(dirname(file))
  const keys = readKeyFile(path)
  if (keys === null) throw missing(path, [])
  return keys
}

/** Without this a power cut may take the file's name, and with it the file. */
function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** A key given from outside. It has no id of its own: it is known by its check value, or is new. */
export function givenKey(path: string, hex: string, checks: ReadonlyMap<string, string>): Key {
  if (!/^[0-9a-f]{64}$/i.test(hex)) {
    throw wrong(path, 'the key that was given is not 64 hex digits')
  }
  const secret = Buffer.from(hex, 'hex')
  const check = keyCheck({ id: 'env', secret })
  const known = [...checks].find(([, value]) => value === check)
  return { id: known?.[0] ?? 'env', secret }
}

/** Every key that rows may be signed with must be there and be the right one. */
export function checkKeys(
  path: string,
  keys: readonly Key[] | null,
  checks: ReadonlyMap<string, string>,
): void {
  const have = new Map((keys ?? []).map((key) => [key.id, keyCheck(key)]))
  const lacking = [...checks.keys()].filter((id) => !have.has(id))
  for (const [id, check] of checks) {
    if (have.has(id) && have.get(id) !== check) throw wrong(path, notTheKey(id))
  }
  if (lacking.length === 0) return
  if (have.has('env')) throw wrong(path, notTheKey(lacking.join(', ')))
  throw missing(path, lacking)
}

function notTheKey(id: string): string {
  return (
    `the key that was given is not the one this database was written with (${id}); ` +
    'nothing was changed; put the right one back from where you keep it'
  )
}

function missing(path: string, ids: readonly string[]): CounterfoilError {
  const says =
    `its key ${ids.join(', ')} is missing from ${keyPath(path)}; nothing was changed; put the ` +
    'key file back beside it, or give the key. Without it no record can be trusted'
  return storeError('STORE_KEY_MISSING', path, { says })
}

function exposed(path: string): CounterfoilError {
  const file = keyPath(path)
  const says = `other users can read or write its key file; run: chmod 600 ${file}`
  return storeError('STORE_KEY_EXPOSED', path, { says })
}

function wrong(path: string, says: string): CounterfoilError {
  return storeError('STORE_KEY_WRONG', path, { says })
}
