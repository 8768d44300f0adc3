// One life of a random program: killed at random moments, decided, signalled, called back and tried
// again; before every resume it is foretold, and afterwards compared (C7).
import type { Fate } from '../../../src/client/run/retry.ts'
import type { DecideRequest } from '../../../src/model/decisions/decide.ts'
import type { Graph } from '../../../src/model/graph/graph.ts'
import type { Item } from '../../../src/model/run/records.ts'
import { Lab } from '../../lab.ts'
import { seeded } from '../clock.ts'
import { generate, type Kind, mutate, type Program } from '../program.ts'
import { Comparison } from './compare.ts'
import { type Input, policy, Upstream } from './world.ts'

const roundsMax = 12

export interface Totals {
  resumes: number
  calls: number
  actions: Record<string, number>
  found: string[]
}

export class Life {
  private readonly lab = new Lab()
  private readonly random: () => number
  private readonly upstream: Upstream
  private readonly graph: Graph
  private readonly totals: Totals
  private readonly seed: number
  private readonly kind: Kind
  private program: Program
  /** The code has moved, or a person has changed what it saw: a doubt about drift is right then. */
  private moved = false

  constructor(seed: number, kind: Kind, totals: Totals) {
    this.random = seeded(seed * 7_919)
    this.seed = seed
    this.kind = kind
    this.totals = totals
    this.program = generate(seed, kind)
    this.upstream = new Upstream(this.lab, this.random)
    this.graph = this.upstream.graph(() => this.program)
  }

  async live(): Promise<void> {
    await this.lab.start(this.graph)
    for (let round = 1; round <= roundsMax; round++) {
      const found = await this.round(round)
      const where = `seed ${this.seed} ${this.kind}, round ${round}`
      this.totals.found.push(...found.map((each) => `${where}: ${each}`))
      const state = await this.lab.state()
      if (found.length > 0 || state === 'completed') return
      if (!(await this.act(state))) return
    }
  }

  /** One resume, foretold, and killed somewhere or not. */
  private async round(round: number): Promise<string[]> {
    const comparison = await this.foretell()
    const killAt = round === 1 || this.random() < 0.6 ? this.below(140) : Number.POSITIVE_INFINITY
    const end = await this.process(killAt)
    if (end === 'nothing to claim') return []
    this.count(comparison)
    await comparison.never()
    if (end !== 'crash' && !this.moved) {
      await comparison.ended(end)
      await this.come(comparison)
    } else if (end === 'crash' && this.kind === 'version' && !this.moved) {
      this.moved = true
      this.program = mutate(this.program, this.seed)
    }
    const drifts = (found: string) => !(this.moved && found.endsWith(': drift'))
    return comparison.found.filter(drifts)
  }

  private async foretell(): Promise<Comparison> {
    return Comparison.begin(this.lab, this.upstream, await this.lab.preview(this.graph))
  }

  private process(killAt: number): Promise<string> {
    const { lab, graph } = this
    const from = lab.clock.events
    return lab.process(graph, null, {
      policy,
      killWhen: () => lab.clock.events - from >= killAt,
    })
  }

  /** Decides every doubt until all that was foretold has come true. */
  private async come(comparison: Comparison): Promise<void> {
    const asked: Item[] = []
    for (let turn = 0; turn < 10; turn++) {
      const doubts = (await this.lab.items()).filter(({ kind }) => kind === 'doubt')
      asked.push(...doubts)
      if (comparison.due(asked).length === 0 || doubts.length === 0) break
      for (const item of doubts) await this.decide(item, 'truth')
      await this.process(Number.POSITIVE_INFINITY)
    }
    for (const call of comparison.due(asked)) comparison.find(call, 'it never came to that')
  }

  /** Something comes from outside; false if nothing is left that could. */
  private async act(state: string): Promise<boolean> {
    const { lab } = this
    if (state === 'failed') return this.retry()
    if (state === 'cancelled') return false
    for (const item of await lab.items()) {
      if (this.random() < 0.6) await this.decide(item, 'any')
    }
    for (const token of this.upstream.tokens.values()) await this.callBack(token)
    if (this.random() < 0.4) await lab.signal('x')
    if (this.random() < 0.4) {
      await lab.pass(this.below(30_000))
      await lab.store.wakeDue(10)
    }
    return true
  }

  private async callBack(token: string): Promise<void> {
    const [site = ''] = [...this.upstream.tokens].find(([, each]) => each === token) ?? []
    const callbacks = this.lab.callbacks([this.graph])
    const drawn = this.random()
    if (drawn < 0.2) await callbacks.settle(token, { value: site })
    else if (drawn < 0.3) await callbacks.fail(token, 'no stock').catch(() => {})
    else if (drawn < 0.5) await callbacks.heartbeat(token).catch(() => {})
  }

  private async retry(): Promise<boolean> {
    const failed = await this.lab.failedCalls()
    const fates: readonly Fate[] = ['send', 'keep', { happened: { value: 'told' } }]
    const calls = failed.map(({ name }) => [name, fates[this.below(3) - 1] ?? 'keep'] as const)
    if (calls.every(([, fate]) => fate === 'keep')) return false
    // A failure that the program had caught may be none any more.
    this.moved = true
    await this.lab.retry({ calls: Object.fromEntries(calls), madeSure: true })
    return true
  }

  private async decide(item: Item, how: 'truth' | 'any'): Promise<void> {
    const said = item.kind === 'approval' ? this.answer(item) : this.say(item, how)
    const { itemId, version } = item
    const request = { by: 'ana', reason: 'looked', version, madeSure: true, ...said }
    await this.lab.inbox.decide(itemId, request as DecideRequest)
  }

  private answer({ body }: Item): Partial<DecideRequest> {
    const drawn = this.random()
    if (drawn < 0.6) return { outcome: 'approve' }
    if (drawn < 0.8) return { outcome: 'reject' }
    const input = body.input as Input | null
    return { outcome: 'edit', result: input ? { ...input, ms: 0 } : 'something else' }
  }

  private say({ reason, body }: Item, how: 'truth' | 'any'): Partial<DecideRequest> {
    if (reason === 'drift') return this.drift(body)
    if (reason === 'unresolved') return { outcome: 'send' }
    if (how === 'any' && this.random() < 0.2) return { outcome: 'fail' }
    const { site } = body.input as Input
    if (!this.upstream.landed.has(site)) return { outcome: 'did_not_happen' }
    return { outcome: 'happened', result: { value: site } }
  }

  private drift({ subject, unmatched }: Item['body']): Partial<DecideRequest> {
    const [first] = unmatched
    if (first && (subject === null || this.random() < 0.5)) {
      return { outcome: 'retire_record', record: first }
    }
    return { outcome: 'send' }
  }

  private count({ calls }: Comparison): void {
    this.totals.resumes++
    this.totals.calls += calls.length
    for (const { action } of calls) {
      this.totals.actions[action] = (this.totals.actions[action] ?? 0) + 1
    }
  }

  /** From 1 to this. */
  private below(most: number): number {
    return 1 + Math.floor(this.random() * most)
  }
}
