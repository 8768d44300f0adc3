// The HTTP server: listens, answers, and ends what it has begun.
import { setMaxListeners } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { type CounterfoilError, errorFor } from '../model/errors.ts'
import { type App, createApp } from './app.ts'
import { makeTicket } from './auth/sessions.ts'
import { createToken, revokeToken } from './auth/tokens.ts'
import { createContext, type ServerContext } from './context.ts'
import * as limits from './http/limits.ts'
import { createPages } from './pages.ts'
import type { ServerParts } from './parts.ts'
import { type DemoDesk, demoRoutes } from './routes/demo.ts'
import { table } from './table.ts'
import { Dispatcher, type DispatcherOptions } from './webhooks/dispatcher.ts'

export interface ServerOptions {
  /** 0: any that is free. */
  readonly port?: number
  readonly host?: string
  /**
   * Where people reach it, if a proxy stands before it: `https://cf.example.com`. Needed for any
   * host but this machine, because this server does not speak TLS itself.
   */
  readonly publicUrl?: string
  /** Listen on a host that is not this machine without TLS before it: everybody can listen in. */
  readonly insecureHttp?: boolean
  /** How outgoing webhooks are sent; `false` leaves that to others of the same store. */
  readonly webhooks?: false | Partial<DispatcherOptions>
  /** Told of what was not foreseen. */
  readonly onError?: (error: unknown, requestId: string) => void
  /** The live demo that it is the server of. */
  readonly demo?: DemoDesk
}

const loopback = ['127.0.0.1', '::1', 'localhost']

/** What `cf.server()` gives. */
export class CounterfoilServer {
  private readonly options: Required<Pick<ServerOptions, 'port' | 'host'>> & ServerOptions
  private readonly context: ServerContext
  private readonly closing = new AbortController()
  private readonly http: HttpServer
  private readonly dispatcher: Dispatcher | null
  private own: { id: string; token: string } | null = null
  private address: { host: string; port: number } | null = null
  private ending: Promise<void> | null = null
  /** Answers requests without a socket. */
  readonly app: App

  constructor(parts: ServerParts, options: ServerOptions = {}) {
    const { port = 0, host = '127.0.0.1' } = options
    this.options = { ...options, port, host }
    checkHost(this.options)
    // Every stream listens for the end of the server.
    setMaxListeners(limits.streamsMax, this.closing.signal)
    const tls = options.publicUrl?.startsWith('https://') === true
    this.context = createContext(parts, {
      tls,
      closing: this.closing.signal,
      publicUrl: () => options.publicUrl?.replace(/\/+$/, '') ?? this.url,
      demo: options.demo !== undefined,
    })
    this.app = createApp(this.context, {
      table: options.demo ? [...table, ...demoRoutes(options.demo)] : table,
      pages: createPages(),
      hosts: () => this.hosts(),
      onError: options.onError ?? (() => {}),
    })
    this.dispatcher = dispatcherOf(this.context, options)
    this.http = createAdaptorServer({
      fetch: (request: Request) => this.app.fetch(request),
      overrideGlobalObjects: false,
      serverOptions: {
        maxHeaderSize: limits.headerBytesMax,
        headersTimeout: limits.headersTimeoutMs,
        requestTimeout: limits.requestTimeoutMs,
        connectionsCheckingInterval: limits.timeoutCheckMs,
      },
    }) as HttpServer
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const { port, host } = this.options
    await new Promise<void>((resolve, reject) => {
      this.http.once('error', (cause: NodeJS.ErrnoException) =>
        reject(cannotListen(cause, host, port)),
      )
      this.http.listen({ port, host }, resolve)
    })
    const found = this.http.address()
    if (found === null || typeof found === 'string') throw new Error('it listens on no port')
    this.address = { host, port: found.port }
    this.context.samples.start()
    this.dispatcher?.start()
  }

  /** Where it listens. */
  get url(): string {
    const { host, port } = this.address ?? this.options
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  }

  /** An admin's token of this server's own, made at first use; kept as a hash only. */
  async adminToken(): Promise<string> {
    return (await this.ownToken()).token
  }

  /** A URL that signs a browser in: once. */
  async entryUrl(): Promise<string> {
    const { id } = await this.ownToken()
    const ticket = await makeTicket(this.context, id)
    return `${this.context.publicUrl()}/enter?ticket=${ticket}`
  }

  /** Ends streams, waits a little for requests under way, and forgets its own token. */
  close(): Promise<void> {
    this.ending ??= this.end()
    return this.ending
  }

  private async end(): Promise<void> {
    this.closing.abort()
    this.context.samples.stop()
    await this.dispatcher?.stop()
    const { store, clock } = this.context
    if (this.http.listening) {
      const closed = new Promise<void>((resolve) => this.http.close(() => resolve()))
      this.http.closeIdleConnections()
      const cancel = clock.after(limits.closeGraceMs, () => this.http.closeAllConnections())
      await closed
      cancel()
    }
    // A store that is gone takes the token with it: it expires.
    if (this.own) await revokeToken(store, '*', this.own.id).catch(() => {})
  }

  private async ownToken(): Promise<{ id: string; token: string }> {
    if (this.own) return this.own
    const { store, clock } = this.context
    const about = { name: 'admin', role: 'admin', namespace: '*', by: 'counterfoil serve' } as const
    const expiresAt = clock.now() + limits.ownTokenMs
    const { token, row } = await createToken(store, { ...about, expiresAt })
    this.own = { id: row.id, token }
    return this.own
  }

  /** The names of this machine, and the one that people use. */
  private hosts(): ReadonlySet<string> | null {
    const { publicUrl, host } = this.options
    const { port } = this.address ?? this.options
    if (publicUrl === undefined && !loopback.includes(host)) return null
    const names = loopback.map((name) => (name.includes(':') ? `[${name}]` : name))
    const own = names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])])
    return new Set([...own, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])])
  }
}

function dispatcherOf(context: ServerContext, options: ServerOptions): Dispatcher | null {
  const { webhooks = {}, onError = () => {} } = options
  if (webhooks === false) return null
  const { store, clock, publicUrl } = context
  const failed = (error: unknown) => onError(error, 'webhooks')
  return new Dispatcher({ store, clock, publicUrl, onError: failed, ...webhooks })
}

function checkHost({ host, publicUrl, insecureHttp }: ServerOptions): void {
  const bad = (what: string) => errorFor('SERVER_OPTIONS', what)
  if (publicUrl !== undefined && !URL.canParse(publicUrl)) throw bad(`${publicUrl} is not a URL`)
  if (publicUrl !== undefined && !/^https?:$/.test(new URL(publicUrl).protocol)) {
    throw bad('the public URL begins with https://, or http:// for this machine')
  }
  if (host === undefined || loopback.includes(host) || insecureHttp === true) return
  if (publicUrl?.startsWith('https://') === true) return
  throw bad(
    `listening on ${host} lets others in, and this server does not speak TLS: put a proxy before ` +
      'it that does and say --public-url https://…, or accept with --insecure-http that others ' +
      'can read the traffic',
  )
}

function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): CounterfoilError {
  const why = cause.code === 'EADDRINUSE' ? 'something else listens there' : cause.message
  return errorFor('SERVER_CANNOT_LISTEN', host, port, why, cause)
}
