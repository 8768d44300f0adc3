// The person of a fleet: approves, and answers doubts by a look at the world, as late as the rules
// ask for or earlier where they can make sure. They tell the truth, as far as it can be seen.
import { Inbox } from '../../../src/client/inbox/inbox.ts'
import { isCounterfoilError } from '../../../src/model/errors.ts'
import { attemptPlace } from '../../../src/model/run/attempt-id.ts'
import { type Item, keyOf } from '../../../src/model/run/records.ts'
import type { SimProcess, Site } from './process.ts'
import { stream } from './schedule.ts'
import type { SimInput, World } from './world.ts'

export interface Asked {
  doubts: number
  /** Doubts about what had not happened. */
  falseDoubts: number
  decisions: number
}

const lookMs = 150

export class Person {
  readonly asked: Asked = { doubts: 0, falseDoubts: 0, decisions: 0 }
  readonly notes: string[] = []
  private readonly site: Site
  private readonly world: World
  private readonly self: SimProcess
  private readonly inbox: Inbox
  private readonly random: () => number
  private readonly hasty: boolean
  /** Calls that were sent again on a word given without a look. */
  readonly unlooked = new Set<string>()
  private readonly busy = new Set<string>()
  private looking = false

  constructor(site: Site, world: World, self: SimProcess, hasty: boolean) {
    this.site = site
    this.hasty = hasty
    this.world = world
    this.self = self
    this.random = stream(`${site.seed} person`)
    const { store, clock } = self
    const checkWorkers = () => self.liveness().declareDead(store, { ...nobody, workerId: null })
    this.inbox = new Inbox({ store, clock, namespace: 'default', graphs: new Map(), checkWorkers })
  }

  /** Looks now and then. */
  begin(): void {
    const again = () => {
      this.look()
      this.self.clock.after(lookMs * 2, again)
    }
    again()
  }

  private look(): void {
    if (this.looking) return
    this.looking = true
    const over = () => {
      this.looking = false
    }
    this.inbox
      .list()
      .then(({ items }) => {
        for (const item of items) if (!this.busy.has(item.itemId)) void this.handle(item)
      })
      .then(over, over)
  }

  private async handle(item: Item): Promise<void> {
    this.busy.add(item.itemId)
    await this.pause(Math.floor(this.random() * lookMs))
    try {
      await this.answer(item)
    } catch (error) {
      // Changed meanwhile, too early, or the line was cut: looked at again.
      const known = isCounterfoilError(error) || /the line/.test(String(error))
      if (!known) this.notes.push(`A DECISION FAILED: ${String(error)}`)
    }
    this.busy.delete(item.itemId)
  }

  private async answer(item: Item): Promise<void> {
    if (item.kind === 'approval') {
      return this.decide(item, { outcome: this.random() < 0.8 ? 'approve' : 'reject' })
    }
    if (item.reason === 'poison') return this.decide(item, { outcome: 'resume' })
    if (item.reason === 'unknown') return this.settle(item)
    this.notes.push(`UNEXPECTED ITEM: ${item.reason} ${item.title}`)
    return this.decide(item, { outcome: 'abandon' })
  }

  /** Did it happen? */
  private async settle({ itemId, runId }: Item): Promise<void> {
    const { world } = this
    const shown = await this.inbox.get(itemId)
    if (this.hasty && this.random() < 0.7) {
      this.unlooked.add((shown.body.input as SimInput).site)
      return this.decide(shown, { outcome: 'did_not_happen', madeSure: true }, 'doubt')
    }
    const ids = attemptsOf(shown)
    const landed = world.landed(runId, ids)
    if (landed) return this.decide(shown, { outcome: 'happened', result: landed }, 'doubt')
    const sure = this.random() < 0.2 && world.isOver(runId, ids)
    const until = shown.quietUntil ?? 0
    if (!sure && until === Number.POSITIVE_INFINITY) return this.findDead(shown)
    const lookedAt = this.self.clock.now()
    if (!sure && lookedAt < until) {
      await this.pause(until - lookedAt + 50)
      return
    }
    // Time passes between the look and the word.
    await this.pause(Math.floor(this.random() * 40))
    const said = {
      outcome: 'did_not_happen',
      lookedAt,
      ...(sure ? { madeSure: true } : {}),
    } as const
    return this.decide(shown, said, 'false doubt')
  }

  /** An operator states a death that nobody can prove from here. */
  private async findDead({ attempts }: { attempts: readonly { workerId: string }[] }) {
    await this.pause(lookMs * 2)
    for (const { workerId } of attempts) {
      if (this.site.standing.get(workerId)?.dead !== true) continue
      await this.self.store.declareDead(workerId, 'seen by an operator')
    }
  }

  private async decide(
    item: Item,
    said: Omit<Parameters<Inbox['decide']>[1], 'by' | 'reason' | 'version'>,
    kind: 'doubt' | 'false doubt' | null = null,
  ): Promise<void> {
    const words = { ...said, by: 'person', reason: 'looked', version: item.version }
    for (let tries = 0; ; tries++) {
      try {
        await this.inbox.decide(item.itemId, words)
        break
      } catch (error) {
        // The same words again are no second decision.
        if (tries > 5 || isCounterfoilError(error)) throw error
      }
    }
    this.asked.decisions++
    if (kind) this.asked.doubts++
    if (kind === 'false doubt') this.asked.falseDoubts++
    this.site.trace(`person ${said.outcome} ${item.runId} ${item.body.subject?.tool}`)
  }

  private pause(ms: number): Promise<void> {
    return this.site.schedule.pause(this.self, ms)
  }
}

const nobody = { host: 'sim', bootId: 'sim' }

function attemptsOf({ generation, visit, body: { subject, attempt } }: Item): string[] {
  if (subject === null) return []
  const key = keyOf(subject)
  // Also one that was made since.
  return Array.from({ length: attempt + 2 }, (_, i) => attemptPlace(generation, visit, key, i + 1))
}
