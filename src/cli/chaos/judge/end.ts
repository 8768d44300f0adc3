// How runs end, and in what two ends differ.
import { readState } from '../../../client/run/document.ts'
import type { Run } from '../../../model/run/records.ts'
import type { BlobsPort, InboxPort, LedgerPort } from '../../../store/store.ts'
import type { End } from '../types.ts'
import { type Difference, differences, isWithin } from './compare.ts'
import { nameless } from './nameless.ts'
import type { Seen } from './seen.ts'

export async function readEnd(store: LedgerPort & InboxPort & BlobsPort, run: Run): Promise<End> {
  const json = await store.readOutput(run)
  const { message = null } = JSON.parse(run.errorJson ?? '{}') as { message?: string }
  const output = json === null ? null : JSON.parse(json)
  return { state: run.state, output, lastState: await readState(store, run), error: message }
}

/** The run that others are compared with, and the parts of its end that move by themselves. */
interface Standard {
  readonly reference: Seen
  readonly moving: readonly string[]
}

/** Another end means another way: what is tried then is not what was recorded. */
export function replayNotes(
  { reference, moving }: Standard,
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

export function endsDiffer(a: Seen, b: Seen): Difference[] {
  const plain = ({ runId, driven: { end } }: Seen) => nameless(partsOf(end), runId)
  const [was, is] = [plain(a), plain(b)] as [object, object]
  return Object.entries(was).flatMap(([name, value]) =>
    differences(value, (is as Record<string, unknown>)[name], name),
  )
}

function partsOf({ state, output, lastState, error }: End) {
  return { run: state, output: output ?? null, state: lastState ?? null, error }
}

export function shownDifferences(found: readonly Difference[]): string {
  const shown = found.slice(0, 3).map(shownDifference).join('; ')
  return found.length > 3 ? `${shown}; and ${found.length - 3} more` : shown
}

function shownDifference({ path, was, is }: Difference): string {
  const text = (value: unknown) => {
    const json = JSON.stringify(value) ?? 'nothing'
    return json.length > 60 ? `${json.slice(0, 60)}…` : json
  }
  return `${path} is ${text(is)} instead of ${text(was)}`
}
