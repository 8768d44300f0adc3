// Whether a run stood still while its rows were read. Its own row tells of every change but
// intents and receipts, which leave it as it is: those of a running run are read once more.
import type { Attempt, CallRecord, Run } from '../../model/run/records.ts'
import { rowsOf } from '../../store/pages.ts'
import type { LedgerPort } from '../../store/store.ts'

/** What shows that a call or an attempt is in another form than before. */
export function formOf(row: CallRecord | Attempt): string {
  const place = 'attemptId' in row ? [row.attemptId, row.endedAt] : [row.status, row.seq]
  return JSON.stringify([...place, row.attempt, row.fence])
}

/** `seen`: the attempts of the first reading, and then its records. */
export async function stoodStill(
  store: LedgerPort,
  before: Run,
  after: Run | null,
  seen: readonly string[],
): Promise<boolean> {
  if (after === null || stateOf(after) !== stateOf(before)) return false
  if (before.state !== 'running') return true
  let at = 0
  for (const row of await store.listAttempts(before)) if (formOf(row) !== seen[at++]) return false
  for await (const row of rowsOf((page) => store.listRecords(before, page))) {
    if (formOf(row) !== seen[at++]) return false
  }
  return at === seen.length
}

function stateOf({ commitId, arrivals, fence, updatedAt, state }: Run): string {
  return JSON.stringify([commitId, arrivals, fence, updatedAt, state])
}
