// Owns: the one worker of the live demo. It is started again whenever it dies, as systemd with
// Restart=always would, and killed for real when somebody asks for it.
import { systemClock } from '../../../clock.ts'
import type { Child, Children } from '../children.ts'
import type { Effect } from '../message.ts'

export interface Kill {
  readonly at: number
  readonly pid: number
  readonly signal: string | null
  /** The effect that was done and not yet answered, if that was waited for. */
  readonly after: Effect | null
}

/** Long enough to see that nobody works. */
const restartMs = 2_000

export class Supervisor {
  readonly kills: Kill[] = []
  private readonly begin: () => Child
  private child: Child
  private startedAt: number
  private waiting = false
  private stopped = false

  constructor(children: Children, folder: string, env: Readonly<Record<string, string>>) {
    this.begin = () => children.spawn('live/worker', folder, env)
    this.child = this.begin()
    this.startedAt = systemClock.now()
    this.watch()
  }

  get worker(): { pid: number; startedAt: number; alive: boolean; armed: boolean } {
    const { child, startedAt } = this
    return { pid: child.pid, startedAt, alive: child.alive, armed: this.waiting }
  }

  ready(): Promise<unknown> {
    return this.child.next('ready')
  }

  /** `next_effect`: in the gap after an upstream has done something, before it has answered. */
  async kill(when: 'now' | 'next_effect'): Promise<void> {
    if (when === 'next_effect') this.waiting = true
    else await this.killNow(null)
  }

  heard(effect: Effect): void {
    if (!this.waiting || !this.child.alive) return
    this.waiting = false
    void this.killNow(effect)
  }

  stop(): void {
    this.stopped = true
  }

  private async killNow(after: Effect | null): Promise<void> {
    if (!this.child.alive) return
    const { pid, signal } = await this.child.kill()
    this.kills.push({ at: systemClock.now(), pid, signal, after })
  }

  private watch(): void {
    void this.child.exit.then(() => {
      systemClock.after(restartMs, () => {
        if (this.stopped) return
        this.child = this.begin()
        this.startedAt = systemClock.now()
        this.watch()
      })
    })
  }
}
