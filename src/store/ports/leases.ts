// The port of workers: who is there, which runs each holds, and which runs somebody has to take. A
// worker has one lease for all its runs; a run it has claimed carries a fence, which makes a stale
// holder harmless (I2). Fairness between graphs is decided by fair.ts, which every store asks.
import type { Run, RunRef } from '../../model/run/records.ts'

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

export interface WakePass {
  readonly woken: number
  /** How late the latest of them was. */
  readonly lagMs: number
  /** When the next one is due; null if none is. */
  readonly nextAt: number | null
}

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

export interface LeasesPort {
  /** Registers a worker with a first lease of `leaseMs`. */
  register(worker: NewWorker, leaseMs: number): Promise<void>
  /**
   * One write, however many runs it holds. False if the worker was declared dead or has stopped.
   */
  renew(workerId: string, leaseMs: number): Promise<boolean>
  /** Takes runs that wait for a worker, or whose worker's lease has ended. */
  claim(request: ClaimRequest): Promise<Run[]>
  /** Wakes runs whose time has come: at most so many, the longest overdue first (D6). */
  wakeDue(countMax: number): Promise<WakePass>
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
}
