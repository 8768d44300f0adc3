// Owns: one visit from load to its end: its phases, what is under way in it, and when it comes to
// its end. Does not own: what becomes of a single call (gate.ts), what is written at the end
// (leave.ts), nor when things are written (committer.ts).
// Invariants: I7 a visit that is parking issues nothing new; what is under way finishes and is
// recorded; then the transition is made.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../../clock.ts'
import { errorFor } from '../../model/errors.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { type Opening, openEntries } from '../../model/replay/opening.ts'
import type { SignalPool } from '../../model/replay/waits.ts'
import {
  checkpointId,
  type Event,
  eventOf,
  type Item,
  type Run,
  type StopRequest,
} from '../../model/run/records.ts'
import type { Changes, LoadAt, Loaded, Store } from '../../store/store.ts'
import type { RateLimits } from '../attempt/rate-limit.ts'
import type { IssuedCall } from '../call/call.ts'
import { KeyBook } from '../call/key-book.ts'
import { Match } from '../call/match.ts'
import { Order } from '../call/order.ts'
import type { RunLog } from '../committer.ts'
import type { Waiting } from '../wait/spec.ts'
import type { Contexts } from './contexts.ts'
import { idleCount, isNear, isSettled, type Stopping } from './ending.ts'
import { closeItems, leaveEnded, leaveStopped, park } from './leave.ts'
import type { Trail } from './trail.ts'
import type { Lease, NodeOutcome, VisitEnd, VisitOptions } from './types.ts'
import { Holds, type Release, type UnderWay } from './under-way.ts'

export type { Lease, NodeOutcome, VisitEnd, VisitOptions } from './types.ts'

/** The visit that the code being run belongs to, for rejections that nobody awaits. */
export const currentVisit = new AsyncLocalStorage<Visit>()

export class Visit {
  readonly store: Store
  readonly clock: Clock
  readonly graph: Graph | null
  /** All that this process carries, for children. */
  readonly graphs: ReadonlyMap<string, Graph>
  readonly limits: RateLimits
  readonly contexts: Contexts | null
  readonly policy: VisitOptions['policy']
  readonly queues: NonNullable<VisitOptions['queues']>
  readonly checkpointId: string
  /** Where the store finds what belongs to this visit, wherever the run is by then. */
  readonly at: LoadAt
  readonly run: Run
  readonly loaded: Loaded
  readonly log: RunLog
  readonly lease: Lease
  readonly opening: Opening
  readonly match: Match
  readonly order: Order
  readonly signals: SignalPool // what was sent to the run and nothing has taken yet
  /** The idempotency keys of this visit's records. */
  readonly keys = new KeyBook()
  phase: 'running' | 'parking' | 'closed' = 'running'
  /** The arrivals that this visit has looked at. */
  heard: number
  /** Rejections in branches that nobody awaits; a later handler takes them back. */
  readonly unhandled = new Map<Promise<unknown>, unknown>()
  /** Whether a call waits until nothing more can match, and what is done then; set by the gate. */
  wantsQuiet: () => boolean = () => false
  onQuiet: () => void = () => {}
  /**
   * In a scope: while a doubt of the workflow is open, whichever of its scopes it is in, nothing
   * that is not pure is sent. What a person has to decide first; null if it is known to be nothing.
   */
  doubtBefore: () => Promise<Item | null> | null = () => null
  /** The node came to its end, as against a visit that was parked or lost. */
  hasEnded = false
  readonly done: Promise<VisitEnd>
  private seq: number
  readonly doubts: Item[] = []
  /** What a person is asked while other branches go on. */
  readonly asked: Item[] = []
  /** What is waited for without a person: other branches go on, as with `asked`. */
  readonly pauses = new Map<IssuedCall, Waiting>()
  readonly trail: Trail | null
  private readonly holds = new Holds()
  private returned: NodeOutcome | null = null
  draining = false
  private stopping: Stopping | null = null
  private flushSoon = false
  private turnDue = false
  private endDue = false
  /** A receipt waits for the turn that delivers it. */
  private receiptDue = false
  private finish: (end: VisitEnd) => void = () => {}

