// Owns: one visit from load to its end: its phases, what is under way in it, and the commit that
// ends it. Does not own: what becomes of a single call (gate.ts), nor when things are written
// (committer.ts).
// Invariants: I7 a visit that is parking issues nothing new; what is under way finishes and is
// recorded; then the transition is made. I10 a park holds only if nothing has arrived since the
// visit was loaded.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'
import { CounterfoilError, failureOf } from '../model/errors.ts'
import type { Graph } from '../model/graph.ts'
import { type Event, eventOf, type Item, keyOf, type Run } from '../model/records.ts'
import type { RunState } from '../model/run-state.ts'
import type { Changes, Loaded, RunChange, Store } from '../store/store.ts'
import type { RunLog } from './committer.ts'
import { type Opening, openEntries } from './entry.ts'
import { Match } from './match.ts'
import { Order } from './order.ts'

export interface Lease {
  /** Whether the lease is still ours by the monotonic clock, without asking anybody (D2). */
  holds(): boolean
}

export interface VisitOptions {
  readonly store: Store
  readonly clock: Clock
  readonly graph: Graph
  readonly loaded: Loaded
  readonly log: RunLog
  readonly lease: Lease
  readonly settleMs: number
}

/** `arrived`: something came in while it parked, so the run is to be loaded and executed again. */
export type VisitEnd = 'ended' | 'parked' | 'released' | 'arrived' | 'lost'

/** The visit that the code being run belongs to, for rejections that nobody awaits. */
export const currentVisit = new AsyncLocalStorage<Visit>()

export class Visit {
  readonly store: Store
  readonly clock: Clock
  readonly graph: Graph
  readonly run: Run
  readonly loaded: Loaded
  readonly log: RunLog
  readonly lease: Lease
  readonly opening: Opening
  readonly match: Match
  readonly order: Order
  phase: 'running' | 'parking' | 'closed' = 'running'
  /** Calls whose intent has entered the committer, probes, and pure calls: they finish first. */
  inflight = 0
  /** Functions of attempts that have not returned, whatever became of their call. */
  unreturned = 0
  /** Waits between attempts: given up when the visit parks. */
  resting = 0
  /** Calls that the node has issued and not yet seen the end of. */
  open = 0
  /** Rejections in branches that nobody awaits; a later handler takes them back. */
  readonly unhandled = new Map<Promise<unknown>, unknown>()
  /** Asks what to do when nothing more can match; set by the gate. */
  onQuiet: () => void = () => {}
  wantsQuiet: () => boolean = () => false
  /** The node came to its end, as against a visit that was parked or lost. */
  hasEnded = false
  readonly done: Promise<VisitEnd>
  private seq: number
  private readonly doubts: Item[] = []
  private readonly waits: Item[] = []
  private returned: { ok: boolean; value: unknown } | null = null
  private draining = false
  private flushSoon = false
  private turnDue = false
  private finish: (end: VisitEnd) => void = () => {}

  constructor(options: VisitOptions) {
    this.store = options.store
    this.clock = options.clock
    this.graph = options.graph
    this.loaded = options.loaded
    this.run = options.loaded.run
    this.log = options.log
    this.lease = options.lease
    this.opening = openEntries(options.loaded, options.clock)
    this.seq = this.opening.seq
    this.match = new Match(this.opening)
    this.order = new Order({
      clock: this.clock,
      match: this.match,
      settleMs: options.settleMs,
      wantsQuiet: () => this.wantsQuiet() || this.leftBehind(),
      onQuiet: () => this.onQuiet(),
      onDelivered: () => this.touch(),
    })
    this.done = new Promise((resolve) => {
      this.finish = resolve
    })
    this.log.onLost = () => this.close('lost')
    const { records = [], decisions = [], evidence = [] } = this.opening.changes
    const items = this.closeItems('its call is settled', (item) => this.isSettled(item))
    if (records.length + decisions.length + evidence.length + items.length > 0) {
      this.append({ records, decisions, evidence, items })
    }
  }

