// Secrets that are handed out once and kept as hashes: tokens, sessions, tickets. Each is an id, by
// which its row is found, and 256 random bits, whose SHA-256 is compared in constant time.
import { timingSafeEqual } from 'node:crypto'
import { randomHex } from '../../clock.ts'
import { sha256 } from '../../model/json/canonical.ts'

export interface Secret {
  readonly id: string
  readonly secret: string
}

const idBytes = 8
const secretBytes = 32

export function newSecret(): Secret & { hash: string } {
  const secret = randomHex(secretBytes)
  return { id: randomHex(idBytes), secret, hash: hashOf(secret) }
}

export function hashOf(secret: string): string {
  return sha256(`counterfoil:${secret}`)
}

export function format(prefix: string, { id, secret }: Secret): string {
  return `${prefix}_${id}_${secret}`
}

const form = /^([a-z]+)_([0-9a-f]{16})_([0-9a-f]{64})$/

/** Null for what is none of ours, whatever its length. */
export function parseSecret(prefix: string, text: string | null | undefined): Secret | null {
  if (typeof text !== 'string' || text.length > 128) return null
  const [, kind, id, secret] = form.exec(text) ?? []
  if (kind !== prefix || id === undefined || secret === undefined) return null
  return { id, secret }
}

// Compared with where there is no row, so that an unknown id takes the same path as a wrong secret.
const nobody = hashOf('nobody')

/** The same work whether the hash is there or not, and wherever the two differ. */
export function matches(secret: string, hash: string | null): boolean {
  const right = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(hash ?? nobody))
  return right && hash !== null
}
