// What every route may use: what the server was given, and what it keeps itself.
import type { ClientContext } from '../client/run/run.ts'
import { Samples } from './health/samples.ts'
import { Streams } from './http/stream.ts'
import type { ServerParts } from './parts.ts'

export interface ServerContext extends ServerParts {
  /** The same, seen by one namespace. */
  readonly clientOf: (namespace: string) => ClientContext
  /** Where people reach it, without a slash at the end. */
  readonly publicUrl: () => string
  /** Whether people reach it by HTTPS only. */
  readonly tls: boolean
  /** Whether the live demo runs behind it. */
  readonly demo: boolean
  /** Aborted when the server closes: streams end then. */
  readonly closing: AbortSignal
  readonly streams: Streams
  readonly samples: Samples
}

export function createContext(
  parts: ServerParts,
  more: Pick<ServerContext, 'publicUrl' | 'tls' | 'demo' | 'closing'>,
): ServerContext {
  const { store, clock, graphs, checkWorkers } = parts
  const clients = new Map<string, ClientContext>()
  const clientOf = (namespace: string) => {
    const known = clients.get(namespace)
    if (known) return known
    const made = { store, clock, namespace, graphs, checkWorkers }
    if (clients.size < namespacesKept) clients.set(namespace, made)
    return made
  }
  return { ...parts, ...more, clientOf, streams: new Streams(), samples: new Samples(parts) }
}

const namespacesKept = 1_000
