// Registers graphs with the store: the same version with other content is refused (F3), before
// anything of it is started or claimed.
import type { Clock } from '../../clock.ts'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'
import { differences, type KnownContent } from '../../model/graph/differences.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { canonical } from '../../model/json/canonical.ts'
import type { LedgerPort } from '../../store/store.ts'

export async function registerGraphs(
  store: LedgerPort,
  clock: Clock,
  namespace: string,
  graphs: Iterable<Graph>,
): Promise<void> {
  for (const graph of graphs) {
    const { name, version, fingerprint, content } = graph
    const contentJson = canonical(content)
    const row = { namespace, name, version, fingerprint, contentJson, registeredAt: clock.now() }
    const known = await store.registerGraph(row)
    if (known.fingerprint === fingerprint) continue
    // It may have been written in an earlier form: then what that could tell is compared.
    const what = differences(JSON.parse(known.contentJson) as KnownContent, content)
    if (what.length > 0) throw changed(graph, what)
  }
}

function changed(graph: Graph, what: readonly string[]): CounterfoilError {
  return errorFor('GRAPH_CHANGED', graph.id, what)
}
