// What a client is told when there is no stream for it (RFC 9457).
import { isCounterfoilError } from '../../../model/errors.ts'

const statuses: Readonly<Record<string, number>> = {
  CHAT_REQUEST_INVALID: 400,
  SCOPE_INVALID: 400,
  SCOPE_HELD: 409,
  RUN_PAUSED: 409,
  RUN_ENDED: 409,
  RUN_ABANDONED: 409,
  BODY_TOO_LARGE: 413,
}
/** Another request, or a person, may change it soon. */
const mayPass = ['SCOPE_HELD', 'RUN_PAUSED']

/** An error of ours says what it is; any other is the server's own business. */
export function problem(error: unknown): Response {
  const ours = isCounterfoilError(error)
  const code = ours ? error.code : 'INTERNAL'
  const status = statuses[code] ?? (ours && error.retryable ? 503 : 500)
  const detail = ours ? error.message : 'the chat could not be answered'
  const again = mayPass.includes(code) || status === 503 ? { 'retry-after': '1' } : {}
  return respond({ type: `/errors/${code}`, title: code, status, code, detail }, again)
}

interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail?: string
}

function respond(told: Problem, more: Record<string, string> = {}): Response {
  const headers = { 'content-type': 'application/problem+json', ...more }
  return new Response(JSON.stringify(told), { status: told.status, headers })
}

interface HttpError {
  readonly status?: unknown
  readonly statusCode?: unknown
  readonly message?: unknown
  getResponse?(): unknown
}

/**
 * What the app has thrown to refuse a request: a response, or an error with a status, as those of
 * Hono or `http-errors`. Null if it is any other error. Of the server's own failures (5xx) the
 * client gets no details.
 */
export function refusal(thrown: unknown): Response | null {
  if (thrown instanceof Response) return thrown
  if (isCounterfoilError(thrown)) return null
  const error = (thrown ?? {}) as HttpError
  const own = typeof error.getResponse === 'function' ? error.getResponse() : null
  if (own instanceof Response) return own
  const status = error.status ?? error.statusCode
  const isError = typeof status === 'number' && Number.isInteger(status)
  if (!isError || status < 400 || status > 599) return null
  const code = `HTTP_${status}`
  const detail = status < 500 ? { detail: String(error.message ?? '') } : {}
  return respond({ type: 'about:blank', title: code, status, code, ...detail })
}
