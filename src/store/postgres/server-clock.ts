// The server's time, read from this machine's monotonic clock and an offset that is measured by
// round trips. So the wall clock of this machine may jump as it likes, and all that share the store
// write times of one clock.
import type { Clock } from '../../clock.ts'

/** How far two clocks may part while nobody looks: 200 millionths, ten times what quartz does. */
const driftPerMs = 200e-6
/** A look this old is taken again when there is an occasion. */
const staleMs = 60_000
/** A new look may say that it is a little earlier; time that was told is not told again. */
const backMsMax = 1_000

export class ServerClock implements Clock {
  private readonly base: Clock
  private offsetMs = 0
  private errorMs = Number.POSITIVE_INFINITY
  private takenMs = Number.NEGATIVE_INFINITY
  private last = 0

  constructor(base: Clock) {
    this.base = base
  }

  now(): number {
    const now = Math.floor(this.base.mono() + this.offsetMs)
    if (now < this.last && this.last - now < backMsMax) return this.last
    this.last = now
    return now
  }

  mono(): number {
    return this.base.mono()
  }

  random(): number {
    return this.base.random()
  }

  uuid(): string {
    return this.base.uuid()
  }

  after(ms: number, fn: () => void): () => void {
    return this.base.after(ms, fn)
  }

  turn(fn: () => void): void {
    this.base.turn(fn)
  }

  soon(fn: () => void): void {
    this.base.soon(fn)
  }

  /** The server has said `serverMs` between these two moments; the shortest trip tells most. */
  heard(sentMs: number, serverMs: number): void {
    const now = this.base.mono()
    const errorMs = (now - sentMs) / 2
    if (errorMs > this.errorMs + (now - this.takenMs) * driftPerMs) return
    this.offsetMs = serverMs - (sentMs + errorMs)
    this.errorMs = errorMs
    this.takenMs = now
  }

  isStale(): boolean {
    return this.base.mono() - this.takenMs > staleMs
  }
}
