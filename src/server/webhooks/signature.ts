// Standard Webhooks (standardwebhooks.com): what is signed is `id.timestamp.body`, the bytes as
// they came, with a secret `whsec_…`. Tested against their own library.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomHex } from '../../clock.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'

/** How far the sender's clock may be from ours; what is older is refused. */
export const toleranceMs = 5 * 60_000

const prefix = 'whsec_'
const secretBytes = 32

export function newSigningSecret(): string {
  return `${prefix}${Buffer.from(randomHex(secretBytes), 'hex').toString('base64')}`
}

export interface Signed {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
}

export function sign(secret: string, { id, timestamp }: Signed, body: string | Uint8Array): string {
  const mac = createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
  return `v1,${mac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}

/** The headers of a request that is sent. */
export function signedHeaders(secret: string, id: string, atMs: number, body: string) {
  const timestamp = Math.floor(atMs / 1_000)
  return {
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': sign(secret, { id, timestamp }, body),
  }
}

/**
 * The id of a request that one of these secrets has signed, not long ago. Nothing of it is read
 * before that is sure.
 */
export function verify(
  secrets: readonly string[],
  headers: Headers,
  bytes: Uint8Array,
  nowMs: number,
): string {
  const id = headers.get('webhook-id') ?? ''
  const timestamp = headers.get('webhook-timestamp') ?? ''
  const given = headers.get('webhook-signature') ?? ''
  if (!/^[!-~]{1,256}$/.test(id) || !/^\d{1,12}$/.test(timestamp) || given === '') {
    throw refused(
      'it is not signed: webhook-id, webhook-timestamp and webhook-signature are needed',
    )
  }
  const seconds = Number(timestamp)
  const claimed = given.split(' ').slice(0, signaturesMax)
  const right = secrets.some((secret) => {
    const expected = sign(secret, { id, timestamp: seconds }, bytes)
    return claimed.some((one) => isSame(one, expected))
  })
  if (!right) throw refused('its signature does not match')
  if (Math.abs(nowMs - seconds * 1_000) > toleranceMs) {
    throw refused('it was signed too long ago, or by a wrong clock')
  }
  return id
}

// A sender that rotates its secret signs with both.
const signaturesMax = 8

function isSame(a: string, b: string): boolean {
  const [one, two] = [Buffer.from(a), Buffer.from(b)]
  return one.length === two.length && timingSafeEqual(one, two)
}

function refused(why: string): CounterfoilError {
  return errorFor('SIGNATURE_INVALID', why)
}
