// The key file beside the database: lines of `<id> <64 hex digits>`, the last one signs, all
// verify. It is always written whole: under another name, synced, then put into place. The first
// one is linked, so that of two processes that make it at once one wins and both read the same; a
// longer one replaces it, under the database's write lock (rotate.ts).
import {
  closeSync,
  fchownSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { randomHex } from '../../../clock.ts'
import type { CounterfoilError } from '../../../model/errors.ts'
import { type Key, keyCheck } from '../../seal.ts'
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
  writeDraft(draft, linesOf([newKey('k1')]), null)
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

/** Puts a longer file in the place of the one that is there. The caller has the write lock. */
export function replaceKeyFile(path: string, keys: readonly Key[]): void {
  // A link stays one, and what root writes stays readable for whoever owns the file.
  const file = realpathSync(keyPath(path))
  const draft = `${file}.next`
  rmSync(draft, { force: true })
  try {
    writeDraft(draft, linesOf(keys), statSync(file))
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(dirname(file))
}

export function newKey(id: string): Key {
  return { id, secret: Buffer.from(randomHex(32), 'hex') }
}

function linesOf(keys: readonly Key[]): string {
  return keys.map(({ id, secret }) => `${id} ${secret.toString('hex')}\n`).join('')
}

/** A file for this user, or the given one, alone: written whole and synced. */
export function writeDraft(
  draft: string,
  text: string,
  owner: { uid: number; gid: number } | null,
): void {
  const fd = openSync(draft, 'wx', 0o600)
  try {
    if (owner !== null && owner.uid !== process.getuid?.()) fchownSync(fd, owner.uid, owner.gid)
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Without this a power cut may take the file's name, and with it the file. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Keys given from outside, the last of which signs. They have no ids of their own: one is known by
 * its check value, and a new one is named after it, so that processes agree without asking.
 */
export function givenKeys(path: string, text: string, checks: ReadonlyMap<string, string>): Key[] {
  const names = new Map([...checks].map(([id, check]) => [check, id]))
  const keys = new Map<string, Key>()
  for (const hex of text.split(/[\s,]+/).filter((part) => part !== '')) {
    if (!/^[0-9a-f]{64}$/i.test(hex)) throw notHex(path)
    const secret = Buffer.from(hex, 'hex')
    const check = keyCheck({ id: '', secret })
    const id = names.get(check) ?? `given-${check.slice(0, 12)}`
    keys.delete(id) // the same key once more: its last place counts
    keys.set(id, { id, secret })
  }
  if (keys.size === 0) throw notHex(path)
  const known = [...keys.keys()].some((id) => checks.has(id))
  if (known || checks.size === 0) return [...keys.values()]
  throw wrong(path, notTheKey([...checks.keys()].join(', ')))
}

function notHex(path: string): CounterfoilError {
  return wrong(path, 'the key that was given is not 64 hex digits, or several such with commas')
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
  if (lacking.length > 0) throw missing(path, lacking)
}

function notTheKey(id: string): string {
  return (
    `the key that was given is not the one this database was written with (${id}); ` +
    'nothing was changed; put the right one back from where you keep it'
  )
}

function missing(path: string, ids: readonly string[]): CounterfoilError {
  const says =
    `its key ${ids.join(', ')} is missing from ${keyPath(path)} and from what was given; nothing ` +
    'was changed; put the key file back beside it, or give all its keys, the newest last. ' +
    'Without them no record can be trusted'
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
