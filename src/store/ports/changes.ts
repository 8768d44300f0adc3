// What a write of the ledger holds: the changes of one run, and who makes them.
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
} from '../../model/run/records.ts'
import type { RunState } from '../../model/run/states.ts'

export interface NewRun {
  readonly run: Run
  /** Null for a run whose state is kept by a foreign runtime. */
  readonly checkpoint: Checkpoint | null
  readonly event: Event
}

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
  /**
   * Writing the same commit again is no second write (I4). One of intents and receipts alone need
   * not be recognised by it: its rows are the same (`isOrdinary` of rules/commit.ts).
   */
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
