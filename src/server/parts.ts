// What the server is given by whoever composes it.
import type { Clock } from '../clock.ts'
import type { Graph } from '../model/graph/graph.ts'
import type { Store } from '../store/store.ts'

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
