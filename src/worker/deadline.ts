// Obeys the deadlines of one item: its SLA, its escalation, its expiry, whichever are due. It is
// one amendment under the run's lock: a decision that comes at the same moment is before it or
// after it.
import { timeId } from '../clock.ts'
import { passDeadlines } from '../model/decisions/deadline.ts'
import type { Item } from '../model/run/records.ts'
import type { Amendment, LedgerPort, LoadAt, Loaded, Timed } from '../store/store.ts'

/** `woken`: it has expired, and its run can go on. `nothing`: somebody else was here before. */
export type Passed = 'nothing' | 'noted' | 'woken'

export function passItem(
  store: Timed<LedgerPort>,
  { itemId, visit, body, ...ref }: Item,
): Promise<Passed> {
  const decisionId = timeId(store.clock, 'dec')
  const change = ({ run, items }: Loaded): Amendment<Passed> => {
    const item = items.find((row) => row.itemId === itemId)
    const made = { at: store.clock.now(), decisionId }
    const changes = item ? passDeadlines(run, item, made) : null
    if (changes === null) return { changes, value: 'nothing' }
    return { changes, value: changes.decisions ? 'woken' : 'noted' }
  }
  const at: LoadAt = { visit, ...(body.scope ? { scope: body.scope } : {}) }
  return store.amend(ref, 'client', change, at)
}
