// What the server is given by whoever composes it.
import type { ClientContext } from '../client/run.ts'
import type { Clock } from '../clock.ts'
import type { Graph } from '../model/graph.ts'
import type { Store } from '../store/store.ts'
import { Samples } from './samples.ts'
import { Streams } from './stream.ts'

/** What this process has done, for metrics; a server without a worker has none of it. */
export interface ProcessFigures {
  readonly workers: readonly WorkerFigures[]
  readonly commits: CommitFigures
}

export interface WorkerFigures {
  readonly running: number
  readonly claimed: number
  readonly lost: number
  readonly woken: number
  readonly wakeLagMs: number
  readonly wakeLagMaxMs: number
  readonly overdue: number
  readonly swept: number
  readonly failures: number
}

export interface CommitFigures {
  readonly batches: number
  readonly commits: number
  readonly failures: number
}

export interface ServerParts {
  readonly store: Store
  readonly clock: Clock
  readonly namespace: string
  readonly graphs: ReadonlyMap<string, Graph>
  readonly checkWorkers: () => Promise<void>
  /** Why a worker cannot be said to be dead, or the proof with what can be seen. */
  readonly proofOf: (workerId: string, said: string) => Promise<string>
  readonly figures: () => ProcessFigures
  readonly version: string
}

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
