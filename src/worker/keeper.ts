// Owns: this process's standing in the store: its registration, its socket, and the lease that is
// renewed for all runs it holds: by a thread of its own where there can be one, so that a blocked
// event loop does not lose it; else, and whenever that thread does not, by this one.
// Does not own: which runs those are.
// Invariants: D2 it notices by the monotonic clock that its lease is over, before anything new is
// dispatched. I9 its own death can be proven by others on the same machine.
import { type Clock, randomHex } from '../clock.ts'
import type { Lease } from '../engine/visit/visit.ts'
import { type CounterfoilError, errorFor, isCounterfoilError } from '../model/errors.ts'
import * as limits from '../model/limits.ts'
import type { LeasesPort, MovesPort, StoreBase } from '../store/store.ts'
import { LeaseMemory } from './lease-memory.ts'
import { type Listening, type Liveness, sockets } from './liveness.ts'
import { machineOf } from './machine.ts'
import { type KeeperThread, startThread } from './thread.ts'

export interface KeeperOptions {
  readonly leaseMs: number
  readonly blockedMsMax?: number
  readonly onError: (error: unknown) => void
  /** The lease cannot be renewed any more: every run is somebody else's. */
  readonly onLost: (why: string) => void
  readonly liveness?: Liveness
}

const noMore = 'it takes no more runs'

/** What it needs of the store. */
type Standing = StoreBase & LeasesPort & MovesPort

interface Loop {
  start(): void
  stop(): void
}

export class Keeper {
  readonly id = `w_${randomHex(8)}`
  private readonly store: Standing
  private readonly clock: Clock
  private readonly options: KeeperOptions
  private readonly memory = new LeaseMemory()
  private thread: KeeperThread | null = null
  private listening: Listening | null = null
  private dead = false
  /** Why the store is not to be worked on, as it was said. */
  private said: string | null = null
  private die = () => {}
  /** When it is dead on record. */
  readonly died = new Promise<void>((resolve) => {
    this.die = resolve
  })
  private readonly loops: Loop[] = []
  private readonly cleanUps: (() => void)[] = []

  constructor(store: Standing, clock: Clock, options: KeeperOptions) {
    this.store = store
    this.clock = clock
    this.options = options
  }

  async begin(): Promise<void> {
    const { leaseMs, blockedMsMax = limits.blockedMsMax, liveness = sockets } = this.options
    this.listening = await liveness.listen(this.id)
    const until = this.clock.mono() + leaseMs
    const { path: socketPath, inode: socketInode } = this.listening
    const startedAt = this.store.clock.now()
    const own = { workerId: this.id, pid: process.pid, ...machineOf(this.store), startedAt }
    try {
      await this.store.register({ ...own, socketPath, socketInode }, leaseMs)
    } catch (error) {
      await this.listening.close()
      this.listening = null
      throw error
    }
    this.memory.begin(until)
    this.memory.turn(this.clock.mono())
    const given = { memory: this.memory.memory, workerId: this.id, leaseMs, blockedMsMax }
    const { onError } = this.options
    const onRefused = () => void this.look().catch(onError)
    this.thread = startThread(this.store, this.clock, given, { onError, onRefused })
    if (this.thread) {
      const turn = async () => this.memory.turn(this.clock.mono())
      this.every(Math.min(leaseMs, blockedMsMax) / 4, turn)
    }
    this.every(leaseMs / 3, () => this.look())
  }

  holds(): boolean {
    return this.memory.leftMs(this.clock.mono()) > 0
  }

  /** To be taken before a claim: it says of what was claimed whether it is still held. */
  lease(): Lease {
    return this.memory.hold(() => this.clock.mono())
  }

  /** Works again and again, each time so long after the last has ended, until it rests or ends. */
  every(ms: number, work: () => Promise<void>): void {
    let cancel = () => {}
    // A loop that was stopped during its work must not go on beside the one that began since.
    let round = 0
    const next = (own: number) => {
      cancel = this.clock.after(ms, () => {
        work()
          .catch((error) => this.report(error))
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
    if (!this.memory.resting) loop.start()
  }

  /**
   * Errors of whoever works under this lease. A store that has moved is met by many of them: the
   * keeper looks, stops them all, and says it once.
   */
  report(error: unknown): void {
    if (!isCounterfoilError(error, 'STORE_MOVED')) return this.options.onError(error)
    this.look().catch(this.options.onError)
  }

  onEnd(cleanUp: () => void): void {
    this.cleanUps.push(cleanUp)
  }

  /** Nothing is held: until `wake`, no timer of ours keeps the process from ending. */
  rest(): void {
    if (this.memory.resting) return
    this.memory.resting = true
    for (const loop of this.loops) loop.stop()
  }

  /** Before something is held again: a lease that ran down meanwhile is renewed first. */
  async wake(): Promise<void> {
    if (!this.memory.resting) return
    this.memory.resting = false
    this.memory.turn(this.clock.mono())
    for (const loop of this.loops) loop.start()
    if (this.runsDown()) await this.renew()
  }

  /** `ended`: no function of its attempts runs on. Else the socket stays, to prove the end. */
  async end(ended: boolean): Promise<void> {
    for (const loop of this.loops.splice(0)) loop.stop()
    for (const cleanUp of this.cleanUps.splice(0)) cleanUp()
    const { listening, thread } = this
    if (listening === null) return
    await thread?.stop()
    await this.store.stopWorker(this.id, ended)
    this.listening = null
    if (ended) await listening.close()
  }

  /** The thread renews, if there is one and nothing keeps it from that. */
  private async look(): Promise<void> {
    const moved = await this.store.moved()
    // Until somebody has adopted it: then this worker goes on.
    if (moved !== null) return this.lapse(moved, errorFor('STORE_MOVED', `${moved}; ${noMore}`))
    this.said = null
    if (this.thread?.working !== true || this.runsDown()) await this.renew()
  }

  private runsDown(): boolean {
    return this.memory.leftMs(this.clock.mono()) < this.options.leaseMs / 2
  }

  private async renew(): Promise<void> {
    const until = this.clock.mono() + this.options.leaseMs
    if (await this.store.renew(this.id, this.options.leaseMs)) {
      this.memory.renewed(until, this.clock.mono())
    } else this.lose()
  }

  /** Dead on record: nothing brings this worker back. */
  private lose(): void {
    this.memory.lose()
    if (this.dead) return
    this.dead = true
    const died = 'was declared dead'
    const error = errorFor('WORKER_DEAD', this.id, `${died}; ${noMore}`)
    this.lapse(`worker ${this.id} ${died}`, error)
    this.die()
  }

  private lapse(why: string, error: CounterfoilError): void {
    this.memory.lapse()
    this.options.onLost(why)
    if (this.said === why) return
    this.said = why
    this.options.onError(error)
  }
}
