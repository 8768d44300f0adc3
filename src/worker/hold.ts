// Owns: this process's hold on one foreign workflow: one lease, one fence and one log, shared by
// its open scopes; given back with the last of them, or when somebody wants the workflow stopped.
// Does not own: what happens inside a scope (engine: scope.ts), nor who may have it (scopes.ts).
// Invariants: I7 whatever ends it, nothing new begins, what is under way is recorded, and then it
// is given back. I10 the state it is left in is made of all that had arrived by then.
import { pause } from '../clock.ts'
import type { RunLog } from '../engine/committer.ts'
import { closedItem, stopChange, waitingForItems } from '../engine/visit/ending.ts'
import type { Engine } from '../engine/visit/execute.ts'
import { ScopeVisit, scopeLost } from '../engine/visit/scope.ts'
import type { Lease } from '../engine/visit/visit.ts'
import { type CounterfoilError, ScopeHeldError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import { isBlindFailure } from '../model/replay/answers.ts'
import { isAboutSent, isUnknown } from '../model/replay/entry.ts'
import { openEntries } from '../model/replay/opening.ts'
import { type Decision, eventOf, type Item, keyOf, type Run } from '../model/run/records.ts'
import { scopeVisit } from '../model/run/scope.ts'
import type { Tool } from '../model/tool/tool.ts'
import { mayPass, writeUntilAcknowledged } from '../store/insist.ts'
import { rowsOf } from '../store/pages.ts'
import type { Changes, CommitResult, LoadAt, Loaded, OpenCall, RunChange } from '../store/store.ts'
import type { Keeper } from './keeper.ts'
import { Left, type Which } from './left.ts'
import { placeAbandoned, type ScopeIds, scopeClosed, stopped } from './scope-run.ts'

type Place = NonNullable<LoadAt['scope']>

const retryMs = 10
const retryMaxMs = 1_000

/** A run that was claimed, by whom, and how long it is held. */
export interface Taken {
  readonly keeper: Keeper
  readonly lease: Lease
  readonly run: Run
  /** Tools that this process was given, by name. */
  readonly tools: Map<string, Tool>
  /** It waited for its host when it was taken, and does so again if nobody has come meanwhile. */
  readonly waited?: boolean
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
  private readonly taken: Taken
  private readonly left: Left
  /** Doubts that were seen or made; none, if the last look found none open. */
  private doubts = 0
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
    this.taken = taken
    this.left = new Left((place) => this.visitForLeft(place))
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
    const place = { nodeId, checkpointId }
    const elsewhere = await this.unknownElsewhere(scopeVisit(nodeId, checkpointId))
    this.left.cameFor(place)
    await this.left.asking
    const loaded = await this.load(place)
    if (this.refusal) throw this.refusal
    if (loaded === null || this.log.lost) throw scopeLost(ids.workflowId)
    if (this.scopes.has(key)) throw new ScopeHeldError(ids)
    const visit = this.visitAt(place, loaded)
    const { abandoned } = visit.opening
    if (abandoned && ids.afterAbandon === 'go_on') throw placeAbandoned(ids.workflowId, abandoned)
    this.abandoned = abandoned
    if (this.abandoned) return this.refuse(stopped({ ...this.run, state: 'failed' }))
    visit.beware(elsewhere)
    this.scopes.set(key, visit)
    let closing: Promise<void> | null = null
    const close = () => {
      closing ??= this.close(key, visit)
      return closing
    }
    return { visit, close }
  }

  /** A person is asked about what former holders have left. */
  async askAboutLeft(which: Which): Promise<void> {
    this.left.note(await this.engine.store.openCalls(this.run))
    await this.left.ask(which)
  }

  private load(scope: Place): Promise<Loaded | null> {
    const visit = scopeVisit(scope.nodeId, scope.checkpointId)
    return this.engine.store.load(this.run, { visit, scope })
  }

  private visitAt(scope: Place, loaded: Loaded): ScopeVisit {
    const number = scopeVisit(scope.nodeId, scope.checkpointId)
    const visit = new ScopeVisit({
      ...this.engine,
      graph: null,
      trail: null,
      scope,
      log: this.log,
      signals: null,
      loaded: { ...loaded, run: { ...this.run, node: scope.nodeId, visit: number } },
      lease: this.lease,
    })
    visit.atHand = this.taken.tools
    visit.onDoubt = (item) => this.warnOthers(visit, item)
    visit.doubtBefore = () => this.doubtBefore(visit)
    return visit
  }

  /** Null if it is too late. */
  private async visitForLeft(place: Place): Promise<ScopeVisit | null> {
    const loaded = await this.load(place)
    return loaded === null || this.log.lost ? null : this.visitAt(place, loaded)
  }

  /**
   * While a doubt of the workflow is open, in whichever scope and whoever made it, nothing that is
   * not pure is sent in any other.
   */
  private doubtBefore(visit: ScopeVisit): Promise<Item | null> | null {
    return this.doubts > 0 || this.left.any ? this.firstDoubt(visit) : null
  }

  private async firstDoubt({ at }: ScopeVisit): Promise<Item | null> {
    if (this.left.any) {
      // Branches that a host runs side by side come for theirs within this.
      await pause(this.engine.clock, this.engine.settleMs)
      await this.left.ask('all')
    }
    const before = this.doubts
    await this.log.whenDurable()
    const open = (await this.openItems()).filter(({ kind }) => kind === 'doubt')
    if (open.length === 0 && this.doubts === before) this.doubts = 0
    return open.find(({ visit }) => visit !== at.visit) ?? null
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
    visit.closeExplained()
    visit.drain()
    await visit.done
    visit.endCalls(error)
    this.scopes.delete(key)
    if (visit.at.scope && visit.left().length > 0) this.left.add(visit.at.scope)
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
      .filter((row) => isBlindFailure(row) && row.visit !== visit && isAboutSent(row.reason))
      .flatMap(({ subject }) => (subject ? [subject] : []))
    // Also what a dead holder has sent and nobody was asked about yet. Of a held call nothing was
    // sent; what an open scope has under way is its own business.
    const known = new Set([...this.scopes.values()].map((scope) => scope.at.visit))
    const calls = await store.openCalls(this.run)
    this.left.note(calls)
    const open = calls.filter((call) => {
      const place = scopeVisit(call.nodeId, call.checkpointId)
      // A keyed call that is pending is sent again with its key: nobody need be asked.
      const unknown = call.status === 'in_doubt' || call.replayClass === 'unsafe_on_replay'
      return unknown && call.attempt > 0 && place !== visit && !known.has(place)
    })
    const unknown: OpenCall[] = []
    for (const call of open) if (await this.isStillUnknown(call)) unknown.push(call)
    return [...unknown, ...blind, ...(await this.doubtsOf(known, visit))]
  }

  /** Not if it was certainly not sent, or a person has said what became of it. */
  private async isStillUnknown(call: OpenCall): Promise<boolean> {
    const loaded = await this.load(call)
    const entry = loaded && openEntries(loaded, this.engine.clock.now()).entries.get(keyOf(call))
    return !entry || isUnknown(entry)
  }

  /** Calls of open scopes that a person is asked about. */
  private async doubtsOf(open: ReadonlySet<number>, but: number) {
    const items = await this.openItems()
    this.doubts += items.filter(({ kind }) => kind === 'doubt').length
    return items
      .filter((item) => item.visit !== but && open.has(item.visit) && isAboutSent(item.reason))
      .flatMap(({ body: { subject } }) => (subject ? [subject] : []))
  }

  private warnOthers(from: ScopeVisit, { reason, body: { subject } }: Item): void {
    this.doubts++
    if (subject === null || !isAboutSent(reason)) return
    for (const visit of this.scopes.values()) if (visit !== from) visit.beware([subject])
  }

  private async openItems(): Promise<Item[]> {
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
    if (!this.log.lost)
      await this.left
        .ask(this.hasting ? 'all' : 'unsafe')
        .catch((error) => this.keeper.report(error))
    await this.log.whenDurable()
    let n = 1
    const write = async () => {
      let result = await this.leaveRow(n)
      // Something has come meanwhile: what is left behind is made of that too.
      while (result === 'arrived') result = await this.leaveRow(++n)
      if (result === 'locked') n++
      return result
    }
    const goesOn = (error: unknown) => {
      if (this.hasting || !mayPass(error)) return false
      this.keeper.report(error)
      return true
    }
    const { clock } = this.engine
    await writeUntilAcknowledged(write, { clock, waitMs: retryMs, waitMaxMs: retryMaxMs, goesOn })
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
    const { items, settled } = await this.itemsNow(since)
    const abandoned = this.abandoned ?? (await this.abandonedMeanwhile())
    if (abandoned) {
      const cause = `abandoned by ${abandoned.by}: ${abandoned.why}`
      const failure = { kind: 'decided', name: 'Abandoned', code: 'RUN_ABANDONED', message: cause }
      const closed = items.map((item) => closedItem(item, since, 'abandoned'))
      const run = { state: 'failed', waitingFor: null, errorJson: JSON.stringify(failure) } as const
      return { run, items: [...closed, ...settled], cause }
    }
    if (row.stop) {
      const { to, by, why } = row.stop
      const stopping = stopChange(row.stop, items, since)
      return {
        ...stopping,
        items: [...stopping.items, ...settled],
        cause: `${to} by ${by}: ${why}`,
      }
    }
    const waitingFor = waitingForItems(items, since)
    if (waitingFor) {
      const run = { state: 'waiting_human', waitingFor } as const
      return { run, items: settled, cause: items[0]?.title ?? '' }
    }
    const { any, nextAt } = this.left
    if (this.taken.waited && nextAt === null) {
      const run = { state: 'pending', waitingFor: null } as const
      return { run, items: settled, cause: 'it waits for its host' }
    }
    const host = { kind: 'host', items: [], since, queue: '' } as const
    const cause = this.log.lost ? 'the hold was lost' : 'its scopes were closed'
    // What is left is looked at again, if its host does not come for it.
    const wakeAt = any || this.log.lost ? since + limits.unaskedMs : nextAt
    return { run: { state: 'waiting_tool', waitingFor: host, wakeAt }, items: settled, cause }
  }

  /** Open items, but for those whose call has ended since: its host has come for it after all. */
  private async itemsNow(now: number): Promise<{ items: Item[]; settled: Item[] }> {
    const items = await this.openItems()
    const unasked = items.filter(({ body }) => body.unasked === true)
    if (unasked.length === 0) return { items, settled: [] }
    const calls = await this.engine.store.openCalls(this.run)
    const open = new Set(
      calls.map((call) => `${scopeVisit(call.nodeId, call.checkpointId)}/${keyOf(call)}`),
    )
    const ended = ({ visit, body: { subject } }: Item) =>
      subject !== null && !open.has(`${visit}/${keyOf(subject)}`)
    const over = new Set(unasked.filter(ended))
    const settled = [...over].map((item) => closedItem(item, now, 'its call is settled'))
    return { items: items.filter((item) => !over.has(item)), settled }
  }

  /** Decided while the run was held: an earlier one has ended the run itself. */
  private async abandonedMeanwhile(): Promise<Decision | null> {
    const decisions = await this.engine.store.listDecisions(this.run)
    const isIt = (row: Decision & { verifies: boolean }) =>
      row.outcome === 'abandon' && row.verifies && row.at >= this.run.updatedAt
    return decisions.find(isIt) ?? null
  }
}
