// The model's context of a run: its document, given to the graph's own hook.
import { documentOf } from '../model/document.ts'
import { CounterfoilError } from '../model/errors.ts'
import { trustedRecords } from '../store/pages.ts'
import type { Visit } from './visit.ts'

/** What `assembleContext` makes of the document; the document itself where there is no hook. */
export async function contextFor(visit: Visit, state: unknown): Promise<unknown> {
  const { graph, run, store, log } = visit
  if (graph === null) throw new CounterfoilError('GRAPH_INVALID', 'a scope has no context')
  // What this visit has recorded so far belongs to it as well.
  await log.whenDurable()
  const records = await trustedRecords(store, run)
  const decisions = (await store.listDecisions(run)).filter((row) => row.verifies)
  const document = documentOf({ run, state, records, decisions, read: graph.document })
  const context = graph.assembleContext ? await graph.assembleContext(document) : document
  // In the turn that records the context, so that neither is durable without the other.
  visit.append({ events: [visit.event('beat', { beat: 'context', data: null })] })
  return context
}
