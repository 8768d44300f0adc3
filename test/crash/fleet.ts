// Workers and a person on one store, as processes of their own; tours for them to do; and the
// reckoning when the faults are over: what happened twice, what is lost, who was asked in vain.
import { setTimeout as pause } from 'node:timers/promises'
import { type Counterfoil, isCounterfoilError, open } from 'counterfoil'
import { compare, key, runOf, Site, script } from './driver.ts'
import { checkHistory } from './history.ts'
import { Post } from './post.ts'
import { makeTour } from './programs/tour.mjs'
import { effectsOfTour } from './programs/truth.mjs'

/** What one fault has come to; what `npm run chaos` prints and writes. */
export interface Reckoning {
  fault: string
  injected: number
  evidence: string
  runs: number
  ended: number
  beforePerson: number
  effects: number
  duplicates: number
  lost: number
  doubts: number
  /** Asked about, though it had not happened. */
  falseDoubts: number
  seconds: number
  /** Everything that must not be, in words. */
  wrong: string[]
}

export interface FleetOptions {
  /** The store's URL; a file of its own unless given. */
  store?: string
  /** What workers are told instead: the same store through a proxy. */
  through?: string
  delayMs?: number
  modes?: readonly string[]
}

const settleMs = 90_000
/** A fault before its process has begun to work would hit nothing. */
const stuckMs = 8_000

export class Fleet {
  readonly site: Site
  readonly posts: Post[] = []
  readonly runIds: string[] = []
  /** The histories of the runs that somebody was asked about. */
  readonly traces: string[] = []
  private readonly began = Date.now()
  private readonly through: string
  private readonly modes: readonly string[]
  private decider: Post | null = null
  private readonly cf: Counterfoil
  private readonly tour: ReturnType<typeof makeTour>['tour']

  private constructor(site: Site, cf: Counterfoil, tour: Fleet['tour'], options: FleetOptions) {
    this.site = site
    this.cf = cf
    this.tour = tour
    this.through = options.through ?? site.store
    this.modes = options.modes ?? ['tour', 'lease=2000']
  }

  static async open(options: FleetOptions = {}): Promise<Fleet> {
    const site = await Site.open(options.delayMs ?? 8, options.store)
    const lying = options.modes?.includes('lying') ?? false
    const { tour, errand } = makeTour(Number(site.port), () => {}, { lying })
    const keyed = options.store === undefined ? {} : { key }
    const graphs = [tour, errand]
    const cf = await open({ store: site.store, graphs, ...keyed, onWarning: () => {} })
    return new Fleet(site, cf, tour, options)
  }

  /** Starts tours, each with its signal on the way. */
  async start(count: number): Promise<void> {
    const made = Array.from({ length: count }, (_, i) => `t${this.runIds.length + i}`)
    this.runIds.push(...made)
    for (const runId of made) {
      const run = await insist(() => this.cf.start(this.tour, { to: runId }, { runId }))
      await insist(() => run.signal('go', runId, { id: 'go' }))
    }
  }

  /** A worker that is there again whenever it has died; `dieAt` of each of its lives. */
  employ(more: { dieAt?: (life: number) => number; flags?: string[]; store?: string } = {}): Post {
    const { dieAt = () => 0, flags = [], store = this.through } = more
    let lives = 0
    const post = new Post(() => {
      const args = [store, this.site.port, String(dieAt(++lives)), '-', 'ever', ...this.modes]
      return this.site.spawn(script('worker.mjs'), args, flags)
    })
    this.posts.push(post)
    return post
  }

  /** Somebody who lists the inbox and decides truthfully. */
  attend(): Post {
    const args = [this.site.store, this.site.log, this.site.port, '1', '0']
    this.decider ??= new Post(() => this.site.spawn(script('decider.mjs'), args))
    return this.decider
  }

  /** When so many more effects have happened, or not even a slow machine needs that long. */
  async progress(count: number): Promise<void> {
    await this.site.progress(count, pause(stuckMs))
  }

  /** Runs that have not ended, children included. */
  async open(): Promise<string[]> {
    const all = await this.all()
    const started = new Set(all.map(({ runId }) => runId))
    const missing = this.runIds.filter((runId) => !started.has(runId))
    const isEnded = (state: string) => ['completed', 'failed', 'cancelled'].includes(state)
    const live = all.filter(({ state }) => !isEnded(state))
    return [...missing, ...live.map(({ runId, state }) => `${runId} ${state}`)]
  }

