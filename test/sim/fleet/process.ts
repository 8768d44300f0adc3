// A simulated process: its own clock, and the store as it sees it through a line that is slow,
// loses answers, and brings news late or never.
import type { Clock } from '../../../src/clock.ts'
import { RateLimits } from '../../../src/engine/attempt/rate-limit.ts'
import { Committer } from '../../../src/engine/committer.ts'
import type { Engine } from '../../../src/engine/visit/execute.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import type { Run } from '../../../src/model/run/records.ts'
import type { Commit, Store } from '../../../src/store/store.ts'
import type { Liveness } from '../../../src/worker/liveness.ts'
import type { Fault } from './plan.ts'
import { clockOf, type Owner, type Schedule, stream } from './schedule.ts'
import type { Watch } from './watch.ts'

export interface Site {
  readonly schedule: Schedule
  /** The store itself, which no fault touches. */
  readonly store: Store
  readonly watch: Watch
  readonly seed: string
  readonly local: boolean
  readonly faults: readonly Fault[]
  readonly passed: { boundaries: number }
  /** By worker id. */
  readonly standing: Map<string, SimProcess>
  readonly happened: Record<Fault['kind'] | 'unheard', number>
  readonly trace: (line: string) => void
  readonly onFault: (process: SimProcess, fault: Fault) => void
}

// Each is a place to die, before it reaches the store and after.
const writes = ['start', 'commit', 'amend', 'register', 'renew', 'claim', 'stopWorker'] as const
const reads = [
  ...['load', 'stops', 'workers', 'wakeDue', 'listOverdue', 'getSignal', 'findAttempt'],
  ...['declareDead', 'keyInput', 'openCalls', 'getRun', 'getItem', 'listItems', 'listEvents'],
  ...['listDecisions', 'readOutput', 'retain', 'takeShare', 'putShare', 'registerGraph'],
] as const

const lostOnce = { boundary: 0, kind: 'lost' } as const

export class SimProcess implements Owner {
  readonly name: string
  dead = false
  frozenUntil = 0
  private frozenAt = 0
  private deafUntil = 0
  readonly clock: Clock
  readonly store: Store
  private readonly site: Site
  private readonly random: () => number
  /** Whoever is no worker and no host only loses answers, now and then. */
  private readonly mortal: boolean
  private lostClaims: Run[] = []

  constructor(site: Site, name: string, mortal: boolean) {
    this.site = site
    this.name = name
    this.mortal = mortal
    this.clock = clockOf(site.schedule, this, `${site.seed} clock ${name}`)
    this.random = stream(`${site.seed} line ${name}`)
    this.store = this.line()
  }

  /** A place at which something may happen to the process. */
  boundary(): Fault | null {
    const { site } = this
    if (!this.mortal) return this.random() < 0.02 ? { ...lostOnce, applied: true } : null
    const boundary = ++site.passed.boundaries
    const fault = site.faults.find((each) => each.boundary === boundary) ?? null
    if (fault?.kind === 'crash' || fault?.kind === 'stall') site.onFault(this, fault)
    return fault
  }

  /** Stands still; answers to what it asked before come when they come. */
  freeze(ms: number, deafMs: number): void {
    this.frozenAt = this.site.schedule.time
    this.frozenUntil = this.frozenAt + ms
    this.deafUntil = this.frozenUntil + deafMs
  }

  engine(graphs: readonly Graph[]): Engine & { namespace: string } {
    const { store, clock } = this
    return {
      ...{ store, clock, settleMs: 250, namespace: 'default', policy: null },
      committer: new Committer(store, clock, { pureFlushMs: 10, onError: () => {} }),
      graphs: new Map(graphs.map((graph) => [graph.id, graph])),
      limits: new RateLimits(clock),
    }
  }

