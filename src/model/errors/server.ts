// Errors of the HTTP server. Their details are shown outside: they hold what the caller has sent.
import { inWords, type Wordings } from './said.ts'

export const serverErrors = {
  SERVER_OPTIONS: inWords,
  SERVER_CANNOT_LISTEN: (host: string, port: number, why: string, cause: unknown) => ({
    message: `cannot listen on ${host}:${port}: ${why}; say another --port`,
    cause,
  }),
  ROUTE_NOT_FOUND: () => ({
    message: 'there is no such route; GET /v1/openapi.json lists them',
  }),
  URL_TOO_LONG: (lengthMax: number) => ({ message: `a URL has at most ${lengthMax} characters` }),
  HOST_UNKNOWN: () => ({
    message:
      'unknown host: this server is not reached by that name; start it with --public-url and the ' +
      'URL that people use',
  }),
  METHOD_NOT_ALLOWED: (allowed: readonly string[]) => ({
    message: `this method is not allowed here; use ${allowed.join(', ')}`,
    details: { allowed: [...allowed] },
  }),
  MEDIA_TYPE_UNSUPPORTED: () => ({ message: 'send Content-Type: application/json' }),
  /** `where`: which part of the request. */
  REQUEST_INVALID: (where: string, what: string, details: Record<string, unknown> = {}) => ({
    message: `${where}: ${what}`,
    details,
  }),
  JSON_INVALID: (message: string, cause?: unknown) => ({ message, cause }),
  BODY_TOO_LARGE: (bytesMax: number) => ({
    message: `the body has more than ${bytesMax} bytes`,
  }),
  UNAUTHENTICATED: inWords,
  ROLE_FORBIDDEN: inWords,
  NAMESPACE_FORBIDDEN: (namespace: string) => ({
    message: `this token is for the namespace ${namespace}`,
  }),
  CSRF_INVALID: inWords,
  TOKEN_INVALID: (what: string) => ({ message: `token: ${what}` }),
  TOKEN_NOT_FOUND: (id: string) => ({ message: `there is no token ${id}` }),
  IDEMPOTENCY_MISMATCH: () => ({
    message: 'this Idempotency-Key was used for another request; choose another',
  }),
  IDEMPOTENCY_IN_FLIGHT: () => ({
    message: 'a request with this Idempotency-Key is under way; ask again in a moment',
    retryable: true,
  }),
  STREAMS_FULL: (streamsMax: number) => ({
    message: `${streamsMax} streams are open, which is as many as there may be`,
    retryable: true,
  }),
  LINK_INVALID: (itemId: string, outcome: string) => ({
    message: `item ${itemId} has no "${outcome}", which the link would say`,
  }),
  LINK_NOT_FOUND: inWords,
  LINK_USED: () => ({ message: 'this link was already used: a link decides once' }),
  WEBHOOK_INVALID: (what: string) => ({ message: `webhook: ${what}` }),
  WEBHOOK_ADDRESS: (host: string, address: string) => ({
    message: `${host} resolves to ${address}, which is a private address`,
  }),
  WEBHOOK_NOT_FOUND: (id: string) => ({ message: `there is no webhook ${id}` }),
  WEBHOOK_REPLAYED: () => ({
    message: 'a request with this webhook-id was taken before; it counts once',
  }),
  SIGNATURE_INVALID: (why: string) => ({ message: `the request was refused: ${why}` }),
  DELIVERY_NOT_FOUND: (id: string) => ({ message: `there is no delivery ${id}` }),
  DELIVERY_BUSY: (id: string) => ({
    message: `delivery ${id} is being sent at this moment; look again`,
    retryable: true,
  }),
  SOURCE_NOT_FOUND: (id: string) => ({ message: `there is no source ${id}` }),
  SOURCE_BUSY: (id: string) => ({
    message: `source ${id} was changed at this moment; look again`,
    retryable: true,
  }),
  SOURCE_FORBIDDEN: (name: string, type: string) => ({
    message: `source ${name} may not send ${type}`,
  }),
  UNEXPECTED: (message: string, cause?: unknown) => ({ message, cause }),
} as const satisfies Wordings
