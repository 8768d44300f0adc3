// What the adoption of a store means for a run that is held, for every store (I12).
import { type Event, eventOf, type Run } from '../../model/run/records.ts'

/**
 * A holder knows what is missing here, and what it writes next would stand on that: it has to read
 * again what is on record.
 */
export function letGo(run: Run, now: number): { run: Run; event: Event } {
  const { fence, workerId: worker } = run
  const data = { from: 'running', to: 'pending', cause: 'the store was adopted', worker }
  return {
    run: { ...run, state: 'pending', workerId: null, fence: fence + 1, updatedAt: now },
    event: eventOf(run, now, 'state', data),
  }
}
