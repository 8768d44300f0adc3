// A clock that only moves when it is told to.
import { type Clock, systemClock } from '../clock.ts'

export interface ManualClock extends Clock {
  /** Moves both clocks on and runs the timers that come due, in their order. */
  advance(ms: number): void
}

interface Timer {
  at: number
  fn: () => void
}

/** `turn` is a real turn of the event loop: only time is manual. */
export function manualClock(start = 1_700_000_000_000): ManualClock {
  let elapsed = 0
  let count = 0
  const timers = new Set<Timer>()
  return {
    now: () => start + elapsed,
    mono: () => 1_000 + elapsed,
    // A fixed sequence in [0, 1): tests must not depend on luck.
    random: () => (++count * 0.618_033_988_75) % 1,
    uuid: () => `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`,
    after: (ms, fn) => {
      const timer = { at: elapsed + ms, fn }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    turn: systemClock.turn,
    soon: systemClock.soon,
    advance: (ms) => {
      const until = elapsed + ms
      for (;;) {
        const [next] = [...timers].filter((t) => t.at <= until).sort((a, b) => a.at - b.at)
        if (next === undefined) break
        timers.delete(next)
        elapsed = Math.max(elapsed, next.at)
        next.fn()
      }
      elapsed = until
    },
  }
}