  constructor(options: VisitOptions) {
    this.store = options.store
    this.clock = options.clock
    this.graph = options.graph
    this.graphs = options.graphs
    this.loaded = options.loaded
    this.run = options.loaded.run
    this.log = options.log
    this.lease = options.lease
    this.limits = options.limits
    this.contexts = options.contexts ?? null
    this.policy = options.policy
    this.queues = options.queues ?? {}
    this.trail = options.trail
    const { version, generation, visit } = this.run
    this.checkpointId = options.scope?.checkpointId ?? checkpointId(version, generation, visit)
    this.at = { visit, ...(options.scope ? { scope: options.scope } : {}) }
    this.opening = openEntries(options.loaded, options.clock.now(), options.signals)
    this.seq = this.opening.seq
    this.signals = this.opening.signals
    this.match = new Match(this.opening)
    for (const { record } of this.match.entries.values()) this.keys.note(record)
    this.heard = this.run.arrivals
    this.order = new Order({
      clock: this.clock,
      match: this.match,
      settleMs: options.settleMs,
      wantsQuiet: () => this.wantsQuiet() || this.leftBehind(),
      onQuiet: () => this.onQuiet(),
      onDelivered: () => this.delivered(),
    })
    this.done = new Promise((resolve) => {
      this.finish = resolve
    })
    const forget = this.log.onLost(() => this.close('lost'))
    void this.done.then(() => {
      forget()
      for (const { cancel } of this.pauses.values()) cancel()
    })
    const isOver = (item: Item) => isSettled(this.opening, item)
    const items = closeItems(this, 'its call is settled', isOver)
    const found = { ...this.opening.changes, items }
    if (Object.values(found).some((rows) => rows.length > 0)) this.append(found)
  }

  /** Before anything that is not pure: the checkpoint of this visit, if it was skipped so far. */
  secure(): void {
    const changes = this.trail?.due() ?? null
    if (changes) this.append(changes)
  }

  /** A pure record of a visit whose checkpoint was skipped: the next holder must look for it. */
  reach(): void {
    const changes = this.trail?.reached() ?? null
    if (changes) this.append(changes)
  }

  /** Something is under way until its release is called. */
  hold(kind: UnderWay): Release {
    return this.holds.hold(kind, this.onRelease)
  }

  /** Functions of attempts that have not returned, whatever became of their call. */
  get unreturned(): number {
    return this.holds.count('function')
  }

  /** What has ended may be what the park of this visit has waited for. */
  private readonly onRelease = (): void => {
    if (this.phase === 'parking' || this.asked.length + this.pauses.size > 0) this.touch()
  }

  nextSeq(): number {
    return ++this.seq
  }

  append(changes: Changes): void {
    this.log.append(changes)
  }

  event(kind: string, data: Record<string, unknown>): Event {
    return eventOf(this.run, this.clock.now(), kind, data)
  }

  /**
   * At the end of this turn: write what is urgent, and see whether the visit has come to an end.
   */
  touch(options: { flush?: boolean } = {}): void {
    if (options.flush) this.flushSoon = true
    if (this.turnDue) return
    this.turnDue = true
    this.clock.soon(() => {
      this.turnDue = false
      this.check()
      // What the node's end has to write belongs to the same commit.
      if (!this.endDue) this.flushNow()
    })
  }

  private flushNow(): void {
    if (this.flushSoon) this.log.flush()
    this.flushSoon = false
  }

  /**
   * The receipt is written at the end of the turn that delivers it, with what the node does in it.
   */
  flushOnDelivery(): void {
    this.receiptDue = true
  }

  private delivered(): void {
    this.touch({ flush: this.receiptDue })
    this.receiptDue = false
  }

  /** The node's function has ended. Its calls may not have. */
  nodeEnded(outcome: NodeOutcome): void {
    this.returned = outcome
    this.touch()
  }

