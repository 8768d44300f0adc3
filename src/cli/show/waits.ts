// What a run waits for that is no person, in words.
import type { Run } from '../../model/run/records.ts'
import { relative } from './text.ts'

/** Null for a run that waits for nothing of the kind. */
export function waitWords({ state, waitingFor, wakeAt }: Run, now: number): string | null {
  if (state !== 'waiting_tool' || waitingFor === null) return null
  const names = waitingFor.names ?? []
  const shown = names.slice(0, 3).join(', ')
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  const until = wakeAt === null ? '' : relative(wakeAt, now)
  if (waitingFor.kind === 'timer') return `its time, ${until}`
  const what = waitingFor.kind === 'child' ? 'child run' : waitingFor.kind
  const limit = until === '' ? '' : `, or ${until}`
  return `${what} ${shown}${more}${limit}`
}
