// The end of a recorded run, and whether its replay comes to the same.
import { readState } from '../../client/document.ts'
import type { Run } from '../../model/records.ts'
import type { BlobsPort, InboxPort, LedgerPort } from '../../store/store.ts'
import { isWithin } from './compare.ts'
import { endsDiffer, type Judge, shownDifferences } from './judge.ts'
import type { End } from './types.ts'

export async function readEnd(store: LedgerPort & InboxPort & BlobsPort, run: Run): Promise<End> {
  const json = await store.readOutput(run)
  const { message = null } = JSON.parse(run.errorJson ?? '{}') as { message?: string }
  const output = json === null ? null : JSON.parse(json)
  return { state: run.state, output, lastState: await readState(store, run), error: message }
}

/** Another end means another way: what is tried then is not what was recorded. */
export function replayNotes(
  { reference, moving }: Judge,
  recorded: End | null,
  ignore: readonly string[],
): string[] {
  if (recorded === null) return []
  const before = { ...reference, driven: { ...reference.driven, end: recorded } }
  const found = endsDiffer(before, reference).filter(
    ({ path }) => !isWithin(path, [...moving, ...ignore]),
  )
  if (found.length === 0) return []
  return [`the replay does not end as the recorded run did: ${shownDifferences(found)}`]
}
