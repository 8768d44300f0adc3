// Owns: how many calls of a rate-limit class this process sends in a stretch of time (A6). A call
// waits in line before its intent is written: whatever dies while it waits has sent nothing.
// Invariant: a slot counts from the moment of the send, not from that of its grant, so that an
// intent which took long to write does not bring two sends closer together.
import type { Clock } from '../../clock.ts'
import type { RateLimit, Tool } from '../../model/tool/tool.ts'

/** The right to send once. Whoever does not use it gives it back. */
export interface Slot {
  sent(): void
  free(): void
}

interface Waiting {
  readonly limit: Readonly<RateLimit>
  readonly go: (slot: Slot) => void
  gone: boolean
}

/** The calls of one class. */
interface Line {
  readonly waiting: Waiting[]
  /** Moments of the last sends, oldest first: as many as the largest limit has to know of. */
  sent: number[]
  kept: number
  /** Slots that were given out and neither used nor given back. */
  granted: number
  pumping: boolean
  cancel: (() => void) | null
}

/** That of a tool without a limit. */
export const unlimited: Slot = { sent: () => {}, free: () => {} }

export class RateLimits {
  private readonly clock: Clock
  private readonly lines = new Map<string, Line>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Calls `go` when the tool may be sent: at once for most. Answers whether it did already. */
  when(tool: Tool, go: (slot: Slot) => void): boolean {
    const limit = tool.rules.rateLimit
    if (limit === null) {
      go(unlimited)
      return true
    }
    const line = this.lineOf(limit.class)
    line.kept = Math.max(line.kept, limit.count)
    const waiting = { limit, go, gone: false }
    line.waiting.push(waiting)
    this.pump(line)
    return waiting.gone
  }

  private lineOf(name: string): Line {
    const known = this.lines.get(name)
    if (known) return known
    const line = { waiting: [], sent: [], kept: 0, granted: 0, pumping: false, cancel: null }
    this.lines.set(name, line)
    return line
  }

  /** Lets go whoever may, in the order of the line. */
  private pump(line: Line): void {
    if (line.pumping) return // what is let go may come back at once: it is seen in this very loop
    line.pumping = true
    line.cancel?.()
    line.cancel = null
    for (let first = line.waiting[0]; first; first = line.waiting[0]) {
      const waitMs = this.waitMs(line, first.limit)
      if (waitMs > 0) {
        this.pumpAfter(line, waitMs)
        break
      }
      line.waiting.shift()
      first.gone = true
      line.granted++
      first.go(this.slotOf(line))
    }
    line.pumping = false
  }

  private pumpAfter(line: Line, waitMs: number): void {
    // All slots are out: the first that comes back pumps.
    if (waitMs === Number.POSITIVE_INFINITY) return
    line.cancel = this.clock.after(waitMs, () => {
      line.cancel = null
      this.pump(line)
    })
  }

  private waitMs(line: Line, { count, perMs }: RateLimit): number {
    const room = count - line.granted
    if (room <= 0) return Number.POSITIVE_INFINITY
    const oldest = line.sent[line.sent.length - room]
    return oldest === undefined ? 0 : oldest + perMs - this.clock.mono()
  }

  private slotOf(line: Line): Slot {
    let out = true
    const back = (used: boolean) => {
      if (!out) return
      out = false
      line.granted--
      if (used) line.sent = [...line.sent, this.clock.mono()].slice(-line.kept)
      if (line.waiting.length > 0) this.pump(line)
    }
    return { sent: () => back(true), free: () => back(false) }
  }
}
