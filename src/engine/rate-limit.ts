// Owns: how many calls of a rate-limit class this process sends in a stretch of time (A6). A call
// waits before its intent is written: whatever dies while it waits has sent nothing.
import type { Clock } from '../clock.ts'
import type { Tool } from '../model/tool.ts'

export class RateLimits {
  private readonly clock: Clock
  /** Moments of the last sends of a class, oldest first. */
  private readonly sends = new Map<string, number[]>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** How long this call must wait; the moment is taken for it already. Zero for most tools. */
  waitMs(tool: Tool): number {
    const limit = tool.rules.rateLimit
    if (limit === null) return 0
    const now = this.clock.mono()
    const moments = (this.sends.get(limit.class) ?? []).filter((at) => at > now - limit.perMs)
    const full = moments.length >= limit.count
    const at = full ? (moments[moments.length - limit.count] ?? now) + limit.perMs : now
    this.sends.set(limit.class, [...moments, at])
    return at - now
  }
}
