// The port of runs and of all that is on record about them. A run's rows (its checkpoints, records,
// attempts, evidence, items, decisions, signals and events) change together, under the lock of the
// run's row, or not at all. What a write may hold is decided by policy.ts, commit-rules.ts and
// finality.ts, which every store asks; who signs rows is said in seal.ts.
import type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Run,
  RunRef,
  Signal,
} from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'
import type { Amendment, Authority, Commit, CommitResult, NewRun } from './changes.ts'
import type { ListRequest, Page } from './page.ts'

export interface Loaded {
  readonly run: Run
  /** From the base to the run's present visit; empty when another visit was asked for. */
  readonly checkpoints: readonly Checkpoint[]
  /** The records of the visit, of whatever node and version, in the order they were made. */
  readonly records: readonly Sealed<CallRecord>[]
  readonly attempts: readonly Sealed<Attempt>[]
  readonly evidence: readonly Sealed<Evidence>[]
  readonly items: readonly Item[]
  readonly decisions: readonly Sealed<Decision>[]
  /** Signals of the whole run that nothing has taken yet, in the order they came. */
  readonly signals: readonly Sealed<Signal>[]
  /** Outputs of ended children that lie in blobs, by digest: the engine adds them. */
  readonly childOutputs?: ReadonlyMap<string, string>
  /** Calls of the whole run that were failed without knowledge. */
  readonly unresolved: readonly { tool: string; inputHash: string }[]
  /** Workers of these attempts whose death is on record, and since when. */
  readonly deaths: ReadonlyMap<string, number>
}

/** Which visit is meant; for a scope also the ids that its host gave to it. */
export interface LoadAt {
  readonly visit: number
  readonly scope?: { readonly nodeId: string; readonly checkpointId: string }
}

/** A row with the answer to "is its MAC right?". */
export type Sealed<T> = T & { readonly verifies: boolean }

export type OpenCall = Pick<
  CallRecord,
  | ('nodeId' | 'checkpointId' | 'tool' | 'inputHash' | 'occurrence' | 'nth')
  | ('attempt' | 'status' | 'replayClass')
>

/** A graph as a store knows it (F3). */
export interface GraphRow {
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly fingerprint: string
  readonly contentJson: string
  readonly registeredAt: number
}

export type CheckpointRow = Omit<Checkpoint, 'bodyJson'> & { readonly bytes: number }

export interface RunFilter extends ListRequest {
  readonly state?: RunState
  readonly graph?: string
  /** The children of this run. */
  readonly parentRunId?: string
  /** Occurs in the run's id. */
  readonly idContains?: string
  readonly newestFirst?: boolean
}

/** An event with its place in the history of its run, which only grows. */
export type PlacedEvent = Event & { readonly id: number }

export interface EventsRequest extends Omit<ListRequest, 'namespace'> {
  /** Only events behind the one with this id. */
  readonly after?: number
}

export interface LedgerPort {
  /** Makes the run, or answers the one that has this id. */
  start(run: NewRun): Promise<{ created: boolean; run: Run }>
  /** The run with everything of its present visit, or of another of its generation. */
  load(ref: RunRef, at?: LoadAt): Promise<Loaded | null>
  /**
   * The only way the engine writes. One transaction for the batch; each commit succeeds or fails by
   * itself. A throw means that nobody knows: the same batch is written again.
   */
  commit(batch: readonly Commit[]): Promise<CommitResult[]>
  /** Writes without a lease, under the run row's lock. `change` is pure and may be run again. */
  amend<T>(
    ref: RunRef,
    by: Authority,
    change: (now: Loaded) => Amendment<T>,
    at?: LoadAt,
  ): Promise<T>
  /** The graph that has this id: the one given, if there was none. */
  registerGraph(graph: GraphRow): Promise<GraphRow>

  getRun(ref: RunRef): Promise<Run | null>
  listRuns(filter: RunFilter): Promise<Page<Run>>
  listRecords(ref: RunRef, page: Omit<ListRequest, 'namespace'>): Promise<Page<Sealed<CallRecord>>>
  listAttempts(ref: RunRef): Promise<Sealed<Attempt>[]>
  listEvidence(ref: RunRef): Promise<Sealed<Evidence>[]>
  /** In the order of generation and visit; without their bodies. */
  listCheckpoints(ref: RunRef): Promise<CheckpointRow[]>
  /** The chain that the state at this visit is made of. */
  loadCheckpoints(ref: RunRef, generation: number, visit: number): Promise<Checkpoint[]>
  listEvents(ref: RunRef, page: EventsRequest): Promise<Page<PlacedEvent>>

  /**
   * The hash of what was sent with a key of this tool first, in whatever visit; null if nothing.
   */
  keyInput(ref: RunRef, tool: string, idempotencyKey: string): Promise<string | null>
  /** Calls of the whole run that are not pure and have no end: pending, or before a person. */
  openCalls(ref: RunRef): Promise<readonly OpenCall[]>
  /** The attempt that waits for a callback with this token. */
  findAttempt(tokenHash: string): Promise<(RunRef & { attemptId: string }) | null>
  /** A signal by its sender's id, taken or not. */
  getSignal(ref: RunRef, signalId: string): Promise<Signal | null>
}