  /** Deaths on one machine are seen by whoever looks; those elsewhere by nobody. */
  liveness(): Liveness {
    const { site } = this
    return {
      listen: async (workerId) => {
        site.standing.set(workerId, this)
        return { path: `sim:${this.name}`, inode: '1', close: async () => {} }
      },
      declareDead: async (store, own) => {
        for (const row of await store.workers({ provable: true })) {
          if (row.workerId === own.workerId || !site.local) continue
          if (site.standing.get(row.workerId)?.dead !== true) continue
          await store.declareDead(row.workerId, 'nobody listens')
        }
      },
    }
  }

  private line(): Store {
    const { store } = this.site
    const line = { ...store, clock: this.clock }
    for (const name of writes) Object.assign(line, { [name]: this.write(name) })
    for (const name of reads) Object.assign(line, { [name]: this.read(name) })
    line.onChange = (listener) => store.onChange(() => this.hear(listener))
    return line
  }

  /** News comes late, in any order, or not at all. */
  private hear(listener: () => void): void {
    if (this.dead) return
    const drawn = this.random()
    if (drawn < 0.1) this.site.happened.unheard++
    else this.site.schedule.at(this, Math.floor(drawn ** 4 * 200), listener)
  }

  private read(name: (typeof reads)[number]) {
    const { schedule, store, watch } = this.site
    const call = store[name as 'load'] as (...args: unknown[]) => Promise<unknown>
    return async (...args: unknown[]) => {
      await schedule.pause(this, this.delayMs())
      return watch.around(this, name, args, call)
    }
  }

  private write(name: (typeof writes)[number]) {
    const { schedule, store, watch } = this.site
    const call = store[name] as (...args: unknown[]) => Promise<unknown>
    return async (...args: unknown[]) => {
      // Most claims find nothing: those are no place to die.
      const lost = name === 'claim' ? null : this.boundary()
      const askedAt = schedule.time
      // Nothing of an amendment happens without the process that makes it.
      await schedule.pause(name === 'amend' ? this : null, this.delayMs())
      if (lost?.kind === 'lost' && !lost.applied) return this.lose(lost, name, args)
      if (lost?.kind === 'locked' && name === 'commit') return this.locked(args)
      const outcome = await settled(() => watch.around(this, name, args, call))
      const idle = name === 'claim' && (outcome.value as Run[] | null)?.length === 0
      const after = this.dead || idle ? null : this.boundary()
      await schedule.pause(this, this.delayMs())
      const late = askedAt <= this.frozenAt ? this.deafUntil - schedule.time : 0
      if (late > 0) await schedule.pause(this, late)
      const gone = lost?.kind === 'lost' || after?.kind === 'lost' ? (lost ?? after) : null
      if (name === 'claim') return this.claimed(outcome, gone, args)
      if (gone) return this.lose(gone, name, args)
      if (outcome.error !== null) throw outcome.error
      return outcome.value
    }
  }

  private locked(args: unknown[]): unknown {
    this.site.happened.locked++
    return (args[0] as unknown[]).map(() => 'locked')
  }

  private lose(fault: Fault, name: string, args: unknown[]): never {
    this.site.happened.lost++
    if (name === 'commit') this.site.watch.unanswered(this, args[0] as Commit[])
    this.site.trace(`${this.name} hears nothing (${fault.boundary})`)
    throw new Error('the line to the store was cut')
  }

  /** A claim that went unanswered is answered by the next one: every store sees to that. */
  private claimed({ error, value }: Outcome, gone: Fault | null, args: unknown[]): unknown {
    const runs = (value ?? []) as Run[]
    if (gone) {
      this.lostClaims.push(...runs)
      return this.lose(gone, 'claim', args)
    }
    if (error !== null) throw error
    const lost = this.lostClaims.filter((run) => this.site.watch.isHolder(run))
    this.lostClaims = []
    return [...lost, ...runs]
  }

  private delayMs(): number {
    const drawn = this.random()
    return drawn < 0.6 ? 0 : drawn < 0.97 ? Math.floor(drawn * 4) : 60
  }
}

interface Outcome {
  readonly error: unknown
  readonly value: unknown
}

async function settled(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { error: null, value: await work() }
  } catch (error) {
    return { error, value: null }
  }
}
