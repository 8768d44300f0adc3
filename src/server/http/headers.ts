// Headers of every answer. No script but our files, no frame, no other origin, nothing kept.

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const always: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

/** A year: whoever has come by HTTPS does not come by HTTP again. */
const strictTransport = 'max-age=31536000'

export function withHeaders(response: Response, requestId: string, tls: boolean): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(always)) headers.set(name, value)
  headers.set('x-request-id', requestId)
  if (tls) headers.set('strict-transport-security', strictTransport)
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