  /** Its function has ended, and so has all that it issued but waits that nobody needs any more. */
  private isOver(): boolean {
    if (this.returned === null) return false
    return this.holds.count('call') === idleCount([...this.pauses.values()])
  }

  /** The node is over and records of its visit stay unclaimed. */
  leftBehind(): boolean {
    return this.isOver() && this.match.hasUnclaimed()
  }

  /** Stops the visit before a person: nothing new is issued from here on. */
  doubt(item: Item, changes: Changes): void {
    if (this.phase === 'closed') return
    this.stop()
    // The run parks where the doubt is: its decision is looked for at that visit and no other.
    this.secure()
    if (!this.doubts.some((known) => known.itemId === item.itemId)) this.doubts.push(item)
    this.append(changes)
    this.touch({ flush: true })
  }

  /** A person is asked; other branches go on, and the visit parks when all of them wait. */
  wait(item: Item, changes: Changes | null): void {
    this.asked.push(item)
    if (changes) this.append(changes)
    this.touch({ flush: true })
  }

  /** Gives the run back: what is under way finishes, nothing new begins. */
  drain(): void {
    if (this.phase !== 'running') return
    this.draining = true
    this.stop()
    this.touch()
  }

  /** Somebody wants the run to stop: as a drain, into the state that was asked for. */
  stopFor(request: StopRequest, arrivals: number): void {
    if (this.phase === 'closed') return
    // More than the wish has come since the load: an end that does not know of it must not land.
    const seen = arrivals <= this.run.arrivals + 1 ? arrivals : this.run.arrivals
    this.stopping = { request, arrivals: seen }
    this.stop()
    this.touch()
  }

  private stop(): void {
    this.phase = 'parking'
    this.order.close()
    // Nothing is delivered any more.
    if (this.receiptDue) this.flushSoon = true
  }

  private check(): void {
    if (this.phase === 'parking' && this.holds.count('work') === 0) {
      this.phase = 'closed'
      this.leave(this.stopping ? leaveStopped(this, this.stopping) : this.park())
    }
    if (this.phase !== 'running') return
    if (this.returned !== null && this.isOver()) {
      if (this.match.hasUnclaimed()) this.order.arm()
      else this.endSoon(this.returned)
      return
    }
    if (this.isIdle()) {
      this.stop()
      this.phase = 'closed'
      this.leave(this.park())
    }
  }

  /** Whether all branches wait for what may take long. */
  private isIdle(): boolean {
    if (this.asked.length + this.pauses.size === 0) return false
    const busy = this.holds.count('work') + this.holds.count('rest') > 0
    if (busy || this.wantsQuiet() || !this.order.isEmpty()) return false
    return !isNear([...this.pauses.values()], this.clock.now())
  }

  /**
   * In a turn of its own: only then has Node said which rejections of this one nobody handles, and
   * which of the earlier ones somebody does.
   */
  private endSoon(returned: NodeOutcome): void {
    if (this.endDue) return
    this.endDue = true
    this.clock.turn(() => {
      this.endDue = false
      if (this.phase === 'running' && this.isOver()) this.end(returned)
      this.flushNow()
    })
  }

  /** An end that cannot be written is a run that is lost, never a process that dies. */
  private leave(ending: Promise<VisitEnd>): void {
    ending.then(this.finish).catch((error) => this.log.lose(error))
  }

  protected park(): Promise<VisitEnd> {
    return park(this)
  }

  private end(returned: NodeOutcome): void {
    this.phase = 'closed'
    this.hasEnded = true
    this.order.close()
    this.leave(leaveEnded(this, returned, () => this.secure()))
  }

  /** Fails the run by a person's decision, without executing anything. */
  async abandon(by: string, why: string): Promise<VisitEnd> {
    const error = errorFor('RUN_ABANDONED', { by, why })
    this.end({ kind: 'failed', error })
    return this.done
  }

  private close(end: VisitEnd): void {
    this.phase = 'closed'
    this.order.close()
    this.finish(end)
  }
}
