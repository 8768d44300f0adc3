// A workflow of a foreign runtime has items of many scopes, and an amendment sees those of one.
// What the end of such a run leaves open is closed here, item by item: again if it was interrupted.
import type { Clock } from '../../clock.ts'
import type { Item, RunRef } from '../../model/run/records.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import { isEnded } from '../../model/run/states.ts'
import type { InboxPort, LedgerPort, LoadAt } from '../../store/store.ts'

export async function closeLeftovers(
  store: LedgerPort & InboxPort,
  clock: Clock,
  ref: RunRef,
): Promise<void> {
  const run = await store.getRun(ref)
  if (run === null || run.graph !== scopeGraph.name || !isEnded(run.state)) return
  for (;;) {
    const { items } = await store.listItems({ ...ref, state: 'open' })
    if (items.length === 0) return
    for (const item of items) await close(store, clock, item, `the run is ${run.state}`)
  }
}

function close(
  store: LedgerPort & InboxPort,
  clock: Clock,
  { itemId, ...item }: Item,
  closedBy: string,
) {
  return store.amend(
    item,
    'client',
    (now) => {
      const open = now.items.find((row) => row.itemId === itemId && row.state === 'open')
      if (open === undefined) return { changes: null, value: undefined }
      const version = open.version + 1
      const closed = { ...open, state: 'closed', version, closedAt: clock.now(), closedBy } as const
      return { changes: { items: [closed] }, value: undefined }
    },
    placeOf(item),
  )
}

/** Where the store finds what belongs to the item, wherever its run is by now. */
export function placeOf({ visit, body }: Pick<Item, 'visit' | 'body'>): LoadAt {
  return { visit, ...(body.scope ? { scope: body.scope } : {}) }
}
