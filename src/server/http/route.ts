// One entry of the route table. The router, the OpenAPI document, the namespace test and the fuzz
// test are all made from the table: nothing is served that is not in it.
import type { z } from 'zod'
import type { ClientContext } from '../../client/run/run.ts'
import type { Principal, Role } from '../auth/principal.ts'
import type { ServerContext } from '../context.ts'

export type Method = 'GET' | 'POST' | 'DELETE'

/** `none`: anybody. Else at least this role. */
export type Access = Role | 'none'

export type Shape = z.ZodType
type Out<S> = S extends z.ZodType<infer T> ? T : Record<string, never>

export interface RouteSpec<P, Q, B> {
  readonly method: Method
  /** Parameters as in `/v1/runs/:run`. */
  readonly path: string
  readonly role: Access
  readonly summary: string
  readonly tag: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** What it answers with; absent for what is no JSON. */
  readonly answer?: Shape
  /** Of the answer that is no JSON. */
  readonly type?: 'text/event-stream' | 'text/plain' | 'text/html'
  readonly status?: 200 | 201 | 202 | 204 | 303
  /** Its answers are not remembered by Idempotency-Key, because they hold a secret. */
  readonly secret?: boolean
  /** The handler verifies the bytes itself; they are not parsed. */
  readonly raw?: boolean
  /** Bytes of a body, if not `limits.bodyBytesMax`. */
  readonly bodyBytesMax?: number
  /** What belongs to the server as a whole: of whatever namespace. */
  readonly global?: boolean
  readonly handler: (call: Call<Out<P>, Out<Q>, Out<B>>) => Promise<Answer> | Answer
}

export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** As it came, for a route that is `raw`. */
  readonly bytes: Uint8Array
  readonly request: Request
  readonly requestId: string
  readonly who: Principal
  /** Of the namespace that the request is about. */
  readonly client: ClientContext
  readonly server: ServerContext
}

/** JSON with the route's status, or a whole response. */
export type Answer = { readonly json: unknown; readonly status?: number } | Response

export type Route = RouteSpec<Shape | undefined, Shape | undefined, Shape | undefined>

/** Checks the handler against its schemas, and forgets them for the table. */
export function route<
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | undefined = undefined,
>(spec: RouteSpec<P, Q, B>): Route {
  return spec as unknown as Route
}
