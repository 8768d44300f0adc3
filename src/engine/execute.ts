// Executes one claimed run until it ends, parks, or is lost. A first start and a resume are the
// same path (C4): load, open the records, run the node from its beginning.
import type { Clock } from '../clock.ts'
import { canonical, parseCanonical, plainCopy } from '../model/canonical.ts'
import type { Graph, NodeFunction } from '../model/graph.ts'
import type { Run } from '../model/records.ts'
import { validate } from '../model/schema.ts'
import type { Store } from '../store/store.ts'
import type { Committer } from './committer.ts'
import { createContext } from './context.ts'
import { Gate } from './gate.ts'
import { currentVisit, type Lease, Visit, type VisitEnd } from './visit.ts'

export interface Engine {
  readonly store: Store
  readonly clock: Clock
  readonly namespace?: string
  readonly committer: Committer
  readonly settleMs: number
  /** By `name@version`. */
  readonly graphs: ReadonlyMap<string, Graph>
}

export interface Execution {
  readonly run: Run
  readonly done: Promise<VisitEnd>
  /** Finish what is under way, begin nothing, give the run back. */
  drain(): void
  /** Functions of its attempts that have not returned: timed out, or of a run that was lost. */
  unreturned(): number
  /** The lease is gone: write nothing more. */
  lose(why: string): void
}

export function execute(engine: Engine, run: Run, lease: Lease): Execution {
  const log = engine.committer.open(run)
  let visit: Visit | null = null
  const visits: Visit[] = []
  let draining = false
  const loop = async (): Promise<VisitEnd> => {
    for (;;) {
      const loaded = await engine.store.load(run)
      if (loaded === null || loaded.run.fence !== run.fence || log.lost) return 'lost'
      const graph = engine.graphs.get(`${run.graph}@${run.version}`)
      if (graph === undefined) throw new Error(`claimed ${run.runId} of an unknown graph`)
      visit = new Visit({ ...engine, graph, loaded, log, lease })
      visits.push(visit)
      const { abandoned } = visit.opening
      if (abandoned) await visit.abandon(abandoned.by, abandoned.why)
      else start(visit, graph)
      if (draining) visit.drain()
      const end = await visit.done
      if (end !== 'arrived') return end
    }
  }
  return {
    run,
    done: loop(),
    drain: () => {
      draining = true
      visit?.drain()
    },
    unreturned: () => visits.reduce((sum, each) => sum + each.unreturned, 0),
    lose: (why) => log.lose(why),
  }
}

function start(visit: Visit, graph: Graph): void {
  const node = graph.nodes.get(visit.run.node)
  if (node === undefined) {
    throw new Error(`graph ${graph.id} has no node ${visit.run.node}`)
  }
  currentVisit.run(visit, () => {
    runNode(visit, graph, node).then(
      (json) => visit.nodeEnded({ ok: true, value: json }),
      (error) => visit.nodeEnded({ ok: false, value: error }),
    )
  })
}

/** The run's output as it is recorded; null when the node returned nothing. */
async function runNode(visit: Visit, graph: Graph, node: NodeFunction): Promise<string | null> {
  const state = plainCopy(parseCanonical(visit.loaded.checkpoint.bodyJson))
  const end = await node(state, createContext(visit, new Gate(visit)))
  const what = { code: 'OUTPUT_INVALID', subject: `output of ${graph.id}` } as const
  const output = graph.output ? await validate(graph.output, end.output, what) : end.output
  return output === undefined ? null : canonical(output)
}
