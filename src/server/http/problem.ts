// What went wrong, as RFC 9457 says it: a type that is a page, a title, a status, a detail.
import { errorFor, isCounterfoilError } from '../../model/errors.ts'

const statuses: Readonly<Record<number, readonly string[]>> = {
  400: ['REQUEST_INVALID', 'JSON_INVALID', 'CURSOR_INVALID'],
  401: ['UNAUTHENTICATED'],
  403: ['ROLE_FORBIDDEN', 'NAMESPACE_FORBIDDEN', 'CSRF_INVALID', 'DECISION_FORBIDDEN'],
  404: [
    'RUN_NOT_FOUND',
    'ITEM_NOT_FOUND',
    'CHECKPOINT_NOT_FOUND',
    'WORKER_NOT_FOUND',
    'TOKEN_NOT_FOUND',
    'ROUTE_NOT_FOUND',
    'CALLBACK_UNKNOWN',
  ],
  405: ['METHOD_NOT_ALLOWED'],
  409: [
    'RUN_EXISTS',
    'RUN_ENDED',
    'RUN_NOT_PAUSED',
    'RUN_PAUSED',
    'RUN_NOT_FAILED',
    'ITEM_CHANGED',
    'ITEM_CLOSED',
    'DECISION_TOO_EARLY',
    'TRANSITION_ILLEGAL',
    'SIGNAL_EXISTS',
    'PIN_REFUSED',
    'WORKER_ALIVE',
    'SCOPE_HELD',
    'STORE_MOVED',
    'CHECKPOINT_DAMAGED',
    'IDEMPOTENCY_IN_FLIGHT',
    'ROW_IMMUTABLE',
    'GRAPH_CHANGED',
    'DEMO_PLUG',
  ],
  413: ['BODY_TOO_LARGE'],
  414: ['URL_TOO_LONG'],
  415: ['MEDIA_TYPE_UNSUPPORTED'],
  421: ['HOST_UNKNOWN'],
  422: [
    'INPUT_INVALID',
    'OUTPUT_INVALID',
    'STATE_INVALID',
    'NOT_PLAIN_DATA',
    'TOKEN_INVALID',
    'DECISION_INVALID',
    'RETRY_INVALID',
    'SIGNAL_INVALID',
    'RUN_ID_INVALID',
    'DEFER_INVALID',
    'GRAPH_UNKNOWN',
    'IDEMPOTENCY_MISMATCH',
    'CHECKPOINT_NEWER',
    'WORKER_OPTIONS',
  ],
  429: ['STREAMS_FULL'],
}

const statusOf = new Map(
  Object.entries(statuses).flatMap(([status, codes]) =>
    codes.map((code) => [code, Number(status)] as const),
  ),
)

/** Other parts of the server give their own codes a status. */
export function addStatus(status: number, ...codes: readonly string[]): void {
  for (const code of codes) statusOf.set(code, status)
}

export function statusFor(error: unknown): number {
  if (!isCounterfoilError(error)) return 500
  const known = statusOf.get(error.code)
  if (known !== undefined) return known
  return error.code.startsWith('STORE_') ? 503 : 500
}

/** Of an error that was not foreseen nothing is told outside. */
export function problemJson(error: unknown, requestId: string) {
  const status = statusFor(error)
  const { code, message, retryable, details } =
    isCounterfoilError(error) && status !== 500 ? error : unforeseen
  return {
    type: `/errors/${code}`,
    title: titleOf(code),
    status,
    detail: message,
    code,
    request_id: requestId,
    retryable: retryable || status === 503,
    ...(Object.keys(details).length > 0 && status < 500 ? { details } : {}),
  }
}

const unforeseen = errorFor(
  'UNEXPECTED',
  'an unexpected error; the log of the server has it under this request id',
)

function titleOf(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

export function problem(error: unknown, requestId: string): Response {
  const body = problemJson(error, requestId)
  const headers = new Headers({ 'content-type': 'application/problem+json; charset=utf-8' })
  if (body.status === 401) headers.set('www-authenticate', 'Bearer realm="counterfoil"')
  if (body.status === 503 || body.status === 429) headers.set('retry-after', '1')
  return new Response(stringify(body), { status: body.status, headers })
}

/** Details of an error may hold anything. */
function stringify(body: { details?: unknown }): string {
  try {
    return JSON.stringify(body)
  } catch {
    const { details: _, ...rest } = body
    return JSON.stringify(rest)
  }
}
