// Owns: which foreign workflows this process holds, and its own standing while it holds any.
// Does not own: one hold and its scopes (hold.ts), what happens inside a scope
// (engine/visit/scope.ts).
// Invariants: a workflow is held by one process, a scope by one opener. What a holder that died has
// left is found by the next one like any other record.
import { pause } from '../clock.ts'
import type { Engine } from '../engine/visit/execute.ts'
import { errorFor, isCounterfoilError, ScopeHeldError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import { eventOf, type Run, type RunRef } from '../model/run/records.ts'
import { scopeGraph, scopeVisit } from '../model/run/scope.ts'
import { isEnded } from '../model/run/states.ts'
import type { Tool } from '../model/tool/tool.ts'
import { rowsOf } from '../store/pages.ts'
import type { Amendment, Loaded } from '../store/store.ts'
import { Hold, type OpenScope, type Taken } from './hold.ts'
import { Keeper } from './keeper.ts'
import { isLeft } from './left.ts'
import { type Liveness, sockets } from './liveness.ts'
import { Loop } from './loop.ts'
import { machineOf } from './machine.ts'
import {
  isAbandoned,
  newScopeRun,
  notForeign,
  type ScopeIds,
  scopeClosed,
  stopped,
} from './scope-run.ts'

type Claimed = Pick<Taken, 'keeper' | 'lease' | 'run'>

/** Another process may hold it just to look at what a dead one has left. */
const looksMax = 4
const lookMs = 60
/** Whoever was woken with the workflow comes first. */
const firstMs = 5_000

export class Scopes {
  private readonly engine: Engine & { readonly namespace: string }
  private readonly onError: (error: unknown) => void
  private readonly liveness: Liveness
  private keeper: Promise<Keeper> | null = null
  private readonly holds = new Map<string, Promise<Hold>>()
  /** Holds that are over, while functions of theirs run on. */
  private past: Hold[] = []
  private readonly tools = new Map<string, Tool>()
  /** Workflows that were looked at in vain, until when. */
  private readonly looked = new Map<string, number>()
  private sweeping: Promise<void> | null = null
  private readonly looking: Loop
  private ended = false

  constructor(
    engine: Engine & { namespace: string },
    onError: (error: unknown) => void,
    liveness = sockets,
  ) {
    this.engine = engine
    this.onError = onError
    this.liveness = liveness
    const work = async () => {
      await this.sweep()
      return limits.sweepMs
    }
    const { clock } = engine
    this.looking = new Loop({ clock, work, onError: once(onError), retryMs: limits.sweepMs })
  }

  async open(ids: ScopeIds): Promise<OpenScope> {
    const hold = await this.join(ids)
    try {
      return await hold.enter(ids)
    } catch (error) {
      await hold.leave()
      throw error
    }
  }

  /**
   * Looks for workflows whose holder is dead, and for those that nobody has come back to: a person
   * is asked about calls of theirs whose outcome nobody knows. Any process may do so at any time.
   */
  sweep(): Promise<void> {
    this.sweeping ??= this.lookForLeft().finally(() => {
      this.sweeping = null
    })
    return this.sweeping
  }

  /** The same again and again, in a process that has neither worker nor scopes. */
  keepLooking(): void {
    this.looking.soon(0)
  }

  /** Everything is given back; what is under way in scopes that are open is recorded first. */
  async end(): Promise<void> {
    this.ended = true
    await this.looking.stop()
    await this.sweeping?.catch(() => {})
    const holds = [...this.holds.values()].map((holding) => holding.catch(() => null))
    const end = async (hold: Hold | null) => hold?.end(scopeClosed(hold.run.runId), { hasty: true })
    await Promise.all(holds.map((holding) => holding.then(end)))
    const keeper = await this.keeper?.catch(() => null)
    // A function that runs on keeps the socket: then the end of this process can still be proven.
    await keeper?.end(this.lingering() === 0)
  }

  /** The hold that this process has, or a new one; one that is given back is waited for. */
  private async join(ids: ScopeIds): Promise<Hold> {
    for (;;) {
      if (this.ended) throw errorFor('STORE_CLOSED', 'scope')
      const { workflowId } = ids
      const holding = this.holds.get(workflowId) ?? this.hold(workflowId, this.take(ids))
      const hold = await holding
      if (hold.join()) return hold
      await hold.over
    }
  }

  private hold(workflowId: string, holding: Promise<Hold>): Promise<Hold> {
    const forget = () => {
      if (this.holds.get(workflowId) === holding) this.holds.delete(workflowId)
      this.restIfIdle()
    }
    this.holds.set(workflowId, holding)
    holding.then((hold) => {
      void hold.over.then(() => {
        this.past = [...this.past, hold].filter((each) => each.unreturned() > 0)
        forget()
      })
    }, forget)
    return holding
  }

  /** The workflow's run, made at its first scope, claimed for this process alone. */
  private async take(ids: ScopeIds): Promise<Hold> {
    const { store, clock, namespace } = this.engine
    const ref = { namespace, runId: ids.workflowId }
    const { run } = await store.start(newScopeRun(ref, clock))
    if (run.graph !== scopeGraph.name) throw notForeign(run)
    await this.makeReady(ref, ids)
    let taken = await this.claim(ref)
    for (let n = 0; taken === null && n < looksMax; n++) {
      await pause(clock, lookMs)
      taken = await this.claim(ref)
    }
    return this.holdOf(ref, taken)
  }

  private async holdOf(ref: RunRef, taken: Claimed | null, waited = false): Promise<Hold> {
    if (taken === null) throw new ScopeHeldError({ workflowId: ref.runId })
    const hold = new Hold(this.engine, { ...taken, tools: this.tools, waited })
    // Asked of a holder that died before it could obey.
    const { stop } = taken.run
    if (stop) {
      const error = stopped({ ...taken.run, state: stop.to })
      await hold.end(error)
      throw error
    }
    return hold
  }

  /** Between scopes the run waits for its host or a person; both end with its host's return. */
  private makeReady(ref: RunRef, ids: ScopeIds): Promise<void> {
    const { nodeId, checkpointId, afterAbandon } = ids
    const { store, clock } = this.engine
    const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
    const change = ({ run }: Loaded): Amendment<void> => {
      const { state } = run
      const again = afterAbandon === 'go_on' && isAbandoned(run)
      if ((isEnded(state) && !again) || state === 'paused') throw stopped(run)
      const waits = again || state === 'waiting_human' || state === 'waiting_tool'
      const data = { from: state, to: 'pending', cause: 'its host has opened a scope' }
      const events = [eventOf(run, clock.now(), 'state', data)]
      const error = again ? { errorJson: null } : {}
      const ready = { run: { state: 'pending', waitingFor: null, ...error }, events } as const
      return { changes: waits ? { ...ready, events } : null, value: undefined }
    }
    return store.amend(ref, 'client', change, at)
  }

  private async lookForLeft(): Promise<void> {
    const { store, namespace } = this.engine
    const ours = { namespace, graph: scopeGraph.name } as const
    const alive = await this.alive()
    // Where no worker does: a workflow that waits for its host is looked at again at its time.
    await store.wakeDue(limits.wakeBatchMax)
    for (const state of ['running', 'pending'] as const) {
      const page = rowsOf((one) => store.listRuns({ ...ours, state, ...one }))
      for await (const run of page) {
        if (this.ended) return
        if (this.holds.has(run.runId) || alive.has(run.workerId ?? '')) continue
        if (state === 'running' || (await this.isForgotten(run))) await this.lookAt(run)
      }
    }
  }

  private async alive(): Promise<ReadonlySet<string>> {
    const { store } = this.engine
    await this.liveness.declareDead(store, { workerId: null, ...machineOf(store) })
    const rows = await store.workers()
    const lives = rows.filter(
      (row) => !row.expired && row.diedAt === null && row.stoppedAt === null,
    )
    return new Set(lives.map(({ workerId }) => workerId))
  }

  /** It waits for its host, and has calls that the host may not come for. */
  private async isForgotten(run: Run): Promise<boolean> {
    const { store, clock } = this.engine
    const now = clock.now()
    if (now < Math.max(run.updatedAt + firstMs, this.looked.get(run.runId) ?? 0)) return false
    this.looked.set(run.runId, now + limits.unaskedMs)
    return (await store.openCalls(run)).some(isLeft)
  }

  private async lookAt(run: Run): Promise<void> {
    const waited = run.state === 'pending'
    try {
      const taking = this.claim(run).then((taken) => this.holdOf(run, taken, waited))
      const hold = await this.hold(run.runId, taking)
      if (!hold.join()) return
      try {
        await hold.askAboutLeft(waited ? 'all' : 'unsafe')
      } finally {
        await hold.leave()
      }
    } catch (error) {
      // Somebody else has it: then they find what is left. One that was to stop has stopped.
      if (!isCounterfoilError(error)) throw error
      if (!['SCOPE_HELD', 'RUN_PAUSED', 'RUN_ENDED'].includes(error.code)) throw error
    }
  }

  private async claim({ namespace, runId }: RunRef): Promise<Claimed | null> {
    const { store } = this.engine
    for (let again = false; ; again = true) {
      const keeper = await this.standing()
      const { id: workerId } = keeper
      const lease = keeper.lease()
      const only = { namespace, runId }
      const request = { only, workerId, graphs: [scopeGraph], countMax: 1 }
      try {
        const [free] = await store.claim(request)
        if (free) return { keeper, lease, run: free }
        await this.liveness.declareDead(store, { workerId, ...machineOf(store) })
        const [left] = await store.claim(request)
        return left ? { keeper, lease, run: left } : null
      } catch (error) {
        // Declared dead, and not noticed yet: a new worker can hold what this one could not.
        if (again || !isCounterfoilError(error, 'WORKER_DEAD')) throw error
        this.drop(keeper, error.message)
      }
    }
  }

  /** This process's worker: made at the first scope, and anew once it is dead on record. */
  private async standing(): Promise<Keeper> {
    for (;;) {
      this.keeper ??= this.begin()
      const made = this.keeper
      const keeper = await made.catch((error) => {
        if (this.keeper === made) this.keeper = null
        throw error
      })
      await keeper.wake()
      if (this.keeper === made) return keeper
    }
  }

  private async begin(): Promise<Keeper> {
    const { store, clock } = this.engine
    const { onError, liveness } = this
    const onLost = (why: string) => this.drop(keeper, why)
    const { leaseMs } = limits
    const keeper = new Keeper(store, clock, { leaseMs, onError, onLost, liveness })
    await keeper.begin()
    keeper.every(limits.pollMs, () => this.obeyStops(keeper))
    keeper.every(limits.sweepMs, () => this.sweep())
    return keeper
  }

  /** It is dead on record: what it held is lost, and the next scope needs another. */
  private drop(keeper: Keeper, why: string): void {
    this.keeper = null
    for (const holding of this.holds.values()) {
      holding.then((hold) => hold.keeper === keeper && hold.lose(why)).catch(() => {})
    }
    keeper.end(false).catch(this.onError)
  }

  private restIfIdle(): void {
    if (this.holds.size > 0) return
    const rest = (keeper: Keeper) => {
      if (this.holds.size === 0) keeper.rest()
    }
    this.keeper?.then(rest, () => {})
  }

  private async obeyStops({ id }: Keeper): Promise<void> {
    for (const run of await this.engine.store.stops(id)) {
      const hold = await this.holds.get(run.runId)?.catch(() => null)
      if (!hold || hold.run.fence !== run.fence) continue
      hold.end(stopped({ ...run, state: run.stop?.to ?? 'paused' })).catch(this.onError)
    }
  }

  /** Functions that have not returned, of holds that are over. */
  private lingering(): number {
    return this.past.reduce((sum, hold) => sum + hold.unreturned(), 0)
  }
}

/** The same error again and again is told once. */
function once(tell: (error: unknown) => void): (error: unknown) => void {
  let last = ''
  return (error) => {
    if (String(error) !== last) tell(error)
    last = String(error)
  }
}
