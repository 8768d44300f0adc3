// The records of a thread that a branch of it may have to do with: which of them no call of its
// line stands for, and what is known of each.
import type { CallRecord, Counterfoil } from '../../../index.ts'
import { ruledRecord } from '../../../model/replay/answers.ts'
import { isUnknown } from '../../../model/replay/entry.ts'
import { openEntries } from '../../../model/replay/opening.ts'
import { keyOf } from '../../../model/run/records.ts'
import { scopeVisit } from '../../../model/run/scope.ts'
import { namesOf } from './anchor.ts'

/** All of the tool. Pure ones may be made again, and what failed for certain did nothing. */
export async function recordsOf(
  { store, threads }: Counterfoil,
  runId: string,
  tool: string,
): Promise<CallRecord[]> {
  const rows: CallRecord[] = []
  const ref = { namespace: threads.namespace, runId }
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await store.listRecords(ref, cursor === '' ? {} : { cursor })
    rows.push(...page.items.filter((row) => row.tool === tool && row.replayClass !== 'pure'))
    cursor = page.next
  }
  return rows.filter(({ status, unresolved }) => status !== 'failed' || unresolved)
}

export type IsOnLine = (row: CallRecord) => boolean

/**
 * Records off the line that no call of it stands for: the same path first, then the oldest. A call
 * of the line stands for the one whose answer it was given; or, if it was sent, for one that had
 * been made before it: a person has seen both, or it was sent on purpose.
 */
export function unclaimed(
  all: readonly CallRecord[],
  isOnLine: IsOnLine,
  path: string,
): CallRecord[] {
  const ours = all.filter(isOnLine)
  const others = all
    .filter((row) => !isCopy(row) && !isOnLine(row))
    .sort((a, b) => a.createdAt - b.createdAt)
    .sort((a, b) => Number(pathOf(b.nodeId) === path) - Number(pathOf(a.nodeId) === path))
  for (const call of ours.sort((a, b) => a.createdAt - b.createdAt)) {
    const before = others.filter(({ createdAt }) => createdAt <= call.createdAt)
    const given = before.find((row) => isGivenBy(call, row))
    const stands = given ?? before.find((row) => row.inputHash === call.inputHash) ?? before[0]
    if (stands) others.splice(others.indexOf(stands), 1)
  }
  return others
}

function isGivenBy(call: CallRecord, row: CallRecord): boolean {
  return isCopy(call) && row.resultJson === call.resultJson && row.externalId === call.externalId
}

/** Nothing was sent for it. */
function isCopy({ attempt }: CallRecord): boolean {
  return attempt === 0
}

export function pathOf(nodeId: string): string {
  return namesOf(nodeId.split('#')[0] ?? '')
}

/** What is known of a record: it landed, or may have; a person is asked; or it is not over. */
export type Standing =
  | { readonly answer: CallRecord }
  | { readonly itemId: string }
  | 'under way'
  | 'not sent'

export async function standingOf({ store }: Counterfoil, row: CallRecord): Promise<Standing> {
  const { nodeId, checkpointId } = row
  const visit = scopeVisit(nodeId, checkpointId)
  const loaded = await store.load(row, { visit, scope: { nodeId, checkpointId } })
  const key = keyOf(row)
  // With a large result, too.
  const record = loaded?.records.find((each) => keyOf(each) === key)
  if (loaded === null || record === undefined) return { answer: row }
  if (record.status === 'committed' || record.unresolved) return { answer: record }
  const item = loaded.items.find(
    ({ state, body: { subject } }) => state === 'open' && subject && keyOf(subject) === key,
  )
  if (item) return { itemId: item.itemId }
  const entry = openEntries(loaded, row.createdAt).entries.get(key)
  if (entry === undefined) return { answer: row }
  // Its own line has not come back for what was decided, or learnt late.
  const { settled, ruling, grant } = entry
  if (ruling) return { answer: settled?.ok ? (ruledRecord(entry, ruling.at) ?? record) : record }
  if (settled) return settled.ok ? { answer: entry.record } : 'not sent'
  return grant || !isUnknown(entry) ? 'not sent' : 'under way'
}
