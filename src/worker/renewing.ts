// Owns: the renewals of one worker's lease by a thread of its own, which turn whatever the main
// thread does.
// Does not own: the lease itself (lease-memory.ts), nor what follows from its loss (keeper.ts).
// Invariants: it ends by itself: once the main thread has been blocked for longer than its bound,
// nothing is renewed until it turns again. An error is retried, a refusal is not.
import type { Clock } from '../clock.ts'
import type { Renewer } from '../store/store.ts'
import type { LeaseMemory } from './lease-memory.ts'
import { within } from './within.ts'

export interface RenewingOptions {
  readonly clock: Clock
  readonly lease: LeaseMemory
  readonly workerId: string
  readonly leaseMs: number
  readonly blockedMsMax: number
  open(): Promise<Renewer>
  tell(what: Told): void
}

export type Told =
  | { readonly kind: 'error'; readonly message: string }
  /** The store has refused a renewal: nothing more is renewed here. */
  | { readonly kind: 'refused' }

export class Renewing {
  private readonly options: RenewingOptions
  private renewer: Renewer | null = null
  private over = false
  private saidBlocked = false
  private cancel = () => {}
  private pass: Promise<void> = Promise.resolve()

  constructor(options: RenewingOptions) {
    this.options = options
  }

  /**
   * The lease was just given: its first renewal is due as long after that as any other. Until then
   * nothing is opened, because a worker that begins has runs to take over, and little time.
   */
  begin(): void {
    const { clock, lease, leaseMs } = this.options
    const now = clock.mono()
    this.next(now + lease.leftMs(now) - (leaseMs * 2) / 3)
  }

  start(): void {
    const { clock, leaseMs } = this.options
    const from = clock.mono()
    this.pass = this.renew().then(
      () => this.next(from + leaseMs / 3),
      (error) => {
        this.options.tell({ kind: 'error', message: `a lease was not renewed: ${String(error)}` })
        this.drop()
        this.next(clock.mono() + leaseMs / 10)
      },
    )
  }

  async stop(): Promise<void> {
    this.over = true
    this.cancel()
    await this.pass
    await this.renewer?.close()
  }

  private next(atMs: number): void {
    const { clock } = this.options
    if (this.over) return
    this.cancel = clock.after(Math.max(0, atMs - clock.mono()), () => this.start())
  }

  private async renew(): Promise<void> {
    const { clock, lease, workerId, leaseMs } = this.options
    if (lease.resting || this.isBlocked()) return
    this.renewer ??= await this.options.open()
    const sentMs = clock.mono()
    const renewed = await within(clock, leaseMs / 3, this.renewer.renew(workerId, leaseMs))
    if (this.over) return
    if (renewed) return lease.renewed(sentMs + leaseMs, clock.mono())
    // Seen by the main thread before it handles anything else; it finds out why.
    lease.lapse()
    this.over = true
    this.options.tell({ kind: 'refused' })
  }

  private isBlocked(): boolean {
    const { clock, lease, blockedMsMax } = this.options
    const blocked = lease.blockedMs(clock.mono()) > blockedMsMax
    if (blocked && !this.saidBlocked) {
      const message =
        `the event loop has been blocked for more than ${blockedMsMax} ms: the lease is not ` +
        'renewed, and other workers may take the runs over'
      this.options.tell({ kind: 'error', message })
    }
    this.saidBlocked = blocked
    return blocked
  }

  /** A connection that failed or does not answer is not asked again. */
  private drop(): void {
    this.renewer?.close().catch(() => {})
    this.renewer = null
  }
}
