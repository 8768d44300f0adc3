// What a client is told when there is no stream for it (RFC 9457).
import { isCounterfoilError } from '../../../model/errors.ts'

const statuses: Readonly<Record<string, number>> = {
  CHAT_REQUEST_INVALID: 400,
  SCOPE_INVALID: 400,
  SCOPE_HELD: 409,
  RUN_PAUSED: 409,
  RUN_ENDED: 409,
}

/** An error of ours says what it is; any other is the server's own business. */
export function problem(error: unknown): Response {
  const ours = isCounterfoilError(error)
  const code = ours ? error.code : 'INTERNAL'
  const status = statuses[code] ?? (ours && error.retryable ? 503 : 500)
  const detail = ours ? error.message : 'the chat could not be answered'
  const body = JSON.stringify({ type: `/errors/${code}`, title: code, status, code, detail })
  const again = status === 409 || status === 503 ? { 'retry-after': '1' } : {}
  const headers = { 'content-type': 'application/problem+json', ...again }
  return new Response(body, { status, headers })
}
