// Owns: until when this worker's lease is good, in memory that its two threads share, so that each
// sees at once what the other has learnt.
// Does not own: who renews (keeper.ts, renewing.ts).
// Invariants: D2 the end is counted from before a renewal was asked for. A renewal whose answer
// came after that end may have come too late: somebody else may hold the runs by now, so what was
// claimed before it is held no more. A refusal is final.
import type { Lease } from '../engine/visit/visit.ts'

const cell = { end: 0, epoch: 1, lost: 2, turned: 3, resting: 4 } as const
const cellCount = 5

export class LeaseMemory {
  readonly memory: SharedArrayBuffer
  private readonly cells: BigInt64Array<SharedArrayBuffer>

  constructor(memory = new SharedArrayBuffer(cellCount * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.cells = new BigInt64Array(memory)
  }

  /** The first lease, with which nothing is held yet. */
  begin(untilMs: number): void {
    Atomics.store(this.cells, cell.end, micros(untilMs))
  }

  /** A renewal was granted: good until `untilMs`; the answer was here at `answeredMs`. */
  renewed(untilMs: number, answeredMs: number): void {
    const before = Atomics.load(this.cells, cell.end)
    // In this order: whoever sees the new end sees also that the old hold is over.
    if (micros(answeredMs) >= before) Atomics.add(this.cells, cell.epoch, 1n)
    const end = micros(untilMs)
    if (end > before) Atomics.store(this.cells, cell.end, end)
  }

  /** What was claimed so far is held no more. */
  lapse(): void {
    Atomics.add(this.cells, cell.epoch, 1n)
    Atomics.store(this.cells, cell.end, 0n)
  }

  /** For good. */
  lose(): void {
    Atomics.store(this.cells, cell.lost, 1n)
  }

  get lost(): boolean {
    return Atomics.load(this.cells, cell.lost) === 1n
  }

  /** How long the lease is good from now; not positive if it is over. */
  leftMs(nowMs: number): number {
    if (this.lost) return 0
    return Number(Atomics.load(this.cells, cell.end)) / 1_000 - nowMs
  }

  /** The hold on what is claimed from now on, as long as no renewal comes too late. */
  hold(mono: () => number): Lease {
    const epoch = Atomics.load(this.cells, cell.epoch)
    return {
      holds: () => this.leftMs(mono()) > 0 && Atomics.load(this.cells, cell.epoch) === epoch,
    }
  }

  /** The main thread's event loop has turned. */
  turn(nowMs: number): void {
    Atomics.store(this.cells, cell.turned, micros(nowMs))
  }

  /** For how long the main thread's event loop has not turned. */
  blockedMs(nowMs: number): number {
    return nowMs - Number(Atomics.load(this.cells, cell.turned)) / 1_000
  }

  /** Nothing is held, and nothing is to be renewed. */
  get resting(): boolean {
    return Atomics.load(this.cells, cell.resting) === 1n
  }

  set resting(resting: boolean) {
    Atomics.store(this.cells, cell.resting, resting ? 1n : 0n)
  }
}

function micros(ms: number): bigint {
  return BigInt(Math.floor(ms * 1_000))
}
