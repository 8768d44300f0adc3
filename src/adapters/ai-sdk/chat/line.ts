// One request of a chat after the other, within a process: what an earlier one leaves is on record
// before the next one looks. Between processes the hold does the same.
import type { Counterfoil } from '../../../index.ts'
import { ScopeHeldError } from '../../../model/errors.ts'

/** Routes over the same store share their lines. */
const lines = new WeakMap<Counterfoil, Line>()

export function lineOf(cf: Counterfoil): Line {
  const known = lines.get(cf)
  if (known) return known
  const line = new Line(cf)
  lines.set(cf, line)
  return line
}

interface Patience {
  readonly waitMs: number
  /** Whoever waits has gone. */
  readonly signal: AbortSignal
}

export class Line {
  private readonly cf: Counterfoil
  /** Who waits behind the one that is at work; no entry if nobody is. */
  private readonly waiting = new Map<string, (() => void)[]>()

  constructor(cf: Counterfoil) {
    this.cf = cf
  }

  /** Resolves when those before it are over; the function it gives ends this one. */
  async enter(id: string, { waitMs, signal }: Patience): Promise<() => void> {
    const { clock } = this.cf.store
    const behind = this.waiting.get(id)
    if (behind === undefined) this.waiting.set(id, [])
    else {
      await new Promise<void>((resolve, reject) => {
        const over = (end: () => void) => () => {
          cancel()
          signal.removeEventListener('abort', leave)
          const at = behind.indexOf(come)
          if (at >= 0) behind.splice(at, 1)
          end()
        }
        const come = over(resolve)
        const leave = over(() => reject(new ScopeHeldError({ workflowId: id })))
        const cancel = clock.after(waitMs, leave)
        behind.push(come)
        signal.addEventListener('abort', leave)
        if (signal.aborted) leave()
      })
    }
    let left = false
    return () => {
      if (!left) this.next(id)
      left = true
    }
  }

  private next(id: string): void {
    const [first] = this.waiting.get(id) ?? []
    if (first) first()
    else this.waiting.delete(id)
  }
}
