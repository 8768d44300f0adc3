// Owns: noticing what has come due with nobody there to say so: runs to be woken, items past one
// of their deadlines, foreign workflows whose holder is dead, records that need not be kept any
// longer (D6, B6). Leases of other runs that ended are found by claims.
// Does not own: which runs and records those are: the store says.
// Invariants: every worker of a fleet runs one, and any of them may do any of it at any time: what
// one has done another finds done. A pass is bounded; a part that fails does not stop the others.
import type { Clock } from '../clock.ts'
import * as limits from '../model/limits.ts'
import type {
  InboxPort,
  LeasesPort,
  LedgerPort,
  Retention,
  RetentionPort,
  Timed,
} from '../store/store.ts'
import { passItem } from './deadline.ts'
import { Loop } from './loop.ts'

export interface SweeperOptions {
  readonly store: Timed<LedgerPort & LeasesPort & InboxPort & RetentionPort>
  readonly clock: Clock
  /** Null: everything is kept. */
  readonly retention: Retention | null
  readonly onWoken: () => void
  /** Asks about calls that dead holders of foreign workflows have left. */
  readonly askAboutLeft?: () => Promise<void>
  readonly onError: (error: unknown) => void
}

/** What a sweeper has done since it began. */
export interface SweeperStats {
  /** Runs whose time had come. */
  readonly woken: number
  /** How late the last of them were, and the latest of all. */
  readonly wakeLagMs: number
  readonly wakeLagMaxMs: number
  /** Items past a deadline: noted, given to another queue, or expired. */
  readonly overdue: number
  /** Ended runs that retention took something of. */
  readonly swept: number
  /** Passes that failed and were tried again. */
  readonly failures: number
}

// Workers that know of the same moment do not all ask at once.
const jitterMs = 5
// What is due and could not be woken is somebody else's just now.
const heldMs = 50
// A run that was parked here may be due before the next look. None is parked for less than twice
// this.
const parkedMs = limits.parkMsMin / 2
// Between two full passes of retention, which leave the store to others meanwhile.
const betweenMs = 200
const firstRetainMs = 60_000

export class Sweeper {
  private readonly options: SweeperOptions
  private readonly counts = {
    woken: 0,
    wakeLagMs: 0,
    wakeLagMaxMs: 0,
    overdue: 0,
    swept: 0,
    failures: 0,
  }
  private readonly wake: Loop
  private readonly overdue: Loop
  private readonly retain: Loop
  private readonly left: Loop

  constructor(options: SweeperOptions) {
    this.options = options
    this.wake = this.loop(() => this.wakeDue())
    this.overdue = this.loop(() => this.noteOverdue())
    this.retain = this.loop(() => this.takeOld())
    this.left = this.loop(async () => {
      await options.askAboutLeft?.()
      return this.spread(limits.sweepMs)
    })
  }

  get stats(): SweeperStats {
    return { ...this.counts }
  }

  start(): void {
    const { clock, retention } = this.options
    this.wake.start(0)
    this.overdue.start(this.spread(limits.sweepMs))
    if (this.options.askAboutLeft) this.left.start(this.spread(limits.sweepMs))
    if (retention) this.retain.start(clock.random() * firstRetainMs)
  }

  /** Runs of this process have changed: one may be due before the next look. */
  nudge(): void {
    this.wake.soon(parkedMs)
  }

  async stop(): Promise<void> {
    const loops = [this.wake, this.overdue, this.retain, this.left]
    await Promise.all(loops.map((loop) => loop.stop()))
  }

  private loop(work: () => Promise<number>): Loop {
    const { clock, onError } = this.options
    const failed = (error: unknown) => {
      this.counts.failures++
      onError(error)
    }
    return new Loop({ clock, work, onError: failed, retryMs: limits.sweepMs })
  }

  private async wakeDue(): Promise<number> {
    const { store, clock, onWoken } = this.options
    const { woken, lagMs, nextAt } = await store.wakeDue(limits.wakeBatchMax)
    if (woken > 0) {
      this.counts.woken += woken
      this.counts.wakeLagMs = lagMs
      this.counts.wakeLagMaxMs = Math.max(this.counts.wakeLagMaxMs, lagMs)
      onWoken()
    }
    if (woken >= limits.wakeBatchMax) return 0
    const leftMs = nextAt === null ? Number.POSITIVE_INFINITY : nextAt - store.clock.now()
    if (leftMs > limits.sweepMs) return this.spread(limits.sweepMs)
    return leftMs <= 0 ? heldMs : leftMs + clock.random() * jitterMs
  }

  private async noteOverdue(): Promise<number> {
    const { store, onWoken } = this.options
    const items = await store.listOverdue(limits.overdueBatchMax)
    let noted = 0
    for (const item of items) {
      const done = await passItem(store, item)
      if (done === 'woken') onWoken()
      if (done !== 'nothing') noted++
    }
    this.counts.overdue += noted
    // Others may be at the same items: only a pass that got on goes on at once.
    const more = items.length >= limits.overdueBatchMax && noted > 0
    return more ? 0 : this.spread(limits.sweepMs)
  }

  private async takeOld(): Promise<number> {
    const { store, retention } = this.options
    if (retention === null) return limits.retainEveryMs
    const swept = await store.retain(retention, limits.retainBatchMax)
    this.counts.swept += swept
    return swept >= limits.retainBatchMax ? betweenMs : this.spread(limits.retainEveryMs)
  }

  /** Between a half and the whole of it: a fleet that was started at once does not keep step. */
  private spread(ms: number): number {
    return ms * (0.5 + this.options.clock.random() / 2)
  }
}
