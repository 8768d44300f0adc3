// A virtual clock: one event is one turn of the event loop. A real tick after each event lets every
// microtask finish, so a crash between two events is a crash at a point where nothing is half done.
import type { Clock } from '../../src/clock.ts'

interface Scheduled {
  at: number
  order: number
  fn: (() => void) | null
}

export class VirtualClock implements Clock {
  events = 0
  private queue: Scheduled[] = []
  private orders = 0
  private uuids = 0
  private time: number
  readonly random: () => number

  constructor(startMs: number, random: () => number) {
    this.time = startMs
    this.random = random
  }

  now = () => this.time
  mono = () => this.time
  uuid = () => `${(++this.uuids).toString(16).padStart(8, '0')}-${this.time.toString(16)}-sim`

  after = (ms: number, fn: () => void): (() => void) => {
    const event = { at: this.time + ms, order: this.orders++, fn: fn as (() => void) | null }
    this.push(event)
    return () => {
      event.fn = null
    }
  }

  turn = (fn: () => void): void => {
    this.after(0, fn)
  }

  soon = this.turn

  /** Runs events until `over()` or `crash(n)`; n counts the events so far. */
  async run(over: () => boolean, crash: (events: number) => boolean, eventsMax: number) {
    await tick()
    while (!over()) {
      const next = this.pop()
      if (next === undefined) return 'stuck'
      if (next.fn === null) continue
      if (crash(++this.events)) return 'crash'
      if (this.events > eventsMax) return 'runaway'
      this.time = Math.max(this.time, next.at)
      next.fn()
      await tick()
    }
    return 'over'
  }

  private push(event: Scheduled): void {
    const { queue } = this
    let i = queue.length
    queue.push(event)
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (before(queue[parent] as Scheduled, event)) break
      queue[i] = queue[parent] as Scheduled
      i = parent
    }
    queue[i] = event
  }

  private pop(): Scheduled | undefined {
    const { queue } = this
    const top = queue[0]
    const last = queue.pop()
    if (queue.length === 0 || last === undefined) return top
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= queue.length) break
      const right = queue[child + 1]
      if (right && before(right, queue[child] as Scheduled)) child++
      if (before(last, queue[child] as Scheduled)) break
      queue[i] = queue[child] as Scheduled
      i = child
    }
    queue[i] = last
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

/** A small seeded generator of random numbers. */
export function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
