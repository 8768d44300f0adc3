// Owns: one visit from load to its end: its phases, what is under way in it, and the commit that
// ends it. Does not own: what becomes of a single call (gate.ts), nor when things are written
// (committer.ts).
// Invariants: I7 a visit that is parking issues nothing new; what is under way finishes and is
// recorded; then the transition is made. I10 a park holds only if nothing has arrived since the
// visit was loaded.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../../clock.ts'
import { CounterfoilError } from '../../model/errors.ts'
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
import type { RunState } from '../../model/run/states.ts'
import type { Changes, CommitResult, LoadAt, Loaded, Store } from '../../store/store.ts'
import type { RateLimits } from '../attempt/rate-limit.ts'
import { Match } from '../call/match.ts'
import { Order } from '../call/order.ts'
import type { RunLog } from '../committer.ts'
import type { Waiting, Waits } from '../wait/waits.ts'
import type { Contexts } from './contexts.ts'
import {
  closedItem,
  endChange,
  idleCount,
  isMoot,
  isNear,
  isSettled,
  parkChange,
  type Stopping,
  stopChange,
} from './ending.ts'
import type { Trail } from './trail.ts'
import type { Lease, NodeOutcome, VisitEnd, VisitOptions } from './types.ts'

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
  /** What waits without a worker; set by the gate. */
  waiting: Waits | null = null
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
  protected readonly doubts: Item[] = []
  protected readonly waits: Item[] = []
  /** What is waited for without a person: other branches go on, as with `waits`. */
  readonly pauses = new Set<Waiting>()
  private readonly trail: Trail | null
  private returned: NodeOutcome | null = null
  private draining = false
  private stopping: Stopping | null = null
  private flushSoon = false
  private turnDue = false
  private endDue = false
  /** A receipt waits for the turn that delivers it. */
  private receiptDue = false
  protected finish: (end: VisitEnd) => void = () => {}

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
      for (const { cancel } of this.pauses) cancel()
    })
    const items = this.closeItems('its call is settled', (item) => isSettled(this.opening, item))
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
    return this.returned !== null && this.open === idleCount(this.pauses)
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
    if (this.phase === 'parking' && this.inflight === 0) {
      this.phase = 'closed'
      this.settle(this.stopping ? this.endStopped(this.stopping) : this.park())
    }
    if (this.phase !== 'running') return
    if (this.returned !== null && this.isOver()) {
      if (this.match.hasUnclaimed()) this.order.arm()
      else this.endSoon(this.returned)
      return
    }
    const busy = this.inflight + this.resting > 0 || this.wantsQuiet() || !this.order.isEmpty()
    const pauses = [...this.pauses]
    if (this.waits.length + pauses.length > 0 && !busy && !isNear(pauses, this.clock.now())) {
      this.stop()
      this.phase = 'closed'
      this.settle(this.park())
    }
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
      if (this.phase === 'running' && this.isOver()) this.settle(this.end(returned))
      this.flushNow()
    })
  }

  /** An end that cannot be written is a run that is lost, never a process that dies. */
  private settle(ending: Promise<void>): void {
    ending.catch((error) => this.log.lose(error))
  }

  protected async park(): Promise<void> {
    // A drained run may have other work: whoever takes it next will see, and park it if not.
    const waits = this.draining ? [] : this.waits
    const pauses = this.draining ? [] : [...this.pauses]
    const items = this.doubts.length > 0 ? this.doubts : waits
    // All branches wait: a held call that none of them asks for any more has another input now.
    const moot =
      items === waits && waits.length > 0
        ? this.closeItems('its input has changed', (item) => isMoot(waits, item))
        : []
    const now = this.clock.now()
    const parked = parkChange(items, pauses, this.doubts.length > 0, now)
    if (parked === null) {
      // A wish to stop that has come meanwhile is this worker's to obey: nobody may take the run.
      const result = await this.log.end(
        { state: 'pending', release: true },
        { events: [this.moved('pending', 'released by its worker')] },
        this.run.arrivals,
      )
      return this.finishAfter(result, 'released')
    }
    const result = await this.log.end(
      { ...parked.change, release: true },
      { events: [this.moved(parked.change.state, parked.why)], items: moot },
      this.run.arrivals,
    )
    this.finishAfter(result, 'parked')
  }

  /** The transition that was asked for, unless something else has arrived meanwhile (I10). */
  private async endStopped({ request, arrivals }: Stopping): Promise<void> {
    const now = this.clock.now()
    const open = [...this.loaded.items, ...this.doubts, ...this.waits]
    const { run, items } = stopChange(request, open, now)
    const events = [this.moved(request.to, `${request.to} by ${request.by}: ${request.why}`)]
    this.finishAfter(await this.log.end(run, { items, events }, arrivals), 'parked')
  }

  private finishAfter(result: CommitResult, end: VisitEnd): void {
    this.finish(result === 'done' ? end : result === 'arrived' ? 'arrived' : 'lost')
  }

  private async end(returned: NodeOutcome): Promise<void> {
    this.phase = 'closed'
    this.hasEnded = true
    this.order.close()
    if (returned.kind === 'go' && this.unhandled.size === 0) return this.move(returned)
    const { change, state, why } = endChange(returned, this.unhandled)
    // It stands where it failed, so that whoever tries it again sees what failed there.
    if (state === 'failed') this.secure()
    const items = this.closeItems(`the run is ${state}`)
    // An item that is decided at this moment must not be closed over the decision.
    const arrivalsSeen = items.length > 0 ? this.run.arrivals : undefined
    const result = await this.log.end(
      { ...change, release: true, progress: true, waitingFor: null },
      { events: [this.moved(state, why)], items },
      arrivalsSeen,
    )
    this.finishAfter(result, 'ended')
  }

  /** To the next visit: its checkpoint is written with what this one left, nobody waits for it. */
  private async move({ node, state }: NodeOutcome & { kind: 'go' }): Promise<void> {
    const changes = this.trail?.move(node, state) ?? null
    const items = this.closeItems(`the run went on to ${node}`)
    if (items.length > 0) {
      // An item that is decided at this moment must not be closed over the decision.
      const { run = {}, ...rows } = changes ?? this.trail?.due() ?? {}
      const result = await this.log.end(run, { ...rows, items }, this.run.arrivals)
      return this.finishAfter(result, 'moved')
    }
    if (changes) {
      this.append(changes)
      this.log.flush()
    }
    this.finish('moved')
  }

  /** Fails the run by a person's decision, without executing anything. */
  async abandon(by: string, why: string): Promise<VisitEnd> {
    const error = new CounterfoilError('RUN_ABANDONED', `abandoned by ${by}: ${why}`)
    this.settle(this.end({ kind: 'failed', error }))
    return this.done
  }

  protected closeItems(closedBy: string, which: (item: Item) => boolean = () => true): Item[] {
    return this.loaded.items
      .filter((item) => item.state === 'open' && which(item))
      .map((item) => closedItem(item, this.clock.now(), closedBy))
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
