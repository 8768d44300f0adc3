// When a turn ends of which nobody says so.
import type { Counterfoil } from '../../../index.ts'
import { leaseMs } from '../../../model/limits.ts'
import { isDone, type Mark, settle } from './line.ts'

/** A hold may be that of a process that has died: its lease ends within this. */
export const waitMsMax = leaseMs + 5_000
/** A task whose invocation was stopped writes what it did within this of its last call. */
const graceMs = 1_000

/**
 * When a call has ended. An invocation that nobody reads on from may make no further step: its hold
 * ends all the same, and keeps no process alive that has nothing else to do.
 */
export function restTurn(cf: Counterfoil, mark: Mark): void {
  const { turn } = mark
  if (turn === null) return
  turn.rests()
  settle(mark)
  const isBusy = [...mark.sending.values()].some((count) => count > 0)
  if (isBusy || isDone(mark, turn.stepId)) return
  const over = () => {
    if (mark.stopped) mark.sending.clear()
    turn.end()
  }
  turn.rests = cf.store.clock.after(mark.stopped ? graceMs : waitMsMax, over, true)
}
