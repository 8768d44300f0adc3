// Lists come in pages; this reads them to their end.
import * as limits from '../model/limits.ts'
import type { CallRecord, RunRef } from '../model/run/records.ts'
import type { LedgerPort, Page, Sealed } from './store.ts'

/** Every row of a list that comes in pages. */
export async function* rowsOf<T>(
  list: (page: { cursor?: string; countMax: number }) => Promise<Page<T>>,
): AsyncGenerator<T> {
  const countMax = limits.pageSizeMax
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<T> = await list(cursor === undefined ? { countMax } : { cursor, countMax })
    yield* page.items
    cursor = page.next
  }
}

/** The records of a whole run that can be trusted: any other is nobody's evidence (B8). */
export async function trustedRecords(
  store: LedgerPort,
  ref: RunRef,
): Promise<Sealed<CallRecord>[]> {
  const rows: Sealed<CallRecord>[] = []
  for await (const row of rowsOf((page) => store.listRecords(ref, page))) {
    if (row.verifies) rows.push(row)
  }
  return rows
}
