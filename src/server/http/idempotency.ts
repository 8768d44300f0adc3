// `Idempotency-Key`: the same request again gets the answer that was given, and is not done again.
// Kept as documents by whoever asked; a request under way is a conflict; the same key for another
// request is a mistake.

import { errorFor } from '../../model/errors.ts'
import { sha256 } from '../../model/json/canonical.ts'
import type { DocumentsPort, Timed } from '../../store/store.ts'
import * as limits from './limits.ts'

interface Kept {
  readonly request: string
  /** Null while it is under way. */
  readonly answer: { status: number; body: string } | null
}

export interface Asked {
  readonly store: Timed<DocumentsPort>
  readonly who: string
  readonly namespace: string
  readonly key: string
  /** Method, path and query. */
  readonly target: string
  readonly bytes: Uint8Array
}

const kind = 'answer'

export async function once(asked: Asked, work: () => Promise<Response>): Promise<Response> {
  checkKey(asked.key)
  const { store, namespace } = asked
  const id = sha256(JSON.stringify([asked.who, asked.key]))
  const request = sha256(JSON.stringify([asked.target, Buffer.from(asked.bytes).toString('hex')]))
  const put = (kept: Kept, ms: number, ifVersion: number | null) => {
    const times = { dueAt: null, expiresAt: store.clock.now() + ms }
    const row = { kind, namespace, id, bodyJson: JSON.stringify(kept), ...times }
    return store.putDocument(row, ifVersion)
  }
  if (!(await put({ request, answer: null }, limits.inFlightMs, null))) {
    const known = await store.getDocument(kind, namespace, id)
    return known === null ? conflict() : again(JSON.parse(known.bodyJson), request)
  }
  const response = await work().catch(async (error) => {
    await store.deleteDocument(kind, namespace, id, 1)
    throw error
  })
  const body = await response.clone().text()
  // What failed on our side may succeed the next time.
  if (response.status >= 500 || body.length > limits.answerBytesMax) {
    await store.deleteDocument(kind, namespace, id, 1)
  } else {
    await put({ request, answer: { status: response.status, body } }, limits.answerKeepMs, 1)
  }
  return response
}

function again(kept: Kept, request: string): Response {
  if (kept.request !== request) {
    throw errorFor('IDEMPOTENCY_MISMATCH')
  }
  if (kept.answer === null) return conflict()
  const { status, body } = kept.answer
  const type = status >= 400 ? 'application/problem+json' : 'application/json'
  const headers = { 'content-type': `${type}; charset=utf-8`, 'idempotency-replayed': 'true' }
  return new Response(status === 204 ? null : body, { status, headers })
}

function conflict(): never {
  throw errorFor('IDEMPOTENCY_IN_FLIGHT')
}

function checkKey(key: string): void {
  if (/^[!-~]+$/.test(key) && key.length <= limits.keyLengthMax) return
  const what = `1 to ${limits.keyLengthMax} visible ASCII characters`
  throw errorFor('REQUEST_INVALID', 'Idempotency-Key', what)
}
