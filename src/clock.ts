// The only source of time, randomness and ids. Everything else takes a Clock, so that tests and the
// simulator can own time. `mono` is the machine's monotonic clock: the same for all its processes.
import { randomBytes, randomUUID } from 'node:crypto'

export interface Clock {
  /** Wall clock, milliseconds since 1970. For people; never for leases. */
  now(): number
  /** Monotonic milliseconds since boot, comparable between processes of one boot. */
  mono(): number
  random(): number
  uuid(): string
  /**
   * Runs `fn` after `ms`; the returned function cancels it. `idle`: a process that waits for
   * nothing else may end before.
   */
  after(ms: number, fn: () => void, idle?: boolean): () => void
  /** Runs `fn` in a turn of the event loop of its own. */
  turn(fn: () => void): void
  /** Runs `fn` when all that follows from this turn by promises has run, before the next turn. */
  soon(fn: () => void): void
}

const settled = Promise.resolve()

// As they were when this was loaded: tests of users' graphs may put false ones in their place, and
// a store that waits for a false timer waits for ever.
const { setTimeout: timeout, clearTimeout: cancel, setImmediate: immediate } = globalThis

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  random: () => Math.random(),
  uuid: () => randomUUID(),
  after: (ms, fn, idle = false) => {
    const timer = timeout(fn, ms)
    if (idle) timer.unref()
    return () => cancel(timer)
  },
  turn: (fn) => {
    immediate(fn)
  },
  // A tick asked for by a microtask runs when all microtasks have, also those that they queue.
  // By a promise: `queueMicrotask` makes an object with an asynchronous context of its own first.
  soon: (fn) => {
    void settled.then(() => process.nextTick(fn))
  },
}

/** Resolves after `ms`. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}

/** An id that sorts by time of making, for rows that people page through. */
export function timeId(clock: Clock, prefix: string): string {
  return `${prefix}_${clock.now().toString(36).padStart(9, '0')}${randomBytes(8).toString('hex')}`
}

/** `bytes` random bytes in hex, for keys and ids nobody may guess. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}
