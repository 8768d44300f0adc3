// The scheduler of a simulated fleet: one virtual time, one queue of events, each the business of
// one process or of nobody. What belongs to a dead process never happens; what belongs to a frozen
// one happens when it thaws, in its order.
import type { Clock } from '../../../src/clock.ts'
import { seeded } from '../clock.ts'

export interface Owner {
  readonly name: string
  dead: boolean
  frozenUntil: number
}

interface Scheduled {
  at: number
  readonly order: number
  readonly owner: Owner | null
  fn: (() => void) | null
}

export class Schedule {
  time = 1_700_000_000_000
  events = 0
  /** Events that belong to nobody: what is on the wire, or on its way to the store. */
  outside = 0
  private readonly heap: Scheduled[] = []
  private orders = 0
  private soons: { owner: Owner; fn: () => void }[] = []

  /** Calls `fn` in an event of its own after `ms`. */
  at(owner: Owner | null, ms: number, fn: () => void): () => void {
    const event = { at: this.time + ms, order: this.orders++, owner, fn: fn as (() => void) | null }
    if (owner === null) this.outside++
    this.push(event)
    return () => {
      if (owner === null && event.fn) this.outside--
      event.fn = null
    }
  }

  pause(owner: Owner | null, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(owner, ms, resolve)
    })
  }

  /** After all that follows from the present event by promises, before the next event. */
  soon(owner: Owner, fn: () => void): void {
    this.soons.push({ owner, fn })
  }

  /** Runs events until `over()`; false if there are none left or too many were needed. */
  async run(over: () => boolean, eventsMax: number): Promise<boolean> {
    await this.settle()
    while (!over()) {
      const next = this.pop()
      if (next === undefined || this.events >= eventsMax) return false
      const { owner, fn } = next
      if (fn === null || owner?.dead) continue
      if (owner && owner.frozenUntil > Math.max(this.time, next.at)) {
        next.at = owner.frozenUntil
        this.push(next)
        continue
      }
      if (owner === null) this.outside--
      this.events++
      this.time = Math.max(this.time, next.at)
      fn()
      await this.settle()
    }
    return true
  }

  private async settle(): Promise<void> {
    await tick()
    for (let next = this.soons.shift(); next; next = this.soons.shift()) {
      if (!next.owner.dead) next.fn()
      await tick()
    }
  }

  private push(event: Scheduled): void {
    const { heap } = this
    let i = heap.length
    heap.push(event)
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (before(heap[parent] as Scheduled, event)) break
      heap[i] = heap[parent] as Scheduled
      i = parent
    }
    heap[i] = event
  }

  private pop(): Scheduled | undefined {
    const { heap } = this
    const top = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return top
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right && before(right, heap[child] as Scheduled)) child++
      if (before(last, heap[child] as Scheduled)) break
      heap[i] = heap[child] as Scheduled
      i = child
    }
    heap[i] = last
    return top
  }
}

function before(a: Scheduled, b: Scheduled): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function tick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** A process's own clock: off by a little, its monotonic time counted from somewhere else. */
export function clockOf(schedule: Schedule, owner: Owner, seed: string): Clock {
  const random = stream(seed)
  const skewMs = Math.floor(random() * 41) - 20
  const originMs = Math.floor(random() * 1e6)
  let uuids = 0
  const after = (ms: number, fn: () => void) => schedule.at(owner, Math.max(0, ms), fn)
  return {
    now: () => schedule.time + skewMs,
    mono: () => schedule.time - 1_700_000_000_000 + originMs,
    random,
    uuid: () => `${hashOf(seed).toString(16).padStart(8, '0')}-${(++uuids).toString(16)}-sim-0000`,
    after,
    turn: (fn) => void after(0, fn),
    soon: (fn) => schedule.soon(owner, fn),
  }
}

/** Random numbers that depend on nothing but their name: one left out moves no other. */
export function stream(name: string): () => number {
  return seeded(hashOf(name))
}

export function hashOf(text: string): number {
  let h = 2166136261
  for (let i = 0; i < text.length; i++) {
    h ^= text.charCodeAt(i)
    h = Math.imul(h, 16777619)
  }
  // Close names must not give close numbers.
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
