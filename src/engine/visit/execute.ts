// Executes one claimed run until it ends, parks, or is lost. A first start and a resume are the
// same path (C4): load, open the records, run the node from its beginning; then the next node, in
// the same way.
import type { Clock } from '../../clock.ts'
import type { Queues } from '../../model/decisions/approval.ts'
import type { Graph } from '../../model/graph/graph.ts'
import type { SignalPool } from '../../model/replay/waits.ts'
import type { Run } from '../../model/run/records.ts'
import type { RiskPolicy } from '../../model/tool/risk.ts'
import type { Loaded, Store } from '../../store/store.ts'
import { damageItem, doubtRun, poisonItem } from '../ask/doubt.ts'
import type { RateLimits } from '../attempt/rate-limit.ts'
import type { Committer } from '../committer.ts'
import { outputsOf } from '../wait/outputs.ts'
import { hearNew, listens } from '../wait/waits.ts'
import { Contexts } from './contexts.ts'
import { findDamage } from './damage.ts'
import { newlyUnresolved } from './ending.ts'
import { runNode } from './node.ts'
import { deathsOfPoison } from './poison.ts'
import { Trail } from './trail.ts'
import { type Lease, Visit, type VisitEnd, type VisitOptions } from './visit.ts'

export interface Engine {
  readonly store: Store
  readonly clock: Clock
  readonly namespace?: string
  readonly committer: Committer
  readonly settleMs: number
  readonly limits: RateLimits
  readonly policy: RiskPolicy | null
  readonly queues?: Queues
  /** By `name@version`. */
  readonly graphs: ReadonlyMap<string, Graph>
}

export interface Execution {
  readonly run: Run
  readonly done: Promise<VisitEnd>
  /** Finish what is under way, begin nothing, give the run back. */
  drain(): void
  /** Somebody wants it stopped: as the row says now. */
  stop(run: Run): void
  /** Functions of its attempts that have not returned: timed out, or of a run that was lost. */
  unreturned(): number
  /** Whether something from outside could answer a call while others are under way. */
  listens(): boolean
  /** Looks what has come for the run since it was loaded. */
  hear(): Promise<void>
  /** The lease is gone: write nothing more. */
  lose(why: string): void
  /** Why it was lost, if it was. */
  lostBy(): unknown
}

type Begin = Pick<VisitOptions, 'loaded' | 'trail' | 'signals'>

export function execute(engine: Engine, run: Run, lease: Lease): Execution {
  const log = engine.committer.open(run)
  const graph = engine.graphs.get(`${run.graph}@${run.version}`)
  let visit: Visit | null = null
  let visits: Visit[] = []
  let draining = false
  let lostBy: unknown = null
  const contexts = new Contexts(engine.store, log)
  log.onLost((why) => {
    lostBy = why
  })
  /** Makes the visit the present one; a wish that came before is obeyed before its node begins. */
  const begin = (options: Begin) => {
    const made = new Visit({ ...engine, graph: graph ?? null, log, lease, contexts, ...options })
    visits = [...visits.filter((past) => past.unreturned > 0), made]
    visit = made
    if (draining) made.drain()
    return made
  }
  const loop = async (): Promise<VisitEnd> => {
    for (;;) {
      const loaded = await engine.store.load(run)
      if (loaded === null || loaded.run.fence !== run.fence || log.lost) return 'lost'
      if (graph === undefined) throw new Error(`claimed ${run.runId} of an unknown graph`)
      const trail = Trail.read(graph, loaded, engine.clock)
      if (!(trail instanceof Trail)) {
        const damage = await findDamage(engine.store, loaded.run, trail.why)
        const made = begin({ loaded, trail: null, signals: null })
        doubtRun(made, damageItem(made, damage))
        return made.done
      }
      const deaths = await deathsOfPoison(engine.store, loaded)
      if (deaths) {
        const made = begin({ loaded, trail: null, signals: null })
        doubtRun(made, poisonItem(made, deaths))
        return made.done
      }
      const childOutputs = await outputsOf(engine.store, loaded)
      const first = { ...loaded, childOutputs }
      const end = await follow(engine, graph, first, { trail, contexts, begin })
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
    stop: ({ stop, arrivals }) => {
      if (stop) visit?.stopFor(stop, arrivals)
    },
    listens: () => visit !== null && listens(visit),
    hear: () => (visit ? hearNew(visit) : Promise.resolve()),
    unreturned: () => visits.reduce((sum, each) => sum + each.unreturned, 0),
    lose: (why) => log.lose(why),
    lostBy: () => lostBy,
  }
}

interface Following {
  readonly trail: Trail
  readonly contexts: Contexts
  readonly begin: (options: Begin) => Visit
}

/** Visit after visit, without asking the store again where nothing can be recorded yet. */
async function follow(
  engine: Engine,
  graph: Graph,
  first: Loaded,
  { trail, contexts, begin }: Following,
): Promise<VisitEnd> {
  let loaded = first
  let signals: SignalPool | null = null
  for (;;) {
    loaded = { ...loaded, records: await contexts.prepare(loaded.records) }
    const visit: Visit = begin({ loaded, trail, signals })
    const { abandoned } = visit.opening
    const { stop, arrivals } = loaded.run
    if (abandoned) return visit.abandon(abandoned.by, abandoned.why)
    if (stop) visit.stopFor(stop, arrivals)
    if (visit.phase === 'running') runNode(visit, graph, trail.state)
    const end = await visit.done
    if (end !== 'moved') return end
    const since = newlyUnresolved(loaded.unresolved, visit.opening.unresolved)
    const unresolved = [...loaded.unresolved, ...since]
    const run = { ...loaded.run, node: trail.node, visit: trail.visit }
    const known = trail.visit <= loaded.run.reached ? await recorded(engine.store, run) : nothing
    loaded = { ...known, run, unresolved }
    signals = visit.signals
  }
}

const nothing = {
  checkpoints: [],
  records: [],
  attempts: [],
  evidence: [],
  items: [],
  decisions: [],
  signals: [],
  deaths: new Map<string, number>(),
}

/** What an earlier execution recorded of a visit that its checkpoint did not reach. */
async function recorded(store: Store, run: Run): Promise<Omit<Loaded, 'run' | 'unresolved'>> {
  return (await store.load(run, { visit: run.visit })) ?? nothing
}
