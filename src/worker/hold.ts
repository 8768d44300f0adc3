// Owns: this process's hold on one foreign workflow: one lease, one fence and one log, shared by
// its open scopes; given back with the last of them, or when somebody wants the workflow stopped.
// Does not own: what happens inside a scope (engine/scope.ts), nor who may have it (scopes.ts).
// Invariants: I7 whatever ends it, nothing new begins, what is under way is recorded, and then it
// is given back. I10 the state it is left in is made of all that had arrived by then.
import { pause } from '../clock.ts'
import type { RunLog } from '../engine/committer.ts'
import { closedItem, stopChange, waitingForItems } from '../engine/ending.ts'
import type { Engine } from '../engine/execute.ts'
import { ScopeVisit, scopeLost } from '../engine/scope.ts'
import type { Lease } from '../engine/visit.ts'
import { type CounterfoilError, isCounterfoilError, ScopeHeldError } from '../model/errors.ts'
import { type Decision, eventOf, type Item, type Run } from '../model/records.ts'
import { scopeVisit } from '../model/scope.ts'
import { rowsOf } from '../store/pages.ts'
import type { Changes, CommitResult, RunChange } from '../store/store.ts'
import type { Keeper } from './keeper.ts'
import { type ScopeIds, scopeClosed, stopped } from './scope-run.ts'

const retryMs = 10
const retryMaxMs = 1_000

/** A run that was claimed, by whom, and how long it is held. */
export interface Taken {
  readonly keeper: Keeper
  readonly lease: Lease
  readonly run: Run
}

export interface OpenScope {
  readonly visit: ScopeVisit
  close(): Promise<void>
}

export class Hold {
  readonly run: Run
  /** When it has been given back. */
  readonly over: Promise<void>
  private readonly engine: Engine
  readonly keeper: Keeper
  private readonly lease: Lease
  private readonly log: RunLog
  private readonly scopes = new Map<string, ScopeVisit>()
  /** Visits that are over, while functions of theirs run on. */
  private past: ScopeVisit[] = []
  private users = 0
  private refusal: CounterfoilError | null = null
  private abandoned: Decision | null = null
  private releasing: Promise<void> | null = null
  private hasting = false
  private finish: () => void = () => {}

  constructor(engine: Engine, taken: Taken) {
    this.engine = engine
    this.keeper = taken.keeper
    this.lease = taken.lease
    this.run = taken.run
    this.over = new Promise((resolve) => {
      this.finish = resolve
    })
    this.log = engine.committer.open(taken.run)
    this.log.onLost(() => void this.release())
  }

  /** False if it is being given back: then it has to be taken anew. */
  join(): boolean {
    if (this.log.lost || this.releasing) return false
    this.users++
    return true
  }

  /** The last one gives it back. */
  async leave(): Promise<void> {
    if (--this.users === 0) void this.release()
    await this.releasing
  }

  async enter(ids: ScopeIds): Promise<OpenScope> {
    const { nodeId, checkpointId } = ids
    const key = JSON.stringify([nodeId, checkpointId])
    const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
    const loaded = await this.engine.store.load(this.run, at)
    const elsewhere = await this.unknownElsewhere(at.visit)
    if (this.refusal) throw this.refusal
    if (loaded === null || this.log.lost) throw scopeLost(ids.workflowId)
    if (this.scopes.has(key)) throw new ScopeHeldError(ids)
    const visit = new ScopeVisit({
      ...this.engine,
      ...{ graph: null, trail: null, scope: at.scope, log: this.log, signals: null },
      loaded: { ...loaded, run: { ...this.run, node: nodeId, visit: at.visit } },
      lease: this.lease,
    })
    this.abandoned = visit.opening.abandoned
    if (this.abandoned) return this.refuse(stopped({ ...this.run, state: 'failed' }))
    visit.beware(elsewhere)
    visit.onDoubt = (item) => this.warnOthers(visit, item)
    this.scopes.set(key, visit)
    let closing: Promise<void> | null = null
    const close = () => {
      closing ??= this.close(key, visit)
      return closing
    }
    return { visit, close }
  }

  /** Somebody wants the workflow stopped, or this process ends. */
  async end(error: CounterfoilError, options: { hasty?: boolean } = {}): Promise<void> {
    this.refusal ??= error
    this.hasting ||= options.hasty === true
    const open = [...this.scopes.values()]
    for (const visit of open) {
      visit.refuseCalls(error)
      visit.drain()
    }
    for (const visit of open) {
      await visit.done
      visit.endCalls(error)
    }
    await this.release()
  }

  lose(why: string): void {
    this.log.lose(why)
  }

  /** Functions of attempts that have not returned. */
  unreturned(): number {
    return [...this.past, ...this.scopes.values()].reduce((sum, each) => sum + each.unreturned, 0)
  }

  private async refuse(error: CounterfoilError): Promise<never> {
    await this.end(error)
    throw error
  }

  /** Calls that were issued get their answer first, as those of a node whose function returned. */
  private async close(key: string, visit: ScopeVisit): Promise<void> {
    const error = scopeClosed(this.run.runId)
    visit.refuseCalls(error)
    await visit.settled()
    visit.drain()
    await visit.done
    visit.endCalls(error)
    this.scopes.delete(key)
    this.past = [...this.past, visit].filter((each) => each.unreturned > 0)
    await this.leave()
  }