  async isOver(): Promise<boolean> {
    return (await insist(() => this.open())).length === 0
  }

  /** In peace: everything comes to its end, or the time is over. */
  async settle(): Promise<void> {
    this.attend()
    for (let from = Date.now(); Date.now() - from < settleMs && !(await this.isOver()); ) {
      await pause(100)
    }
  }

  async reckon(fault: string, injected: number, evidence: string): Promise<Reckoning> {
    const all = await this.all()
    const effects = this.site.effects()
    const wrong: string[] = []
    let [duplicates, lost, doubts, falseDoubts, beforePerson] = [0, 0, 0, 0, 0]
    const states = new Map(all.map(({ runId, state }) => [runId, state]))
    for (const runId of this.runIds) {
      const mine = effects.filter((effect) => runOf(effect) === runId)
      const found = compare(mine, effectsOfTour(runId))
      duplicates += found.twice.length
      wrong.push(...found.twice.map((each) => `twice: ${each}`))
      wrong.push(...found.strange.map((each) => `strange: ${each}`))
      if (states.get(runId) !== 'completed') continue
      lost += found.lost.length
      wrong.push(...found.lost.map((each) => `lost: ${each}`))
    }
    for (const run of all) {
      const decisions = await this.cf.store.listDecisions(run)
      const about = decisions.filter(({ kind }) => kind === 'doubt')
      doubts += about.length
      falseDoubts += about.filter(({ outcome }) => outcome === 'did_not_happen').length
      const { items } = await this.cf.inbox.list({ runId: run.runId })
      doubts += items.filter(({ kind }) => kind === 'doubt').length
      if (run.state === 'waiting_human' && items.length > 0) beforePerson++
      else if (run.state !== 'completed') wrong.push(`left behind: ${run.runId} is ${run.state}`)
      if (about.length > 0) this.traces.push(...(await this.traceOf(run)))
    }
    wrong.push(...(await checkHistory(this.cf.store, effects)))
    const ended = all.filter(({ state }) => state === 'completed').length
    const seconds = Math.round((Date.now() - this.began) / 100) / 10
    return {
      ...{ fault, injected, evidence, runs: all.length, ended, beforePerson },
      ...{ effects: effects.filter(({ repeated }) => !repeated).length, duplicates, lost },
      ...{ doubts, falseDoubts, seconds, wrong },
    }
  }

  /** What happened to a run that somebody was asked about: for doubts that nobody expected. */
  private async traceOf(run: { namespace: string; runId: string }): Promise<string[]> {
    const { items } = await this.cf.store.listEvents(run, { countMax: 500 })
    const from = items[0]?.at ?? 0
    const told = items.map(({ at, kind, data }) => `+${at - from} ${kind} ${JSON.stringify(data)}`)
    return [`${run.runId}: ${told.join('; ')}`]
  }

  /** Exits of processes that nobody has killed: errors, if they ended by one. */
  failures(): string[] {
    return [...this.posts, ...(this.decider ? [this.decider] : [])]
      .flatMap((post) => post.exits)
      .filter(({ code, signal }) => code !== 0 && signal === null)
      .map(({ code, error }) => `a process ended with ${code}: ${error.slice(0, 2_000)}`)
  }

  deaths(): number {
    return this.posts.flatMap((post) => post.exits).filter(({ signal }) => signal === 'SIGKILL')
      .length
  }

  /** The rows themselves, for evidence. */
  get store(): Counterfoil['store'] {
    return this.cf.store
  }

  async all() {
    const runs = []
    let cursor: string | undefined
    do {
      const page = { namespace: 'default', countMax: 500, ...(cursor ? { cursor } : {}) }
      const { items, next } = await insist(() => this.cf.store.listRuns(page))
      runs.push(...items)
      cursor = next ?? undefined
    } while (cursor !== undefined)
    return runs
  }

  async dismiss(): Promise<void> {
    await Promise.all([...this.posts, this.decider].map((post) => post?.stop()))
  }

  async close(): Promise<void> {
    await this.dismiss()
    await this.cf.close()
    await this.site.close()
  }
}

/** As any user would: an error that says so is tried again. */
export async function insist<T>(fn: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await fn()
    } catch (error) {
      if (!isCounterfoilError(error) || !error.retryable) throw error
      await pause(10)
    }
  }
}
