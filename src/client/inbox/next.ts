// After a decision: what its run does now, and which item the same person may decide next. The
// console and the command line both ask here.

import { type Decider, deciderFault } from '../../model/decisions/vote.ts'
import type { Item, Run } from '../../model/run/records.ts'
import { scopeGraph } from '../../model/run/scope.ts'
import type { RunState } from '../../model/run/states.ts'
import { rowsOf } from '../../store/pages.ts'
import type { InboxPort, LedgerPort } from '../../store/store.ts'

/** The run's own next item first, then the one that has waited longest; null if none is theirs. */
export async function nextFor(
  store: LedgerPort & InboxPort,
  { namespace, runId, itemId }: Pick<Item, 'namespace' | 'runId' | 'itemId'>,
  who: Decider,
): Promise<Item | null> {
  const open = { namespace, state: 'open' } as const
  for (const filter of [{ ...open, runId }, open]) {
    for await (const item of rowsOf((page) => store.listItems({ ...filter, ...page }))) {
      if (item.itemId !== itemId && (await isTheirs(store, item, who))) return item
    }
  }
  return null
}

async function isTheirs(store: LedgerPort & InboxPort, item: Item, who: Decider): Promise<boolean> {
  if (item.body.approval === null) return true
  const run = await store.getRun(item)
  return run !== null && deciderFault(run, item, who) === null
}

/** What the run does now, in words. */
export function whatNext({ graph, state, node }: Run): string {
  if (state === 'pending' && graph === scopeGraph.name) {
    return 'The run goes on when its own program comes to this call again.'
  }
  const words: Readonly<Record<RunState, string>> = {
    pending: `The next free worker continues the run at node ${node}.`,
    running: `A worker continues the run at node ${node}.`,
    waiting_tool: 'The run waits for a time, a signal or a callback.',
    waiting_human: 'The run waits for a person again.',
    paused: 'The run is paused: the decision takes effect when the run is resumed.',
    completed: 'The run has completed.',
    failed: 'The run has failed.',
    cancelled: 'The run was cancelled.',
  }
  return words[state]
}
