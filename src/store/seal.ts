// MACs over intents, receipts, evidence, grants and decisions. A row that does not verify is never
// trusted: its call goes to a person. Keys have ids, so that old rows verify after a rotation.
import { createCipheriv, createDecipheriv, hash, timingSafeEqual } from 'node:crypto'
import { randomHex } from '../clock.ts'
import type { Described, Field } from './schema/describe.ts'
import { jsonText } from './sql/codec.ts'
import type { Shared, ShareKey } from './store.ts'

export interface Key {
  readonly id: string
  readonly secret: Buffer
}

export interface Sealer {
  /** Null for a row that says nothing which could be forged. */
  row<T>(table: Described<T>, row: T): string | null
  /** Whether the MAC of a row is right, or it needs none. */
  verifiesRow<T>(table: Described<T>, row: T, mac: string | null): boolean
  /** A shared result, usable until then. */
  shared(key: ShareKey, shared: Shared, until: number): string
  /** What the file beside a database says of it. */
  witness(text: string): string
  verifies(mac: string | null, text: string): boolean
  /** A secret that has to be read again, as it may lie in a row. */
  conceal(text: string): string
  /** Null for what no key of this store has concealed. */
  reveal(concealed: string): string | null
  /** This key signs from now on; rows of the others still verify. */
  add(key: Key): void
  /** The keys came from outside: whoever keeps them rotates them. */
  readonly given: boolean
}

export interface SealerOptions {
  /**
   * Asked for a key that is not known: the keys that have been added elsewhere meanwhile, the one
   * that signs last. None: nobody's, so the row is forged. It throws if it cannot tell.
   */
  readonly find?: (id: string) => readonly Key[]
  readonly given?: boolean
}

/** What stands in the store instead of a key: enough to recognise it, not to sign with. */
export function keyCheck(key: Key): string {
  return sign(key, 'counterfoil key check')
}

/** Signs with the last key, verifies with any. */
export function createSealer(keys: readonly Key[], options: SealerOptions = {}): Sealer {
  const { find, given = false } = options
  const last = keys.at(-1)
  if (last === undefined) throw new Error('a sealer needs a key')
  let current = last
  const byId = new Map(keys.map((key) => [key.id, key]))
  const add = (key: Key) => {
    byId.set(key.id, key)
    current = key
  }
  const seal = (text: string) => `${current.id}:${sign(current, text)}`
  const findKey = (id: string): Key | undefined => {
    for (const key of find?.(id) ?? []) add(key)
    return byId.get(id)
  }
  const verifies = (mac: string | null, text: string): boolean => {
    const colon = mac?.indexOf(':') ?? -1
    if (mac === null || colon < 0) return false
    const id = mac.slice(0, colon)
    const key = byId.get(id) ?? findKey(id)
    if (key === undefined) return false
    const claimed = Buffer.from(mac.slice(colon + 1))
    const right = Buffer.from(sign(key, text))
    return claimed.length === right.length && timingSafeEqual(claimed, right)
  }
  return {
    given,
    add,
    row: (table, row) => (isSigned(table, row) ? seal(rowText(table, row)) : null),
    verifiesRow: (table, row, mac) => !isSigned(table, row) || verifies(mac, rowText(table, row)),
    shared: (key, shared, until) => seal(sharedText(key, shared, until)),
    witness: (text) => seal(text),
    conceal: (text) => `${current.id}:${encrypt(current, text)}`,
    reveal: (concealed) => {
      const colon = concealed.indexOf(':')
      const id = concealed.slice(0, Math.max(0, colon))
      const key = byId.get(id) ?? findKey(id)
      return key === undefined ? null : decrypt(key, concealed.slice(colon + 1))
    },
    verifies,
  }
}

const cipher = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

/** What signs is not what encrypts: the one key is made of the other. */
function cipherKey(key: Key): Buffer {
  return hash('sha256', sign(key, 'counterfoil conceal'), 'buffer')
}

function encrypt(key: Key, text: string): string {
  const iv = Buffer.from(randomHex(ivBytes), 'hex')
  const making = createCipheriv(cipher, cipherKey(key), iv)
  const body = Buffer.concat([making.update(text, 'utf8'), making.final()])
  return Buffer.concat([iv, making.getAuthTag(), body]).toString('base64url')
}

function decrypt(key: Key, text: string): string | null {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length < ivBytes + tagBytes) return null
  const reading = createDecipheriv(cipher, cipherKey(key), bytes.subarray(0, ivBytes))
  reading.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  try {
    const body = reading.update(bytes.subarray(ivBytes + tagBytes))
    return Buffer.concat([body, reading.final()]).toString('utf8')
  } catch {
    return null
  }
}

// HMAC-SHA-256 by two one-shot hashes over buffers that are kept: on the way of every call, and a
// third of the price of a Hmac object.
function sign(key: Key, text: string): string {
  const { inner, outer } = padsOf(key)
  const space = blockBytes + text.length * 3 // UTF-8 takes at most three bytes a code unit
  const first = space > inner.length ? Buffer.alloc(space) : inner
  if (first !== inner) inner.copy(first, 0, 0, blockBytes)
  const end = blockBytes + first.write(text, blockBytes, 'utf8')
  outer.write(hash('sha256', first.subarray(0, end), 'binary'), blockBytes, 'binary')
  return hash('sha256', outer, 'base64url')
}

const blockBytes = 64
const hashBytes = 32
const keptBytes = 16_384
const pads = new WeakMap<Key, { inner: Buffer; outer: Buffer }>()

/** The key's two blocks, each with room behind it for what is hashed with it. */
function padsOf(key: Key): { inner: Buffer; outer: Buffer } {
  const known = pads.get(key)
  if (known) return known
  const { secret } = key
  const short = secret.length > blockBytes ? hash('sha256', secret, 'buffer') : secret
  const padded = (mask: number, bytes: number) => {
    const block = Buffer.alloc(blockBytes + bytes)
    short.copy(block)
    for (let i = 0; i < blockBytes; i++) block[i] = (block[i] ?? 0) ^ mask
    return block
  }
  const made = { inner: padded(0x36, keptBytes), outer: padded(0x5c, hashBytes) }
  pads.set(key, made)
  return made
}

/**
 * The fields that the table's description names, in its order; JSON keeps the borders between them
 * unforgeable.
 */
export function rowText<T>({ sealed, fields }: Described<T>, row: T): string {
  if (sealed === null) throw new Error('rows of this table are not signed')
  const values: unknown[] = [sealed.as]
  for (const key of sealed.fields) {
    const value = row[key]
    const isJson = (fields[key] as Field).kind === 'json' && value !== null
    values.push(isJson ? jsonText(value) : value)
  }
  return JSON.stringify(values)
}

/** Whether the row says anything that could be forged. */
export function isSigned<T>({ sealed }: Described<T>, row: T): boolean {
  if (sealed === null) return false
  return sealed.unless === undefined || !sealed.unless.every((key) => row[key] === null)
}

export function sharedText(key: ShareKey, shared: Shared, until: number): string {
  const { namespace, tool, inputHash } = key
  const { resultJson, externalId } = shared
  return JSON.stringify(['shared', namespace, tool, inputHash, resultJson, externalId, until])
}
