import { setTimeout as pause } from 'node:timers/promises'
import type { Exit, Site } from './driver.ts'

const againMs = 200

/** A process that is started again whenever it ends, until the site is still. */
export class Post {
  readonly exits: Exit[] = []
  private readonly start: () => ReturnType<Site['spawn']>
  current: ReturnType<Site['spawn']> | null = null
  private over = false
  readonly done: Promise<void>

  constructor(start: () => ReturnType<Site['spawn']>) {
    this.start = start
    this.done = this.run()
  }

  private async run(): Promise<void> {
    while (!this.over) {
      this.current = this.start()
      const exit = await this.current.exit
      this.exits.push(exit)
      // Whatever kept it from working is still there.
      if (exit.code !== 0 && exit.signal === null) await pause(againMs)
    }
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.current?.child.kill(signal)
  }

  /** Ends of itself: in order, if it was told to. */
  async stop(): Promise<void> {
    this.over = true
    this.current?.child.kill('SIGTERM')
    await this.done
  }
}
