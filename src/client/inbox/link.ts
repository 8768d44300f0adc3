// The rounds of a repair loop: what was asked, not approved, and is asked again by the same node.
// It is read from what is there, so that nothing has to be kept in step.
import { type Item, isAsked } from '../../model/run/records.ts'
import { rowsOf } from '../../store/pages.ts'
import type { InboxPort } from '../../store/store.ts'

/** An earlier round, and how it ended. */
export interface Previous {
  readonly itemId: string
  readonly outcome: string
  readonly by: string
  readonly reason: string
  readonly at: number
}

export async function previousOf(store: InboxPort, item: Item): Promise<Previous | null> {
  if (item.kind !== 'approval') return null
  const { namespace, runId } = item
  const filter = { namespace, runId, kind: 'approval', state: 'decided' } as const
  let last: Item | null = null
  for await (const old of rowsOf((page) => store.listItems({ ...filter, ...page }))) {
    const before = old.createdAt <= item.createdAt && old.itemId !== item.itemId
    if (before && isSameAsk(old, item) && old.createdAt >= (last?.createdAt ?? 0)) last = old
  }
  if (last === null) return null
  const { itemId } = last
  const said = (await store.listDecisions(item)).findLast(
    (row) => row.itemId === itemId && row.subject !== null && row.verifies,
  )
  if (said === undefined || said.outcome === 'approve' || said.outcome === 'edit') return null
  const { outcome, by, why: reason, at } = said
  return { itemId, outcome, by, reason, at }
}

/** A node asks again by its title; a call that is held, by its tool. */
function isSameAsk(a: Item, b: Item): boolean {
  const [one, two] = [a.body.subject?.tool ?? '', b.body.subject?.tool ?? '']
  return a.body.node === b.body.node && one === two && (!isAsked(one) || a.title === b.title)
}
