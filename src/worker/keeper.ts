// Owns: this process's standing in the store: its registration, its socket, and the lease that is
// renewed for all runs it holds. Does not own: which runs those are.
// Invariants: D2 it notices by the monotonic clock that its lease is over, before anything new is
// dispatched. I9 its own death can be proven by others on the same machine.
import { hostname } from 'node:os'
import { type Clock, randomHex } from '../clock.ts'
import { bootId } from '../store/boot.ts'
import type { Store } from '../store/store.ts'
import { type Listening, listen } from './liveness.ts'

export interface KeeperOptions {
  readonly leaseMs: number
  readonly onError: (error: unknown) => void
  /** The lease cannot be renewed any more: every run is somebody else's. */
  readonly onLost: (why: string) => void
}

interface Loop {
  start(): void
  stop(): void
}

export class Keeper {
  readonly id = `w_${randomHex(8)}`
  private readonly store: Store
  private readonly clock: Clock
  private readonly options: KeeperOptions
  private leaseEndsMs = 0
  private listening: Listening | null = null
  private resting = false
  private readonly loops: Loop[] = []
  private readonly cleanUps: (() => void)[] = []

  constructor(store: Store, clock: Clock, options: KeeperOptions) {
    this.store = store
    this.clock = clock
    this.options = options
  }

  async begin(): Promise<void> {
    this.listening = await listen(this.id)
    const until = this.clock.mono() + this.options.leaseMs
    await this.store.register(
      {
        workerId: this.id,
        pid: process.pid,
        host: hostname(),
        bootId: bootId(),
        socketPath: this.listening.path,
        socketInode: this.listening.inode,
        startedAt: this.clock.now(),
      },
      this.options.leaseMs,
    )
    this.leaseEndsMs = until
    this.every(this.options.leaseMs / 3, () => this.renew())
  }

  holds(): boolean {
    return this.clock.mono() < this.leaseEndsMs
  }

  /** Works again and again, each time so long after the last has ended, until it rests or ends. */
  every(ms: number, work: () => Promise<void>): void {
    let cancel = () => {}
    // A loop that was stopped during its work must not go on beside the one that began since.
    let round = 0
    const next = (own: number) => {
      cancel = this.clock.after(ms, () => {
        work()
          .catch(this.options.onError)
          .then(() => {
            if (round === own) next(own)
          })
      })
    }
    const loop = {
      start: () => next(++round),
      stop: () => {
        round++
        cancel()
      },
    }
    this.loops.push(loop)
    if (!this.resting) loop.start()
  }

  onEnd(cleanUp: () => void): void {
    this.cleanUps.push(cleanUp)
  }

  /** Nothing is held: until `wake`, no timer of ours keeps the process from ending. */
  rest(): void {
    if (this.resting) return
    this.resting = true
    for (const loop of this.loops) loop.stop()
  }

  /** Before something is held again: a lease that ran down meanwhile is renewed first. */
  async wake(): Promise<void> {
    if (!this.resting) return
    this.resting = false
    for (const loop of this.loops) loop.start()
    const leftMs = this.leaseEndsMs - this.clock.mono()
    if (leftMs < this.options.leaseMs / 2) await this.renew()
  }

  /** `ended`: no function of its attempts runs on. Else the socket stays, to prove the end. */
  async end(ended: boolean): Promise<void> {
    for (const loop of this.loops.splice(0)) loop.stop()
    for (const cleanUp of this.cleanUps.splice(0)) cleanUp()
    const { listening } = this
    if (listening === null) return
    await this.store.stopWorker(this.id, ended)
    this.listening = null
    if (ended) await listening.close()
  }

  private async renew(): Promise<void> {
    const until = this.clock.mono() + this.options.leaseMs
    const moved = await this.store.moved()
    if (moved === null && (await this.store.renew(this.id, this.options.leaseMs))) {
      this.leaseEndsMs = until
      return
    }
    this.leaseEndsMs = 0
    const why = moved ?? `worker ${this.id} was declared dead`
    this.options.onLost(why)
    this.options.onError(new Error(`${why}; it takes no more runs`))
  }
}
