// When rows of a run can have been made, by its events (B8): whoever wrote one held the run then.
import type { Event } from '../../model/run/records.ts'

/** Wall clocks are set, and differ between machines: less than this is not held against a row. */
export const toleranceMs = 60_000

interface Claim {
  readonly fence: number
  readonly worker: unknown
  readonly at: number
}

export class Timeline {
  private readonly claims: Claim[] = []

  note({ kind, data, at }: Event): void {
    if (kind !== 'claimed' && kind !== 'taken_over') return
    this.claims.push({ fence: Number(data['fence']), worker: data['worker'], at })
  }

  /** Who was given the run at this fence. */
  holderAt(fence: number): unknown {
    return this.claims.find((claim) => claim.fence === fence)?.worker
  }

  /** Why nobody who held the run at this fence can have done it then; null if they can. */
  outside(fence: number, what: string, at: number): string | null {
    return this.before(fence, what, at) ?? this.after(fence, what, at)
  }

  before(fence: number, what: string, at: number): string | null {
    const own = this.claims.find((claim) => claim.fence === fence)
    if (own === undefined || own.at - at <= toleranceMs) return null
    return `${what} at ${at}, before the event at ${own.at} that gave the run to fence ${fence}`
  }

  after(fence: number, what: string, at: number): string | null {
    const later = this.claims.filter((claim) => claim.fence > fence).map((claim) => claim.at)
    const next = Math.min(...later)
    if (at - next <= toleranceMs) return null
    return `${what} at ${at}, after the event at ${next} that took the run from fence ${fence}`
  }
}