  /** Late evidence can settle a call while its item is being made. */
  private isSettled({ reason, body: { subject } }: Item): boolean {
    if (reason !== 'unknown' || subject === null) return false
    return this.opening.entries.get(keyOf(subject))?.settled != null
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
      if (this.flushSoon) this.log.flush()
      this.flushSoon = false
    })
  }

  /**
   * The receipt is written at the end of the turn that delivers it, with what the node does in it.
   */
  flushOnDelivery(): void {
    this.flushSoon = true
  }

  /** The node's function has ended. Its calls may not have. */
  nodeEnded(end: { ok: boolean; value: unknown }): void {
    this.returned = end
    this.touch()
  }

  /** The node is over and records of its visit stay unclaimed. */
  leftBehind(): boolean {
    return this.returned !== null && this.open === 0 && this.match.hasUnclaimed()
  }

  /** Stops the visit before a person: nothing new is issued from here on. */
  doubt(item: Item, changes: Changes): void {
    if (this.phase === 'closed') return
    this.stop()
    if (!this.doubts.some((known) => known.itemId === item.itemId)) this.doubts.push(item)
    this.append(changes)
    this.touch({ flush: true })
  }

  /** A person is asked; other branches go on, and the visit parks when all of them wait. */
  wait(item: Item, changes: Changes | null): void {
    this.waits.push(item)
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

  private stop(): void {
    this.phase = 'parking'
    this.order.close()
  }

  private check(): void {
    if (this.phase === 'parking') {
      if (this.inflight === 0) this.settle(this.park())
      return
    }
    if (this.phase !== 'running') return
    if (this.returned !== null && this.open === 0) {
      if (this.match.hasUnclaimed()) this.order.arm()
      else this.settle(this.end(this.returned))
      return
    }
    const busy = this.inflight + this.resting > 0 || this.wantsQuiet() || !this.order.isEmpty()
    if (this.waits.length > 0 && !busy) {
      this.stop()
      this.settle(this.park())
    }
  }

  /** An end that cannot be written is a run that is lost, never a process that dies. */
  private settle(ending: Promise<void>): void {
    ending.catch((error) => this.log.lose(error))
  }

  private async park(): Promise<void> {
    this.phase = 'closed'
    // A drained run may have other work: whoever takes it next will see, and park it if not.
    const waits = this.draining ? [] : this.waits
    const items = this.doubts.length > 0 ? this.doubts : waits
    const [first] = items
    if (first === undefined) {
      const result = await this.log.end(
        { state: 'pending', release: true },
        { events: [this.moved('pending', 'released by its worker')] },
      )
      return this.finish(result === 'done' ? 'released' : 'lost')
    }
    const waitingFor = {
      kind: first.kind,
      items: items.map((item) => item.itemId),
      since: this.clock.now(),
      queue: first.queue,
    }
    const result = await this.log.end(
      { state: 'waiting_human', waitingFor, release: true },
      { events: [this.moved('waiting_human', first.title)] },
      this.run.arrivals,
    )
    this.finish(result === 'done' ? 'parked' : result === 'arrived' ? 'arrived' : 'lost')
  }

  private async end(returned: { ok: boolean; value: unknown }): Promise<void> {
    this.phase = 'closed'
    this.hasEnded = true
    this.order.close()
    const [unhandled] = this.unhandled.values()
    const failed = !returned.ok || this.unhandled.size > 0
    const error = returned.ok ? unhandled : returned.value
    const state = failed ? 'failed' : 'completed'
    const change: RunChange = failed
      ? { state, errorJson: JSON.stringify(failureOf(error, 'failed')) }
      : { state, outputJson: returned.value as string | null }
    const why = failed ? failureOf(error, 'failed').message : 'its node returned'
    const items = this.closeItems(`the run is ${state}`)
    // An item that is decided at this moment must not be closed over the decision.
    const arrivalsSeen = items.length > 0 ? this.run.arrivals : undefined
    const result = await this.log.end(
      { ...change, release: true, progress: true, waitingFor: null },
      { events: [this.moved(state, why)], items },
      arrivalsSeen,
    )
    this.finish(result === 'done' ? 'ended' : result === 'arrived' ? 'arrived' : 'lost')
  }

  /** Fails the run by a person's decision, without executing anything. */
  async abandon(by: string, why: string): Promise<VisitEnd> {
    const message = `abandoned by ${by}: ${why}`
    this.settle(this.end({ ok: false, value: new CounterfoilError('RUN_ABANDONED', message) }))
    return this.done
  }

  private closeItems(closedBy: string, which: (item: Item) => boolean = () => true): Item[] {
    return this.loaded.items
      .filter((item) => item.state === 'open' && which(item))
      .map((item) => ({
        ...item,
        state: 'closed',
        version: item.version + 1,
        closedAt: this.clock.now(),
        closedBy,
      }))
  }

  private moved(to: RunState, cause: string): Event {
    return this.event('state', { from: 'running', to, cause })
  }

  private close(end: VisitEnd): void {
    this.phase = 'closed'
    this.order.close()
    this.finish(end)
  }
}
