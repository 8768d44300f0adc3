// Which failed calls of a visit a person can rule on when the run is tried again (C10).
import { type CallRecord, keyOf } from '../run/records.ts'
import { openEntries } from './opening.ts'
import type { VisitRows } from './rows.ts'

/**
 * Failures that no earlier retry has ruled on, or whose send was voided since: late evidence says
 * that the call had landed (I11), and a person has to say what becomes of it after all.
 */
export function openFailures(rows: VisitRows): CallRecord[] {
  const { entries } = openEntries(rows, rows.run.updatedAt)
  const isOpen = (row: CallRecord) => entries.get(keyOf(row))?.retried === false
  return rows.records.filter((row) => row.status === 'failed' && isOpen(row))
}