  /**
   * A host may go on after a doubt, and a model try the same call at the next node: not before a
   * person has looked, nor after one has failed it without knowing.
   */
  private async unknownElsewhere(visit: number) {
    const { store } = this.engine
    const decisions = await store.listDecisions(this.run)
    const blind = decisions
      .filter((row) => row.outcome === 'fail' && row.kind === 'doubt')
      .filter((row) => row.visit !== visit && isUnknown(row.reason))
      .flatMap(({ subject }) => (subject ? [subject] : []))
    // Also what a dead holder has sent and nobody was asked about yet. Of a held call nothing was
    // sent; what an open scope has under way is its own business.
    const known = new Set([...this.scopes.values()].map((scope) => scope.at.visit))
    const open = (await store.openCalls(this.run)).filter((call) => {
      const place = scopeVisit(call.nodeId, call.checkpointId)
      // A keyed call that is pending is sent again with its key: nobody need be asked.
      const unknown = call.status === 'in_doubt' || call.replayClass === 'unsafe_on_replay'
      return unknown && call.attempt > 0 && place !== visit && !known.has(place)
    })
    return [...open, ...blind, ...(await this.doubtsOf(known, visit))]
  }

  /** Calls of open scopes that a person is asked about. */
  private async doubtsOf(open: ReadonlySet<number>, but: number) {
    return (await this.openItems())
      .filter((item) => item.visit !== but && open.has(item.visit) && isUnknown(item.reason))
      .flatMap(({ body: { subject } }) => (subject ? [subject] : []))
  }

  private warnOthers(from: ScopeVisit, { reason, body: { subject } }: Item): void {
    if (subject === null || !isUnknown(reason)) return
    for (const visit of this.scopes.values()) if (visit !== from) visit.beware([subject])
  }

  private async openItems(): Promise<readonly Item[]> {
    const { namespace, runId } = this.run
    const { store } = this.engine
    const items: Item[] = []
    const open = { namespace, runId, state: 'open' } as const
    for await (const item of rowsOf((page) => store.listItems({ ...open, ...page })))
      items.push(item)
    return items
  }

  private release(): Promise<void> {
    this.releasing ??= this.giveBack()
      .catch((error) => this.keeper.report(error))
      .then(() => this.finish())
    return this.releasing
  }

  /**
   * Also a hold that was lost: this process may have stood still past its lease, and nobody took
   * the run. Then nobody could, once the lease is renewed.
   */
  private async giveBack(): Promise<void> {
    await this.log.whenDurable()
    let waitMs = retryMs
    for (let n = 1; ; ) {
      try {
        const result = await this.leaveRow(n)
        if (result !== 'arrived' && result !== 'locked') return
        if (result === 'locked') await pause(this.engine.clock, waitMs)
        n++
      } catch (error) {
        if (this.hasting || (isCounterfoilError(error) && !error.retryable)) throw error
        this.keeper.report(error)
        await pause(this.engine.clock, waitMs)
        waitMs = Math.min(waitMs * 2, retryMaxMs)
      }
    }
  }

  private async leaveRow(n: number): Promise<CommitResult> {
    const { store } = this.engine
    const { namespace, runId, fence, workerId } = this.run
    const row = await store.getRun(this.run)
    if (row === null || row.fence !== fence || row.workerId !== workerId) return 'stale_fence'
    const { cause, ...changes } = await this.stateNow(row)
    const run = { ...changes.run, release: true, progress: !this.log.lost }
    const data = { from: row.state, to: run.state, cause }
    const now = this.engine.clock.now()
    const events = [eventOf(row, now, 'state', data)]
    if (this.log.lost) events.unshift(eventOf(row, now, 'lease_lost', { worker: workerId }))
    const commit = {
      namespace,
      runId,
      fence,
      workerId: workerId ?? '',
      commitId: `${fence}.end${n}`,
    }
    const [result] = await store.commit([
      { ...commit, arrivalsSeen: row.arrivals, changes: { ...changes, run, events } },
    ])
    return result ?? 'stale_fence'
  }

  private async stateNow(row: Run): Promise<Changes & { run: RunChange; cause: string }> {
    const since = this.engine.clock.now()
    const items = await this.openItems()
    const abandoned = this.abandoned ?? (await this.abandonedMeanwhile())
    if (abandoned) {
      const cause = `abandoned by ${abandoned.by}: ${abandoned.why}`
      const failure = { kind: 'decided', name: 'Abandoned', code: 'RUN_ABANDONED', message: cause }
      const closed = items.map((item) => closedItem(item, since, 'abandoned'))
      const run = { state: 'failed', waitingFor: null, errorJson: JSON.stringify(failure) } as const
      return { run, items: closed, cause }
    }
    if (row.stop) {
      const { to, by, why } = row.stop
      return { ...stopChange(row.stop, items, since), cause: `${to} by ${by}: ${why}` }
    }
    const waitingFor = waitingForItems(items, since)
    if (waitingFor) {
      return { run: { state: 'waiting_human', waitingFor }, cause: items[0]?.title ?? '' }
    }
    const host = { kind: 'host', items: [], since, queue: '' } as const
    const cause = this.log.lost ? 'the hold was lost' : 'its scopes were closed'
    return { run: { state: 'waiting_tool', waitingFor: host }, cause }
  }

  /** Decided while the run was held: an earlier one has ended the run itself. */
  private async abandonedMeanwhile(): Promise<Decision | null> {
    const decisions = await this.engine.store.listDecisions(this.run)
    const isIt = (row: Decision & { verifies: boolean }) =>
      row.outcome === 'abandon' && row.verifies && row.at >= this.run.updatedAt
    return decisions.find(isIt) ?? null
  }
}

function isUnknown(reason: Item['reason']): boolean {
  return reason === 'unknown' || reason === 'tampered'
}
