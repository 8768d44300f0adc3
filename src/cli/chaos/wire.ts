// How the processes of chaos talk: JSON over HTTP on this machine, one small request at a time.
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { End, Facts, Failure } from './types.ts'
import { failureOf } from './upstream.ts'

/** What the upstream's process is told, in a file whose path is its argument. */
export interface ServerSpec {
  readonly file: string
  readonly log: string
  /** A file with what an earlier run was answered; null without a recording. */
  readonly recording: string | null
}

/** What a process that will be killed is told. */
export interface LifeSpec {
  readonly file: string
  readonly store: string
  readonly key: string | null
  readonly namespace: string
  /** A graph's id; null for the file's agent. */
  readonly graph: string | null
  readonly input: unknown
  readonly runId: string
  readonly dir: string
  readonly port: number
  /** The number of the boundary to die at; 0 for none. */
  readonly dieAt: number
  readonly skewMs: number
  /** Of what `ctx.random` gives. */
  readonly seed: number
  readonly real: readonly string[]
  readonly probes: readonly string[]
  /** Where it writes what became of it. */
  readonly out: string
}

/** The first message of the upstream's process. */
export type Greeting =
  | { readonly port: number; readonly facts: Facts }
  | { readonly error: Failure }

/** A life has nothing left to do. */
export interface Resting {
  readonly end: End | null
}

/** What it is told then. */
export interface Told {
  readonly goOn: boolean
  readonly skewMs: number
}

export function post<T>(port: number, path: string, body: unknown = null): Promise<T> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const { value, error } = JSON.parse(text) as { value?: T; error?: Failure }
        if (error) reject(Object.assign(new Error(error.message), error))
        else resolve(value as T)
      })
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

type Routes = Readonly<Record<string, (body: never) => unknown>>

export function serve(routes: Routes): Promise<{ port: number; server: Server }> {
  const server = createServer((asked, response) => {
    let text = ''
    asked.on('data', (chunk) => {
      text += chunk
    })
    asked.on('end', () => {
      const work = async () => routes[asked.url ?? '']?.(JSON.parse(text) as never)
      work().then(
        (value) => response.end(JSON.stringify({ value })),
        (error) => response.end(JSON.stringify({ error: failureOf(error) })),
      )
    })
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve({ port: (server.address() as AddressInfo).port, server })
    })
  })
}
