// A real server on loopback with a store of its own, a worker if asked for, and a client.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Counterfoil, graph, open, tool, workflow } from '../../src/index.ts'
import type { Role } from '../../src/server/auth/principal.ts'
import { createToken } from '../../src/server/auth/tokens.ts'
import type { CounterfoilServer, ServerOptions } from '../../src/server/server.ts'

export const post = tool({
  name: 'post',
  replayClass: 'unsafe_on_replay',
  input: z.object({ to: z.string() }),
  run: async ({ to }) => ({ id: `m-${to}` }),
})

/** Asks once, posts, ends. */
export const letter = graph({
  id: 'letter@1.0.0',
  state: z.object({ to: z.string(), ok: z.boolean().default(false) }),
  tools: [post],
  start: 'ask',
  nodes: {
    ask: async (state, ctx) => {
      const answer = await ctx.approval({ queue: 'sales', title: 'Send it?', data: state })
      return answer.approved ? ctx.go('send', { ok: true }) : ctx.fail(answer.reason)
    },
    send: async (state, ctx) => ctx.done(await ctx.call(post, { to: state.to })),
  },
})

export const quick = workflow({
  id: 'quick@1.0.0',
  input: z.object({ n: z.number() }),
  tools: [post],
  run: async ({ n }, ctx) => {
    await ctx.call(post, { to: String(n) })
    return { n }
  },
})

export const patient = workflow({
  id: 'patient@1.0.0',
  input: z.null(),
  tools: [],
  run: async (_, ctx) => ctx.signal('go'),
})

export const graphs = [letter, quick, patient]

export interface Bench {
  readonly cf: Counterfoil
  readonly server: CounterfoilServer
  /** A client with a token of this role. */
  as(role: Role, more?: { name?: string; namespace?: string; groups?: string[] }): Promise<Client>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  readonly json: any
}

export interface Client {
  readonly token: string
  get(path: string, headers?: Record<string, string>): Promise<Reply>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  delete(path: string): Promise<Reply>
}

export async function startServer(
  options: { store?: string; key?: string; worker?: boolean } & ServerOptions = {},
): Promise<Bench> {
  const { store, key, worker = false, ...rest } = options
  const dir = mkdtempSync(join(tmpdir(), 'cf-server-'))
  const url = store ?? `sqlite:${join(dir, 'runs.db')}`
  const cf = await open({
    ...{ store: url, graphs, onWarning: () => {} },
    ...(key === undefined ? {} : { key }),
  })
  const server = await cf.server({ port: 0, ...rest })
  if (worker) await cf.worker({ concurrency: 5 }).start()
  onTestFinished(async () => {
    await cf.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const as: Bench['as'] = async (
    role,
    { name = role, namespace = 'default', groups = [] } = {},
  ) => {
    const made = await createToken(cf.store, { name, role, namespace, groups, by: 'test' })
    return clientOf(server.url, made.token)
  }
  return { cf, server, as }
}

export function clientOf(url: string, token: string): Client {
  const auth = { authorization: `Bearer ${token}` }
  const send = async (method: string, path: string, init: RequestInit) =>
    replyOf(await fetch(`${url}${path}`, { method, redirect: 'manual', ...init }))
  return {
    token,
    get: (path, headers = {}) => send('GET', path, { headers: { ...auth, ...headers } }),
    post: (path, body, headers = {}) =>
      send('POST', path, {
        headers: { ...auth, 'content-type': 'application/json', ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    delete: (path) => send('DELETE', path, { headers: auth }),
  }
}

export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text()
  const { status, headers } = response
  const isJson = /json/.test(headers.get('content-type') ?? '')
  return { status, headers, text, json: isJson && text !== '' ? JSON.parse(text) : null }
}

/** Until `look` gives something. */
export async function until<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
