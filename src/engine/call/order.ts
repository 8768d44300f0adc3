// Owns: the one queue that every result passes on its way to the node, in order of seq, each in a
// turn of its own; and the settle timer that says when nothing more can match (DESIGN §3, Order and
// Quiet).
// Does not own: records (match.ts), nor what a quiet visit does with its held calls (gate.ts).
import type { Clock } from '../../clock.ts'
import type { Settled } from '../../model/replay/entry.ts'
import type { Match } from './match.ts'

export interface Delivery {
  readonly settled: Settled
  readonly deliver: (settled: Settled) => void
}

export interface OrderOptions {
  readonly clock: Clock
  readonly match: Match
  readonly settleMs: number
  /** Whether somebody besides the queue waits for quiet. */
  readonly wantsQuiet: () => boolean
  readonly onQuiet: () => void
  /** After a delivery, still in its turn. */
  readonly onDelivered: () => void
}

export class Order {
  /** The seq last delivered; a call issued now has it as its `after`. */
  lastSeq = 0
  private readonly options: OrderOptions
  private readonly queue: Delivery[] = []
  private readonly urgent: (() => void)[] = []
  private pumping = false
  private closed = false
  private lastActMs: number
  private cancelSettle: (() => void) | null = null

  constructor(options: OrderOptions) {
    this.options = options
    this.lastActMs = options.clock.mono()
  }

  /** A new call was issued: the visit is not quiet, and the queue may move. */
  acted(): void {
    this.lastActMs = this.options.clock.mono()
    if (this.queue.length > 0) this.pumpSoon()
    this.arm()
  }

  push(delivery: Delivery): void {
    const { queue } = this
    let at = queue.length
    while (at > 0 && (queue[at - 1] as Delivery).settled.seq > delivery.settled.seq) at--
    queue.splice(at, 0, delivery)
    this.pumpSoon()
  }

  /**
   * Before every result, in a turn of its own. For refusals, which no record holds: this way they
   * come at the same point of every replay.
   */
  first(deliver: () => void): void {
    this.urgent.push(deliver)
    this.pumpSoon()
  }

  /** Whether a result with this seq, once it is queued, is delivered in the next turn. */
  comesNext(seq: number): boolean {
    const [first] = this.queue
    return (first === undefined || first.settled.seq > seq) && !this.options.match.holdsBack(seq)
  }

  isEmpty(): boolean {
    return this.queue.length + this.urgent.length === 0
  }

  close(): void {
    this.closed = true
    this.cancelSettle?.()
  }

  private pumpSoon(): void {
    if (this.pumping || this.closed) return
    this.pumping = true
    this.options.clock.turn(() => {
      this.pumping = false
      this.pump()
    })
  }

  private pump(): void {
    if (this.closed) return
    const urgent = this.urgent.shift()
    if (urgent) return this.deliver(urgent)
    const next = this.queue[0]
    if (next === undefined) return
    if (this.options.match.holdsBack(next.settled.seq)) return this.arm()
    this.queue.shift()
    this.lastSeq = Math.max(this.lastSeq, next.settled.seq)
    this.deliver(() => next.deliver(next.settled))
  }

  private deliver(fn: () => void): void {
    this.lastActMs = this.options.clock.mono()
    fn()
    this.options.onDelivered()
    if (this.queue.length + this.urgent.length > 0) this.pumpSoon()
    this.arm()
  }

  /** Starts the settle timer if anything waits for it. */
  arm(): void {
    if (this.closed || this.cancelSettle !== null) return
    const blocked = this.queue.length > 0 && !this.pumping
    if (!blocked && !this.options.wantsQuiet()) return
    const { clock, settleMs } = this.options
    const waitMs = Math.max(0, this.lastActMs + settleMs - clock.mono())
    this.cancelSettle = clock.after(waitMs, () => {
      this.cancelSettle = null
      this.settle()
    })
  }

  private settle(): void {
    if (this.closed) return
    const { clock, settleMs, match } = this.options
    if (this.pumping || this.lastActMs + settleMs > clock.mono()) return this.arm()
    const next = this.queue[0]
    if (next) {
      match.skipBefore(next.settled.seq)
      return this.pumpSoon()
    }
    if (this.options.wantsQuiet()) this.options.onQuiet()
  }
}
