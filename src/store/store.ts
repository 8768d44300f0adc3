// The store contract, whole. A store keeps rows; it knows nothing of tools or nodes. What a write
// may contain is decided in policy.ts, what a row is signed with in seal.ts; both are shared by all
// stores.
import type { Clock } from '../clock.ts'
import type {
  Attempt,
  CallRecord,
  Checkpoint,
  Decision,
  Event,
  Evidence,
  Item,
  Notice,
  Run,
  RunRef,
  Signal,
  StopRequest,
  WaitingFor,
} from '../model/records.ts'
import type { RunState } from '../model/run-state.ts'
import type { DocumentStore } from './documents.ts'
import type { Backlog, Recent } from './recent.ts'
import type { ThreadStore } from './threads.ts'

export type * from './documents.ts'

export type { Backlog, Recent } from './recent.ts'
export type * from './threads.ts'

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
  /** New ones by a client; by a holder, those that the run has taken. */
  signals?: Signal[]
  /** Runs that this one starts: made with the intent that asks for them, or not at all. */
  children?: NewRun[]
  /** What people outside must be told. One that is there already stays as it is. */
  notices?: Notice[]
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
  /** With a park: when the run is looked at again, whatever arrives before. */
  wakeAt?: number | null
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
  /** The run's parent, which is told of its end in the same transaction. */
  readonly parent?: Parent
  readonly changes: Changes
}

/** The attempt of `ctx.spawn` that waits for a child. */
export interface Parent {
  readonly runId: string
  readonly attemptId: string
}

/** `locked`: somebody else has the run's row just now; nothing was written, it is tried again. */
export type CommitResult = 'done' | 'stale_fence' | 'arrived' | 'locked'

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
  /** This run and no other; an id alone names one in each namespace. */
  readonly only?: RunRef
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
  /** The children of this run. */
  readonly parentRunId?: string
  /** Occurs in the run's id. */
  readonly idContains?: string
  readonly newestFirst?: boolean
}

export interface ItemFilter extends ListRequest {
  readonly kind?: Item['kind']
  readonly state?: Item['state']
  readonly runId?: string
  readonly queue?: string
  /** Open ones whose SLA has passed. */
  readonly overdue?: boolean
  readonly newestFirst?: boolean
}

/** An event with its place in the history of its run, which only grows. */
export type PlacedEvent = Event & { readonly id: number }

export interface EventsRequest extends Omit<ListRequest, 'namespace'> {
  /** Only events behind the one with this id. */
  readonly after?: number
}

/** How long the records of ended runs are kept, by replay class (B6). */
export interface Retention {
  readonly pureMs: number
  readonly keyedMs: number
  readonly unsafeMs: number
}

export interface WakePass {
  readonly woken: number
  /** How late the latest of them was. */
  readonly lagMs: number
  /** When the next one is due; null if none is. */
  readonly nextAt: number | null
}

/** How many runs there are of one version, by state (F4). */
export interface VersionRow {
  readonly graph: string
  readonly version: string
  /** Null for a version that runs exist of and that was never registered. */
  readonly registeredAt: number | null
  readonly states: Readonly<Partial<Record<RunState, number>>>
}

/** The result of a pure tool that runs share (B10). */
export interface ShareKey {
  readonly namespace: string
  readonly tool: string
  readonly inputHash: string
}

export interface Shared {
  readonly resultJson: string | null
  readonly externalId: string | null
}

/** Use it; or make it, nobody else does until `makeMs` is over; or ask again in a moment. */
export type ShareAnswer =
  | { readonly do: 'use'; readonly shared: Shared }
  | { readonly do: 'make' | 'wait' }

/** What a thread of its own needs to renew a lease while this one is blocked. */
export interface Renewal {
  /** The URL of a module that exports `openRenewer(data)`, which gives a `Renewer`. */
  readonly module: string
  readonly data: unknown
}

export interface Renewer {
  renew(workerId: string, leaseMs: number): Promise<boolean>
  close(): Promise<void>
}

export interface Store extends DocumentStore, ThreadStore {
  readonly url: string
  /** The time that rows are written with: this machine's, or that of a server all share. */
  readonly clock: Clock
  /**
   * Milliseconds like the clock's, which nobody can set back: for windows that must not open again.
   */
  readonly steadyNow: () => number
  /** Whether every process that uses it runs on this machine. */
  readonly local: boolean
  /** How many batches it writes at once; one, if it is not said. */
  readonly batchesMax?: number
  /** Null where nobody else could take a run over. */
  readonly renewal: Renewal | null
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

  /** Wakes runs whose time has come: at most so many, the longest overdue first (D6). */
  wakeDue(countMax: number): Promise<WakePass>
  /** Open items past their SLA that were not noticed yet, of all namespaces. */
  listOverdue(countMax: number): Promise<Item[]>
  /**
   * One pass of retention over at most so many ended runs; how many it took something of. Never of
   * a live one. Of a failed run everything stays for the longest time, so that it can be retried.
   */
  retain(keep: Retention, countMax: number): Promise<number>
  /** The attempt that waits for a callback with this token. */
  findAttempt(tokenHash: string): Promise<(RunRef & { attemptId: string }) | null>
  /** A signal by its sender's id, taken or not. */
  getSignal(ref: RunRef, signalId: string): Promise<Signal | null>
  listVersions(namespace: string): Promise<VersionRow[]>
  backlog(): Promise<Backlog>
  recent(namespace: string, since: number): Promise<Recent>
  takeShare(key: ShareKey, workerId: string, makeMs: number): Promise<ShareAnswer>
  /** `shared`: usable for `shareMs` from now; null gives the right to make it back. */
  putShare(key: ShareKey, workerId: string, shared: Shared | null, shareMs: number): Promise<void>

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
  listEvents(ref: RunRef, page: EventsRequest): Promise<Page<PlacedEvent>>

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
