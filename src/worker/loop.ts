// Work that is done again and again, and says itself after how long. One that fails is tried again.
import type { Clock } from '../clock.ts'

export interface LoopOptions {
  readonly clock: Clock
  /** Answers after how many milliseconds it wants to be called again. */
  readonly work: () => Promise<number>
  readonly onError: (error: unknown) => void
  /** After a failure. */
  readonly retryMs: number
}

export class Loop {
  private readonly options: LoopOptions
  private over = false
  private nextMs = Number.POSITIVE_INFINITY
  private cancel = () => {}
  private pass: Promise<void> | null = null
  /** Asked for while a pass was under way. */
  private wishMs = Number.POSITIVE_INFINITY

  constructor(options: LoopOptions) {
    this.options = options
  }

  start(firstMs: number): void {
    this.plan(this.options.clock.mono() + firstMs)
  }

  /** The next pass begins in `ms` at the latest. */
  soon(ms: number): void {
    const atMs = this.options.clock.mono() + ms
    if (this.pass) this.wishMs = Math.min(this.wishMs, atMs)
    else if (atMs < this.nextMs) this.plan(atMs)
  }

  /** Resolves when nothing of it is under way any more. */
  async stop(): Promise<void> {
    this.over = true
    this.cancel()
    await this.pass
  }

  private plan(atMs: number): void {
    const { clock } = this.options
    if (this.over) return
    this.cancel()
    this.nextMs = atMs
    this.cancel = clock.after(Math.max(0, atMs - clock.mono()), () => this.run())
  }

  private run(): void {
    const { clock, work, onError, retryMs } = this.options
    this.wishMs = Number.POSITIVE_INFINITY
    this.pass = work()
      .catch((error) => {
        onError(error)
        return retryMs
      })
      .then((ms) => {
        this.pass = null
        this.plan(Math.min(clock.mono() + ms, this.wishMs))
      })
  }
}
