// Owns: where a run stands (node, visit, state) along one execution, and which checkpoints are
// written on its way: at every arrival, or only before effects, as the node's dial says.
// Does not own: what a row says (model/run/checkpoint.ts), nor when it is durable (committer.ts).
// Invariants: I3 a checkpoint enters the one buffer after the receipts it follows from. D10 before
// a call that is not pure the checkpoint of its visit is written, whatever the dial.
import type { Clock } from '../../clock.ts'
import { isCounterfoilError } from '../../model/errors.ts'
import { parseDial } from '../../model/graph/dial.ts'
import type { Graph } from '../../model/graph/graph.ts'
import { type Chain, nextCheckpoint, readChain } from '../../model/run/checkpoint.ts'
import type { Run } from '../../model/run/records.ts'
import type { Changes, Loaded } from '../../store/store.ts'

export class Trail {
  node: string
  visit: number
  state: unknown
  private readonly graph: Graph
  private readonly run: Run
  private readonly clock: Clock
  /** The last checkpoint that was written, and its state. */
  private chain: Chain
  private isDue = false
  private isReached = false

  private constructor(graph: Graph, run: Run, chain: Chain, clock: Clock) {
    this.graph = graph
    this.run = run
    this.chain = chain
    this.clock = clock
    this.node = run.node
    this.visit = run.visit
    this.state = chain.state
  }

  /** From what is durable; or why that cannot be used. */
  static read(graph: Graph, { run, checkpoints }: Loaded, clock: Clock): Trail | { why: string } {
    try {
      const read = readChain(checkpoints, run)
      return read.ok ? new Trail(graph, run, read, clock) : { why: read.why }
    } catch (error) {
      // Of a newer Counterfoil, or a row that says so: neither can be told from here.
      if (isCounterfoilError(error, 'CHECKPOINT_NEWER')) return { why: error.message }
      throw error
    }
  }

  /** Arrives at a node. Answers its checkpoint, or null if the node's dial skips it for now. */
  move(node: string, state: unknown): Changes | null {
    this.node = node
    this.state = state
    this.visit++
    this.isDue = true
    this.isReached = false
    const dial = parseDial(this.graph.dials.get(node) ?? 'always')
    if (dial?.kind === 'before_effects') return null
    if (dial?.kind === 'every' && this.visit % dial.count !== 0) return null
    return this.due()
  }

  /** The checkpoint of this visit, if it was not written yet. */
  due(): Changes | null {
    if (!this.isDue) return null
    this.isDue = false
    const { namespace, runId, generation, version } = this.run
    const { node, visit, state, clock } = this
    const place = { namespace, runId, generation, version, node, visit, createdAt: clock.now() }
    const { row, ...chain } = nextCheckpoint(this.chain, place, state, this.graph.checkpoints)
    this.chain = chain
    return { checkpoints: [row], run: { node, visit, progress: true } }
  }

  /** To be written with a record of a visit whose checkpoint was skipped; once a visit. */
  reached(): Changes | null {
    if (!this.isDue || this.isReached) return null
    this.isReached = true
    return { run: { reached: this.visit } }
  }
}
