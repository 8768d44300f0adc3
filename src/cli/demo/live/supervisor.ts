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

export type KillMoment = 'now' | 'next_effect' | 'next_mail'

/** Long enough to see that nobody works. */
const restartMs = 2_000

export class Supervisor {
  readonly kills: Kill[] = []
  private readonly begin: () => Child
  private child: Child
  private startedAt: number
  private waiting: 'next_effect' | 'next_mail' | null = null
  private stopped = false

  constructor(children: Children, folder: string, env: Readonly<Record<string, string>>) {
    this.begin = () => children.spawn('live/worker', folder, env)
    this.child = this.begin()
    this.startedAt = systemClock.now()
    this.watch()
  }

  get worker(): { pid: number; startedAt: number; alive: boolean; armed: boolean } {
    const { child, startedAt } = this
    return { pid: child.pid, startedAt, alive: child.alive, armed: this.waiting !== null }
  }

  ready(): Promise<unknown> {
    return this.child.next('ready')
  }

  /**
   * `next_effect`: in the gap after an upstream has done something, before it has answered. Most
   * effects have a key or a probe; `next_mail` waits for one that only a person can tell about.
   */
  async kill(when: KillMoment): Promise<void> {
    if (when === 'now') await this.killNow(null)
    else this.waiting = when
  }

  heard(effect: Effect): void {
    if (this.waiting === null || !this.child.alive) return
    if (this.waiting === 'next_mail' && effect.service !== 'mail') return
    this.waiting = null
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
