// From a request to an answer: host, sizes, who asks, what they may, what they say, the handler.
// Whatever goes wrong is answered as a problem; nothing is thrown out of here.
import { Hono } from 'hono'
import { type CounterfoilError, errorFor } from '../model/errors.ts'
import { authenticate, checkRole, namespaceOf } from './auth/auth.ts'
import { checkCsrf } from './auth/sessions.ts'
import type { ServerContext } from './context.ts'
import { withHeaders } from './http/headers.ts'
import { once } from './http/idempotency.ts'
import { parseJson, readBytes, textOf } from './http/json.ts'
import * as limits from './http/limits.ts'
import { problem, statusFor } from './http/problem.ts'
import type { Answer, Method, Route, Shape } from './http/route.ts'

export interface App {
  fetch(request: Request): Promise<Response>
}

export interface AppOptions {
  readonly table: readonly Route[]
  /** Names that the server answers to, with their ports; null for any. */
  readonly hosts: () => ReadonlySet<string> | null
  /** The console and the pages; null for what it has not. */
  readonly pages: (request: Request, url: URL) => Promise<Response | null>
  /** Told of what was not foreseen. */
  readonly onError: (error: unknown, requestId: string) => void
}

interface Env {
  Bindings: { requestId: string }
}

export function createApp(context: ServerContext, options: AppOptions): App {
  const hono = new Hono<Env>()
  const paths = new Map<string, Method[]>()
  for (const route of options.table) {
    paths.set(route.path, [...(paths.get(route.path) ?? []), route.method])
    hono.on(route.method, route.path, (c) =>
      serve(context, route, c.req.raw, c.req.param() as Record<string, string>, c.env.requestId),
    )
  }
  for (const [path, methods] of paths) hono.all(path, () => wrongMethod(methods))
  hono.notFound(async (c) => {
    const page = await options.pages(c.req.raw, new URL(c.req.url))
    if (page) return page
    throw errorFor('ROUTE_NOT_FOUND')
  })
  hono.onError((error, c) => {
    const { requestId } = c.env
    if (statusFor(error) >= 500) options.onError(error, requestId)
    return problem(error, requestId)
  })
  return {
    fetch: async (request) => {
      const requestId = requestIdOf(context, request)
      let response: Response
      try {
        checkTarget(request, options.hosts())
        response = await hono.fetch(request, { requestId })
      } catch (error) {
        response = problem(error, requestId)
      }
      return withHeaders(response, requestId, context.tls)
    },
  }
}

function requestIdOf({ clock }: ServerContext, request: Request): string {
  const said = request.headers.get('x-request-id')
  return said !== null && /^[\w.-]{1,64}$/.test(said) ? said : clock.uuid()
}

/** A name that is not ours leads here by somebody else's DNS. */
function checkTarget(request: Request, hosts: ReadonlySet<string> | null): void {
  if (request.url.length > limits.urlLengthMax) {
    throw errorFor('URL_TOO_LONG', limits.urlLengthMax)
  }
  const { host } = new URL(request.url)
  if (hosts === null || hosts.has(host)) return
  throw errorFor('HOST_UNKNOWN')
}

function wrongMethod(methods: readonly Method[]): never {
  throw errorFor('METHOD_NOT_ALLOWED', methods)
}

async function serve(
  context: ServerContext,
  route: Route,
  request: Request,
  given: Record<string, string>,
  requestId: string,
): Promise<Response> {
  const who = checkRole(route, await authenticate(context, request))
  if (route.method !== 'GET' && route.role !== 'none' && who.session) {
    checkCsrf(context, request, who.session)
  }
  const { asked, rest } = queryOf(request)
  const namespace = namespaceOf(who, asked, context.namespace)
  const params = valid(route.params, given, 'path')
  const query = valid(route.query, rest, 'query')
  const bytes = await bodyOf(route, request)
  const body = route.raw ? undefined : valid(route.body, jsonOf(route, request, bytes), 'body')
  const client = context.clientOf(namespace)
  const call = { params, query, body, bytes, request, requestId, who, client, server: context }
  const work = async () => respond(route, await route.handler(call as never))
  const key = request.headers.get('idempotency-key')
  if (key === null || route.method !== 'POST' || route.secret) return work()
  const target = `${request.method} ${new URL(request.url).pathname} ${namespace}`
  const answered = () =>
    work().catch((error) => {
      if (statusFor(error) >= 500) throw error
      return problem(error, requestId)
    })
  return once({ store: context.store, who: who.id, namespace, key, target, bytes }, answered)
}

function respond(route: Route, answer: Answer): Response {
  if (answer instanceof Response) return answer
  const status = answer.status ?? route.status ?? 200
  if (status === 204) return new Response(null, { status })
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return new Response(JSON.stringify(answer.json), { status, headers })
}

function queryOf(request: Request): { asked: string | null; rest: Record<string, string> } {
  const rest: Record<string, string> = Object.create(null)
  for (const [key, value] of new URL(request.url).searchParams) {
    if (key in rest) throw invalid('query', `${shown(key)} is given twice`)
    if (value.length > limits.queryValueLengthMax)
      throw invalid('query', `${shown(key)} is too long`)
    rest[key] = value
  }
  const { namespace: asked = null, ...others } = rest
  return { asked, rest: others }
}

async function bodyOf(route: Route, request: Request): Promise<Uint8Array> {
  if (request.method === 'GET' || request.method === 'HEAD') return new Uint8Array()
  return readBytes(request, route.bodyBytesMax ?? limits.bodyBytesMax)
}

/** Only what says that it is JSON is read as such: a form of another site cannot say so. */
function jsonOf(route: Route, request: Request, bytes: Uint8Array): unknown {
  if (route.body === undefined || bytes.byteLength === 0) return {}
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json *(;|$)/i.test(type)) {
    throw errorFor('MEDIA_TYPE_UNSUPPORTED')
  }
  return parseJson(textOf(bytes))
}

function valid(shape: Shape | undefined, value: unknown, where: string): unknown {
  if (shape === undefined) {
    const [key] = where === 'query' ? Object.keys(value as object) : []
    if (key !== undefined) throw invalid(where, `${shown(key)} is not a parameter of this route`)
    return {}
  }
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.slice(0, issuesMax).map(({ path, message }) => {
    return { at: path.map(String).join('.'), message }
  })
  const [first] = issues
  throw invalid(where, `${first?.at || 'it'}: ${first?.message}`, issues)
}

const issuesMax = 20

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 64))
}

function invalid(where: string, what: string, issues?: object[]): CounterfoilError {
  return errorFor('REQUEST_INVALID', where, what, issues && { issues })
}
