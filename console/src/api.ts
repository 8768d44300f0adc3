// Requests to the server that serves this page, each with an end: an answer, a problem, a timeout.
import { signal } from '@preact/signals'
import { deadline, randomId } from './clock.ts'
import { param } from './route.tsx'
import type { Session } from './wire.ts'

/** undefined: not asked yet. null: nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined)

const requestMsMax = 15_000

interface Shape {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly request_id?: string
}

/** What the server says when it says no (RFC 9457), or why it said nothing. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly title: string
  readonly requestId: string | null

  constructor(shape: Shape) {
    super(shape.detail)
    this.status = shape.status
    this.code = shape.code
    this.title = shape.title
    this.requestId = shape.request_id ?? null
  }
}

interface Options {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: unknown
  /** The same for a second try of the same wish, so that it is no second wish. */
  readonly key?: string
}

export async function api<T>(path: string, options: Options = {}): Promise<T> {
  const { method = 'GET' } = options
  const response = await send(path, method, options)
  if (response.status === 401 && session.value) session.value = null
  if (!response.ok) throw await problemOf(response)
  if (response.status === 204) return undefined as T
  return (await response.json()) as T
}

async function send(path: string, method: string, { body, key }: Options): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (method !== 'GET') {
    headers['X-CSRF-Token'] = session.value?.csrf ?? ''
    headers['Idempotency-Key'] = key ?? randomId()
  }
  const init: RequestInit = { method, headers, signal: deadline(requestMsMax) }
  if (body !== undefined) init.body = JSON.stringify(body)
  try {
    return await fetch(inNamespace(path), init)
  } catch (error) {
    throw unanswered(error)
  }
}

/** A token for all namespaces says with every request which one is meant. */
export function inNamespace(path: string): string {
  const wanted = session.value?.every_namespace ? param('namespace') : null
  if (wanted === null || wanted === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}namespace=${encodeURIComponent(wanted)}`
}

function unanswered(error: unknown): Problem {
  const slow = error instanceof DOMException && error.name === 'TimeoutError'
  return new Problem({
    status: 0,
    code: slow ? 'TIMEOUT' : 'UNREACHABLE',
    title: slow ? 'No answer in time' : 'The server cannot be reached',
    detail: slow
      ? `The server has not answered within ${requestMsMax / 1_000} seconds.`
      : 'It may be restarting, or the network is gone. Is `counterfoil serve` running?',
  })
}

async function problemOf(response: Response): Promise<Problem> {
  const { status } = response
  try {
    const shape = (await response.json()) as Partial<Shape>
    const title = shape.title ?? `Status ${status}`
    return new Problem({ status, code: '', detail: title, ...shape, title })
  } catch {
    const detail = `The server answered with status ${status} and nothing readable.`
    return new Problem({ status, code: '', title: `Status ${status}`, detail })
  }
}

export async function askSession(): Promise<void> {
  try {
    session.value = await api<Session>('/v1/session')
  } catch (error) {
    if (error instanceof Problem && (error.status === 401 || error.status === 403)) {
      session.value = null
      return
    }
    throw error
  }
}

export async function signIn(token: string): Promise<void> {
  await api('/v1/session', { method: 'POST', body: { token } })
  await askSession()
}

export async function signOut(): Promise<void> {
  await api('/v1/session', { method: 'DELETE' })
  session.value = null
}

/** Whether this session may change anything: buttons that would be refused are not shown. */
export function mayWrite(): boolean {
  const role = session.value?.role
  return role === 'operator' || role === 'admin'
}

export function isAdmin(): boolean {
  return session.value?.role === 'admin'
}
