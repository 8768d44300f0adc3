// Owns: which foreign workflows this process holds, for whom, and until when. One lease, one fence
// and one log a workflow, shared by its open scopes; given back with the last of them.
// Does not own: what happens inside a scope (engine/scope.ts).
// Invariants: a workflow is held by one process, a scope by one opener. What a holder that died has
// left is found by the next one like any other record.
import { hostname } from 'node:os'
import { pause } from '../clock.ts'
import type { RunLog } from '../engine/committer.ts'
import type { Engine } from '../engine/execute.ts'
import { ScopeVisit } from '../engine/scope.ts'
import { CounterfoilError, ScopeHeldError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import { eventOf, type Item, type Run, type RunRef } from '../model/records.ts'
import { isEnded } from '../model/run-state.ts'
import { scopeGraph, scopeVisit } from '../model/scope.ts'
import { bootId } from '../store/boot.ts'
import type { RunChange } from '../store/store.ts'
import { Keeper } from './keeper.ts'
import { declareDead } from './liveness.ts'
import { newScopeRun, type ScopeIds } from './scope-run.ts'

interface Hold {
  readonly run: Run
  readonly log: RunLog
  readonly scopes: Map<string, ScopeVisit>
  readonly items: Item[]
  stop: Run | null
}

export class Scopes {
  private readonly engine: Engine & { readonly namespace: string }
  private readonly onError: (error: unknown) => void
  private keeper: Keeper | null = null
  private begun: Promise<void> | null = null
  private readonly holds = new Map<string, Promise<Hold>>()
  private readonly releases = new Map<string, Promise<void>>()

  constructor(engine: Engine & { namespace: string }, onError: (error: unknown) => void) {
    this.engine = engine
    this.onError = onError
  }

  async open(ids: ScopeIds): Promise<{ visit: ScopeVisit; close: () => Promise<void> }> {
    const { workflowId, nodeId, checkpointId } = ids
    this.begun ??= this.begin()
    await this.begun
    await this.releases.get(workflowId)
    const holding = this.holds.get(workflowId) ?? this.take(workflowId)
    this.holds.set(workflowId, holding)
    const hold = await holding.catch((error) => {
      this.holds.delete(workflowId)
      throw error
    })
    const key = JSON.stringify([nodeId, checkpointId])
    if (hold.scopes.has(key)) throw new ScopeHeldError(ids)
    const at = { visit: scopeVisit(nodeId, checkpointId), scope: { nodeId, checkpointId } }
    const loaded = await this.engine.store.load(hold.run, at)
    if (loaded === null || hold.log.lost) throw new ScopeHeldError(ids)
    if (hold.scopes.has(key)) throw new ScopeHeldError(ids)
    const run = { ...hold.run, node: nodeId, visit: at.visit }
    const visit = new ScopeVisit({
      ...this.engine,
      ...{ graph: null, trail: null, scope: at.scope, log: hold.log, loaded: { ...loaded, run } },
      lease: { holds: () => this.keeper?.holds() ?? false },
    })
    hold.scopes.set(key, visit)
    return { visit, close: () => this.close(hold, key, visit) }
  }

  /** Everything is given back; scopes that are open are closed first. */
  async end(): Promise<void> {
    const holds = await Promise.allSettled(this.holds.values())
    for (const each of holds) {
      if (each.status !== 'fulfilled') continue
      const open = [...each.value.scopes]
      await Promise.all(open.map(([key, visit]) => this.close(each.value, key, visit)))
    }
    await Promise.all(this.releases.values())
    await this.keeper?.end(true)
  }

  private async begin(): Promise<void> {
    const { store, clock } = this.engine
    const { onError } = this
    const keeper = new Keeper(store, clock, {
      leaseMs: limits.leaseMs,
      onError,
      onLost: (why) => void this.each((hold) => hold.log.lose(why)),
    })
    await keeper.begin()
    keeper.every(limits.pollMs, () => this.obeyStops())
    this.keeper = keeper
  }

  private async each(work: (hold: Hold) => void): Promise<void> {
    for (const holding of this.holds.values()) await holding.then(work, () => {})
  }

  /** The workflow's run, made at its first scope, claimed for this process alone. */
  private async take(workflowId: string): Promise<Hold> {
    const { store, clock, namespace } = this.engine
    const ref = { namespace, runId: workflowId }
    const { run } = await store.start(newScopeRun(ref, clock))
    if (run.graph !== scopeGraph.name) throw notForeign(run)
    await this.makeReady(ref)
    const own = { workerId: this.keeper?.id ?? null, bootId: bootId(), host: hostname() }
    await declareDead(store, own)
    const request = { namespace, runId: workflowId, graphs: [scopeGraph], countMax: 1 }
    const [claimed] = await store.claim({ ...request, workerId: own.workerId ?? '' })
    if (claimed === undefined) throw new ScopeHeldError({ workflowId })
    const log = this.engine.committer.open(claimed)
    const hold: Hold = { run: claimed, log, scopes: new Map(), items: [], stop: null }
    log.onLost(() => this.holds.delete(workflowId))
    return hold
  }

  /** Between scopes the run waits for its host, or for a person; both end with its host's return. */
  private makeReady(ref: RunRef): Promise<void> {
    return this.engine.store.amend(ref, 'client', ({ run }) => {
      if (isEnded(run.state) || run.state === 'paused') throw stopped(run)
      const waits = run.state === 'waiting_human' || run.state === 'waiting_tool'
      return {
        changes: waits ? { run: { state: 'pending', waitingFor: null } } : null,
        value: undefined,
      }
    })
  }

  private async obeyStops(): Promise<void> {
    const { store } = this.engine
    if (this.holds.size === 0) return
    for (const run of await store.stops(this.keeper?.id ?? '')) {
      const hold = await this.holds.get(run.runId)
      if (hold === undefined || hold.stop !== null) continue
      hold.stop = run
      for (const visit of hold.scopes.values()) {
        visit.refuseCalls(stopped({ ...run, state: run.stop?.to ?? 'paused' }))
        visit.drain()
      }
    }
  }

  private async close(hold: Hold, key: string, visit: ScopeVisit): Promise<void> {
    const { runId } = hold.run
    if (hold.scopes.get(key) !== visit) return this.releases.get(runId)
    visit.drain()
    await visit.done
    visit.refuseCalls(new CounterfoilError('SCOPE_CLOSED', `the scope of ${runId} was closed`))
    hold.scopes.delete(key)
    hold.items.push(...visit.parkedOn)
    if (hold.scopes.size > 0) return
    this.holds.delete(runId)
    const release = this.release(hold).finally(() => this.releases.delete(runId))
    this.releases.set(runId, release)
    await release
  }

  private async release(hold: Hold): Promise<void> {
    const { log, run, items, stop } = hold
    const { clock } = this.engine
    const since = clock.now()
    const [first] = items
    const forHost: RunChange = {
      state: 'waiting_tool',
      waitingFor: { kind: 'host', items: [], since, queue: '' },
    }
    const forPerson = (item: Item): RunChange => ({
      state: 'waiting_human',
      waitingFor: {
        ...{ kind: item.kind, since, queue: item.queue },
        items: items.slice(0, limits.waitingItemsMax).map((each) => each.itemId),
      },
    })
    const wish: RunChange | null = stop?.stop ? { state: stop.stop.to, waitingFor: null } : null
    const change = wish ?? (first ? forPerson(first) : forHost)
    const event = eventOf(run, since, 'state', {
      from: 'running',
      to: change.state,
      cause: 'closed',
    })
    const end = (to: RunChange, arrivals?: number) =>
      log.end({ ...to, release: true, progress: true }, { events: [event] }, arrivals)
    const seen = stop?.arrivals ?? run.arrivals
    // What arrived meanwhile is read when the scope is opened again; nobody need be asked for it.
    if ((await end(change, seen)) === 'arrived') await end(forHost)
    await pause(clock, 0)
  }
}

function stopped(run: Run): CounterfoilError {
  const code = run.state === 'paused' ? 'RUN_PAUSED' : 'RUN_ENDED'
  const what = run.state === 'paused' ? 'resume it first' : 'use another workflow id'
  return new CounterfoilError(code, `${run.runId} is ${run.state}: ${what}`, {
    details: { workflowId: run.runId },
  })
}

function notForeign(run: Run): CounterfoilError {
  return new CounterfoilError(
    'SCOPE_INVALID',
    `${run.runId} is a run of graph ${run.graph}: a scope needs a workflow id of its own`,
  )
}
