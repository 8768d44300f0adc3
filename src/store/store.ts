// The store contract, whole. A store keeps rows; it knows nothing of tools or nodes. What a write
// may contain is decided in policy.ts, what a row is signed with in seal.ts; both are shared by all
// stores.
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
  StopRequest,
  WaitingFor,
} from '../model/records.ts'
import type { RunState } from '../model/run-state.ts'

/**
 * One run's changes. Rows are put whole: inserted, or replacing an earlier form of themselves that
 * is not yet final. All of it lands, or nothing.
 */
export interface Changes {
  records?: CallRecord[]
  attempts?: Attempt[]
  evidence?: Evidence[]
  items?: Item[]
  decisions?: Decision[]
  events?: Event[]
  checkpoints?: Checkpoint[]
  run?: RunChange
}

export interface RunChange {
  /** A transition; its legality is checked against the row under its lock. */
  state?: RunState
  waitingFor?: WaitingFor | null
  outputJson?: string | null
  errorJson?: string | null
  /** Something that may wake the run (I10). */
  arrive?: boolean
  /** Sets or clears what is asked of the holder. */
  stop?: StopRequest | null
  /** Where the run stands now: with the checkpoint of that visit. */
  node?: string
  visit?: number
  /** A record of a visit whose checkpoint was skipped is in this change. */
  reached?: number
  /** Goes back to an earlier visit: checkpoints of later ones are dropped, records stay. */
  rewind?: boolean
  outputDigest?: string | null
  /** Gives the lease back with this change. */
  release?: boolean
  /** Work was done that a crash cannot undo: the count of claims begins again. */
  progress?: boolean
}

/** The changes of a lease holder. */
export interface Commit extends RunRef {
  /** Writing the same commit again is no second write (I4). */
  readonly commitId: string
  readonly workerId: string
  readonly fence: number
  /** Set by a park: it holds only if nothing has arrived since this count was read (I10). */
  readonly arrivalsSeen?: number
  readonly changes: Changes
}

export type CommitResult = 'done' | 'stale_fence' | 'arrived'

/** Who writes without a lease: a person or client, or a former holder who learnt something. */
export type Authority = 'client' | 'evidence'

export interface Amendment<T> {
  changes: Changes | null
  value: T
}

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

export interface WorkerRow {
  readonly workerId: string
  readonly pid: number
  readonly host: string
  readonly bootId: string
  readonly socketPath: string | null
  readonly socketInode: string | null
  readonly startedAt: number
  /** On the store's lease clock. */
  readonly leaseUntil: number
  readonly expired: boolean
  readonly stoppedAt: number | null
  readonly diedAt: number | null
  readonly deathProof: string | null
}

export type NewWorker = Omit<
  WorkerRow,
  'leaseUntil' | 'expired' | 'stoppedAt' | 'diedAt' | 'deathProof'
>

export interface ClaimRequest {
  readonly workerId: string
  /** Only runs of this one; all, if it is not said. */
  readonly namespace?: string
  readonly graphs: readonly { name: string; version: string }[]
  readonly countMax: number
  /** This run and no other. */
  readonly runId?: string
}

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

export interface NewRun {
  readonly run: Run
  /** Null for a run whose state is kept by a foreign runtime. */
  readonly checkpoint: Checkpoint | null
  readonly event: Event
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Give it back as `cursor` for what follows; null at the end. */
  readonly next: string | null
}

export interface ListRequest {
  readonly namespace: string
  readonly cursor?: string
  readonly countMax?: number
}

export interface RunFilter extends ListRequest {
  readonly state?: RunState
  readonly graph?: string
  readonly newestFirst?: boolean
}

export interface ItemFilter extends ListRequest {
  readonly kind?: Item['kind']
  readonly state?: Item['state']
  readonly runId?: string
}

export interface Store {
  readonly url: string
  /** What this store does not promise, in sentences for people; empty for a durable one. */
  readonly caveats: readonly string[]

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

  /** Registers a worker with a first lease of `leaseMs`. */
  register(worker: NewWorker, leaseMs: number): Promise<void>
  /**
   * One write, however many runs it holds. False if the worker was declared dead or has stopped.
   */
  renew(workerId: string, leaseMs: number): Promise<boolean>
  /** Takes runs that wait for a worker, or whose worker's lease has ended. */
  claim(request: ClaimRequest): Promise<Run[]>
  /**
   * It takes no more runs. `ended`: no function of its attempts runs on, so nobody need ask its
   * socket; else its attempts end with its process, as after a death.
   */
  stopWorker(workerId: string, ended: boolean): Promise<void>
  declareDead(workerId: string, proof: string): Promise<void>
  /** Runs of this worker that somebody wants stopped, with the arrivals that include the wish. */
  stops(workerId: string): Promise<readonly Run[]>
  /**
   * `provable`: only those whose death is not on record and can still be proven by their socket.
   */
  workers(filter?: { provable?: boolean }): Promise<WorkerRow[]>

  /** The graph that has this id: the one given, if there was none. */
  registerGraph(graph: GraphRow): Promise<GraphRow>
  /**
   * The hash of what was sent with a key of this tool first, in whatever visit; null if nothing.
   */
  keyInput(ref: RunRef, tool: string, idempotencyKey: string): Promise<string | null>
  /** Calls of the whole run that are not pure and have no end: pending, or before a person. */
  openCalls(ref: RunRef): Promise<readonly OpenCall[]>
  /** Which of these blobs some row refers to. */
  blobsInUse(digests: readonly string[]): Promise<ReadonlySet<string>>
  /** A new key signs from now on; rows of the old ones still verify. Answers the new key's id. */
  rotateKey(): Promise<string>

  /** Runs are given out without a large output, so that polling reads none: this reads it. */
  readOutput(run: Run): Promise<string | null>
  getRun(ref: RunRef): Promise<Run | null>
  getItem(namespace: string, itemId: string): Promise<Item | null>
  listRuns(filter: RunFilter): Promise<Page<Run>>
  listItems(filter: ItemFilter): Promise<Page<Item>>
  listRecords(ref: RunRef, page: Omit<ListRequest, 'namespace'>): Promise<Page<Sealed<CallRecord>>>
  listAttempts(ref: RunRef): Promise<Sealed<Attempt>[]>
  listEvidence(ref: RunRef): Promise<Sealed<Evidence>[]>
  /** In the order of generation and visit; without their bodies. */
  listCheckpoints(ref: RunRef): Promise<CheckpointRow[]>
  /** The chain that the state at this visit is made of. */
  loadCheckpoints(ref: RunRef, generation: number, visit: number): Promise<Checkpoint[]>
  listDecisions(ref: RunRef): Promise<Sealed<Decision>[]>
  listEvents(ref: RunRef, page: Omit<ListRequest, 'namespace'>): Promise<Page<Event>>

  /** Null, or why no live run is worked on until a person adopts the store (I12). */
  moved(): Promise<string | null>
  adopt(by: string, reason: string): Promise<void>
  /**
   * Calls `listener` after a write of this process that started, woke, parked or ended a run (not
   * after every receipt); the returned function stops it.
   */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}
