// What a person's answer to an approval is bound to (E1), and whether enough people gave it.

import { votersFor } from '../decisions/vote.ts'
import { canonical, sha256 } from '../json/canonical.ts'
import { type CallRecord, type Decision, type Item, isAsked } from '../run/records.ts'
import type { VisitRows } from './rows.ts'

/**
 * Whether a decision is about what its record says (E1): the hash that it carries is that of what a
 * node asked, or of what was shown of the very input that is held.
 */
export function isBound(decision: Decision, record: CallRecord, items: readonly Item[]): boolean {
  const item = items.find((row) => row.itemId === decision.itemId)
  const asked = isAsked(record.tool)
  try {
    const { title, data } = asked ? JSON.parse(record.inputJson ?? 'null') : shownBy(item)
    if (sha256(canonical({ title, data })) !== decision.shownHash) return false
    if (asked) return true
    const inputs = [data.input, item?.body.input]
    return inputs.every((input) => sha256(canonical(input)) === record.inputHash)
  } catch {
    return false // a row that cannot even be read binds nobody
  }
}

/** Whether as many people have agreed as had to: by their signed votes, and the signed record. */
export function hasQuorum(
  decision: Decision,
  record: CallRecord,
  now: Pick<VisitRows, 'items' | 'decisions'>,
): boolean {
  if (decision.outcome !== 'approve') return true
  const { itemId, by } = decision
  const item = now.items.find((row) => row.itemId === itemId)
  const asked = isAsked(record.tool) ? JSON.parse(record.inputJson ?? 'null') : null
  const needed = Math.max(asked?.quorum ?? 1, item?.body.approval?.quorum ?? 1)
  return votersFor(now.decisions, itemId, 'approve', by).size >= needed
}

function shownBy(item: Item | undefined): { title?: string; data: { input: unknown } } {
  return { title: item?.title ?? '', data: item?.body.data as { input: unknown } }
}
