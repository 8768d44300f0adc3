// Owns: when what is written. One buffer a run, in the order its code observed things (I1); one
// transaction for all runs that have something urgent (group commit), or a few at once where
// a store can write several.
// Does not own: what the rows say, nor what follows from them.
// Invariants: I1 a commit carries everything buffered before it. I4 an error from a commit is
// "unknown": the same commit is written again; only an acknowledged one calls back.
import { type Clock, pause } from '../clock.ts'
import { isCounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import type { CallRecord, Run } from '../model/run/records.ts'
import { writeUntilAcknowledged } from '../store/insist.ts'
import type { Changes, Commit, CommitResult, Parent, RunChange, Store } from '../store/store.ts'
import { noticesOf } from './ask/notices.ts'

const retryMs = 5
const retryMaxMs = 1_000
const strangeMax = 300

export interface CommitterOptions {
  pureFlushMs: number
  /** Told about a commit that failed and is being written again. */
  onError: (error: unknown, runIds: string[]) => void
}

export class Committer {
  readonly store: Store
  readonly clock: Clock
  readonly options: CommitterOptions
  /** Since this process began: transactions, the commits in them, and those that failed. */
  readonly counts = { batches: 0, commits: 0, failures: 0 }
  private readonly dirty = new Set<RunLog>()
  private scheduled = false
  /** Batches that are being written. */
  private writing = 0

  constructor(store: Store, clock: Clock, options: CommitterOptions) {
    this.store = store
    this.clock = clock
    this.options = options
  }

  open(run: Run): RunLog {
    return new RunLog(this, run)
  }

  /** Writes the log in a turn of its own, with every other log that has asked by then. */
  request(log: RunLog): void {
    this.dirty.add(log)
    if (this.scheduled || this.free() <= 0) return
    this.scheduled = true
    this.clock.turn(() => {
      this.scheduled = false
      const free = this.free()
      // Shared out over those that are free: while one is on its way the next is made.
      const share = Math.ceil(this.dirty.size / Math.max(1, free))
      const countMax = Math.min(Math.max(share, limits.batchMin), limits.batchMax)
      for (let i = 0; i < free && this.dirty.size > 0; i++) void this.write(countMax)
    })
  }

  private free(): number {
    return (this.store.batchesMax ?? 1) - this.writing
  }

  private async write(countMax: number): Promise<void> {
    const logs: RunLog[] = []
    for (const log of this.dirty) {
      if (logs.length === countMax) break
      this.dirty.delete(log)
      if (log.take()) logs.push(log)
    }
    if (logs.length === 0) return
    this.writing++
    await this.writeAll(logs)
    this.writing--
    const [next] = this.dirty
    if (next) this.request(next)
  }

  private async writeAll(logs: RunLog[]): Promise<void> {
    this.counts.batches++
    this.counts.commits += logs.length
    try {
      const results = await this.store.commit(logs.map((log) => log.writing as Commit))
      logs.forEach((log, i) => {
        const result = results[i] ?? 'stale_fence'
        // Nothing of it was written: alone it waits for its row, and holds up nobody.
        if (result === 'locked') void this.writeAlone(log, null)
        else log.acknowledged(result)
      })
    } catch (error) {
      this.report(error, logs)
      // Each by itself from here on: what cannot be written must not hold up the others, and an
      // error that one of several has caused says nothing about the rest.
      for (const log of logs) void this.writeAlone(log, logs.length === 1 ? error : null)
    }
  }

  /** The same commit again, until it is acknowledged, or it is plain that it never will be. */
  private async writeAlone(log: RunLog, first: unknown | null): Promise<void> {
    const { clock, store } = this
    let strange = 0
    // An error that is not the store's own is taken for a passing one, for a while.
    const passes = (error: unknown) =>
      isCounterfoilError(error) ? error.retryable : ++strange <= strangeMax
    const goesOn = (error: unknown) => {
      this.report(error, [log])
      return passes(error)
    }
    if (first !== null) {
      if (!passes(first)) return log.lose(first)
      await pause(clock, retryMs)
    }
    const write = async () => {
      if (log.writing === null) return null
      const [result = 'stale_fence'] = await store.commit([log.writing])
      return result
    }
    const options = { clock, waitMs: retryMs * 2, waitMaxMs: retryMaxMs, goesOn }
    try {
      const result = await writeUntilAcknowledged(write, options)
      if (result !== null) log.acknowledged(result)
    } catch (error) {
      log.lose(error)
    }
  }

  private report(error: unknown, logs: RunLog[]): void {
    this.counts.failures++
    // Not written again: the runs are lost with it, and their worker says why.
    if (isCounterfoilError(error, 'STORE_MOVED')) return
    this.options.onError(
      error,
      logs.map((log) => log.run.runId),
    )
  }
}

/** What is to be written for one run under one claim. */
export class RunLog {
  readonly run: Run
  /** The commit that is being written, and written again until it is acknowledged. */
  writing: Commit | null = null
  lost = false
  /** Told of every record, as it is appended. */
  onRecords: (rows: readonly CallRecord[]) => void = () => {}
  private readonly committer: Committer
  private buffer: Changes | null = null
  /** The end of the claim: written with the last of the buffer, dropped if it is refused. */
  private ending: { changes: Changes; arrivalsSeen: number | undefined } | null = null
  private appended = 0
  private taken = { buffer: null as Changes | null, ends: false, upTo: 0 }
  private commits = 0
  private waiters: { at: number; fn: () => void; onLost: () => void }[] = []
  private onEnd: ((result: CommitResult) => void) | null = null
  private lazy = false
  private readonly losers = new Set<(why: unknown) => void>()
  private again = false

  constructor(committer: Committer, run: Run) {
    this.committer = committer
    this.run = run
  }

  /** Calls back once when the run is no longer ours to write. */
  onLost(fn: (why: unknown) => void): () => void {
    this.losers.add(fn)
    return () => this.losers.delete(fn)
  }

  append(changes: Changes): void {
    if (this.lost) return
    this.appended++
    if (changes.records) this.onRecords(changes.records)
    if (this.buffer === null) {
      this.buffer = changes
      return
    }
    merge(this.buffer, changes)
  }

  /** Everything appended so far is written at the end of this turn. */
  flush(): void {
    if ((this.buffer ?? this.ending) !== null && !this.lost) this.committer.request(this)
  }

  /** The same within a few milliseconds, or with whatever is written before. */
  flushLater(): void {
    if (this.lazy) return
    this.lazy = true
    this.committer.clock.after(this.committer.options.pureFlushMs, () => {
      this.lazy = false
      this.flush()
    })
  }

  /**
   * Calls `fn` when everything appended so far is acknowledged, or `onLost` if the run is lost
   * first.
   */
  durable(fn: () => void, onLost: () => void = () => {}): void {
    this.watch(fn, onLost)
    this.flush()
  }

  /** When everything so far is durable; at once if it is. */
  whenDurable(): Promise<void> {
    if (this.lost || (this.buffer ?? this.ending ?? this.writing) === null) return Promise.resolve()
    return new Promise((resolve) => this.durable(resolve, resolve))
  }

  /** The same without asking for it to be written now. */
  watch(fn: () => void, onLost: () => void): void {
    if (this.lost) return onLost()
    this.waiters.push({ at: this.appended, fn, onLost })
  }

  /**
   * Everything so far together with a change of the run row; a park passes the arrivals it has
   * seen.
   */
  end(run: RunChange, changes: Changes, arrivalsSeen?: number): Promise<CommitResult> {
    return new Promise((resolve) => {
      if (this.lost) return resolve('stale_fence')
      this.ending = { changes: { ...changes, run }, arrivalsSeen }
      this.onEnd = resolve
      this.flush()
    })
  }

  take(): boolean {
    if ((this.buffer ?? this.ending) === null || this.lost) return false
    // One commit of a run at a time: what comes meanwhile follows its acknowledgement.
    if (this.writing !== null) {
      this.again = true
      return false
    }
    const { namespace, runId, fence, workerId } = this.run
    const parent = parentOf(this.run)
    // Alone the buffer goes as it is. Beside an end it is kept: an end may be refused without it.
    const changes = this.ending ? merged(this.buffer, this.ending.changes) : (this.buffer ?? {})
    const arrivalsSeen = this.ending?.arrivalsSeen
    const commitId = `${fence}.${++this.commits}`
    const notices = noticesOf(this.run, changes, () => this.committer.clock.now(), commitId)
    if (notices.length > 0) changes.notices = notices
    this.writing = {
      namespace,
      runId,
      fence,
      workerId: workerId ?? '',
      commitId,
      changes,
      ...(arrivalsSeen === undefined ? {} : { arrivalsSeen }),
      ...(parent === null ? {} : { parent }),
    }
    this.taken = { buffer: this.buffer, ends: this.ending !== null, upTo: this.appended }
    this.buffer = null
    this.ending = null
    return true
  }

  acknowledged(result: Exclude<CommitResult, 'locked'>): void {
    const { buffer, ends, upTo } = this.taken
    this.writing = null
    if (result === 'stale_fence') return this.lose(result)
    if (result === 'arrived') return this.writeWithoutEnd(buffer)
    const ready = this.waiters.filter((waiter) => waiter.at <= upTo)
    if (ready.length > 0) this.waiters = this.waiters.filter((waiter) => waiter.at > upTo)
    for (const waiter of ready) waiter.fn()
    if (ends) this.endWith('done')
    if (this.again) this.flush()
    this.again = false
  }

  /** The park was refused, not what led to it: receipts in the same commit must not be lost. */
  private writeWithoutEnd(kept: Changes | null): void {
    if (kept === null) return this.endWith('arrived')
    if (this.buffer) merge(kept, this.buffer)
    this.buffer = kept
    this.appended++
    this.durable(() => this.endWith('arrived'))
  }

  lose(why: unknown): void {
    if (this.lost) return
    this.lost = true
    this.writing = null
    this.buffer = null
    this.ending = null
    const waiters = this.waiters
    this.waiters = []
    for (const waiter of waiters) waiter.onLost()
    this.endWith('stale_fence')
    for (const fn of [...this.losers]) fn(why)
  }

  private endWith(result: CommitResult): void {
    const end = this.onEnd
    this.onEnd = null
    end?.(result)
  }
}

/** Who is told of the run's end. */
function parentOf({ parentRunId: runId, parentAttemptId: attemptId }: Run): Parent | null {
  return runId === null || attemptId === null ? null : { runId, attemptId }
}

const rowKinds = [
  'records',
  'attempts',
  'evidence',
  'items',
  'decisions',
  'events',
  'checkpoints',
  'signals',
  'children',
] as const satisfies (keyof Changes)[]

function merged(first: Changes | null, second: Changes): Changes {
  const both: Changes = {}
  if (first) merge(both, first)
  merge(both, second)
  return both
}

function merge(into: Changes, from: Changes): void {
  for (const key of rowKinds) {
    const rows = from[key]
    if (rows === undefined || rows.length === 0) continue
    const have: unknown[] | undefined = into[key]
    if (have === undefined) Object.assign(into, { [key]: [...rows] })
    else for (const row of rows) have.push(row)
  }
  if (from.run) into.run = { ...into.run, ...from.run }
}
