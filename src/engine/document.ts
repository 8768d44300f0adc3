// The model's context of a run: its document, given to the graph's own hook.
import { documentOf } from '../model/document.ts'
import { CounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import type { CallRecord, RunRef } from '../model/records.ts'
import type { Store } from '../store/store.ts'
import type { Visit } from './visit.ts'

/** What `assembleContext` makes of the document; the document itself where there is no hook. */
export async function contextFor(visit: Visit, state: unknown): Promise<unknown> {
  const { graph, run, store, log } = visit
  if (graph === null) throw new CounterfoilError('GRAPH_INVALID', 'a scope has no context')
  // What this visit has recorded so far belongs to it as well.
  await log.whenDurable()
  const records = await recordsOf(store, run)
  const decisions = (await store.listDecisions(run)).filter((row) => row.verifies)
  const document = documentOf({ run, state, records, decisions, read: graph.document })
  const context = graph.assembleContext ? await graph.assembleContext(document) : document
  // In the turn that records the context, so that neither is durable without the other.
  visit.append({ events: [visit.event('beat', { beat: 'context', data: null })] })
  return context
}

async function recordsOf(store: Store, ref: RunRef): Promise<CallRecord[]> {
  const rows: CallRecord[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['listRecords']>> = await store.listRecords(ref, {
      countMax: limits.pageSizeMax,
      ...(cursor === null ? {} : { cursor }),
    })
    // What cannot be trusted is nobody's evidence (B8).
    rows.push(...page.items.filter((row) => row.verifies))
    cursor = page.next
  } while (cursor !== null)
  return rows
}
