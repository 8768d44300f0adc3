// What is in the maps; of itself a store in memory has nothing to tell.

import type { Item } from '../../model/run/records.ts'
import type { StoreFacts } from '../store.ts'
import { countsOf } from '../whole-runs/counts.ts'
import { isOverdue } from '../whole-runs/lists.ts'
import type { Data } from './data.ts'
import { itemsOf } from './read.ts'

export function facts(data: Data, namespace: string): StoreFacts {
  const runs = [...data.runs.values()].map(({ run }) => run)
  const now = data.clock.now()
  const isHere = (item: Item) => item.namespace === namespace && item.state === 'open'
  const open = itemsOf(data).filter(isHere)
  const oldest = open
    .filter((item) => item.kind === 'doubt')
    .reduce<Item | null>((a, b) => (a !== null && a.createdAt <= b.createdAt ? a : b), null)
  const counts = countsOf(
    runs.map((run) => ({ ...run, n: 1 })),
    open.map((item) => ({ ...item, n: 1, overdue: isOverdue(item, now) ? 1 : 0 })),
    namespace,
  )
  return {
    bytes: 0,
    walBytes: 0,
    storeId: null,
    migrations: [],
    keyIds: [],
    keyFile: null,
    durability: {},
    adoptions: [],
    ...counts,
    oldestDoubt: oldest && {
      itemId: oldest.itemId,
      runId: oldest.runId,
      createdAt: oldest.createdAt,
    },
  }
}
