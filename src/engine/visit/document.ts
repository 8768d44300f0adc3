// The model's context of a run: its document, given to the graph's own hook.

import { errorFor } from '../../model/errors.ts'
import type { Call } from '../../model/graph/context.ts'
import { documentOf } from '../../model/run/document.ts'
import type { Visit } from './visit.ts'

/** What is recorded of what `assembleContext` makes of the document; of itself without a hook. */
export async function contextFor(visit: Visit, state: unknown): Promise<unknown> {
  const { graph, run, contexts } = visit
  if (graph === null || contexts === null) {
    throw errorFor('GRAPH_INVALID', null, 'a scope has no context')
  }
  // What this visit has recorded so far belongs to it as well.
  const [records, decisions] = [await contexts.records(), await contexts.decisions(run)]
  const document = documentOf({ run, state, records, decisions, read: graph.document })
  const context = graph.assembleContext ? await graph.assembleContext(document) : document
  const recorded = context === undefined ? undefined : contexts.chain.recordOf(context)
  // In the turn that records the context, so that neither is durable without the other.
  visit.append({ events: [visit.event('beat', { beat: 'context', data: null })] })
  return recorded
}

/** The context itself: in the turn that delivers what was recorded of it. */
export function contextOf({ contexts }: Visit, call: Call<unknown>): Call<unknown> {
  const read = call.then((recorded) =>
    recorded === undefined ? undefined : copyOf(contexts?.chain.read(recorded)),
  )
  // As with any call: one that nobody awaits is the run's business.
  read.catch(() => {})
  return Object.defineProperty(read, 'replayed', { get: () => call.replayed }) as Call<unknown>
}

/** What the node holds is its own to change. */
function copyOf(context: unknown): unknown {
  return JSON.parse(JSON.stringify(context))
}
