// Hears of changes that other processes make. It is allowed to be useless (behind a pooler, or
// while it reconnects): workers look for themselves often enough, so nothing is lost, only later.
import type pg from 'pg'
import { type Connection, hangUp } from './opening/connection.ts'
import { clientConfig, type Driver, type Settings } from './opening/driver.ts'

const againMs = 250
const againMaxMs = 30_000

export class Listener {
  private readonly c: Connection
  private readonly driver: Driver
  private readonly settings: Settings
  private readonly heard: () => void
  private client: pg.Client | null = null
  private waitMs = againMs
  private closed = false
  private cancel = () => {}

  constructor(c: Connection, driver: Driver, settings: Settings, heard: () => void) {
    this.c = c
    this.driver = driver
    this.settings = settings
    this.heard = heard
  }

  /** Resolves when it listens, or when the first try has failed and another is due. */
  async start(): Promise<void> {
    if (this.closed) return
    const client = new this.driver.Client(clientConfig(this.settings))
    this.client = client
    client.on('error', () => this.lost(client))
    client.on('end', () => this.lost(client))
    client.on('notification', ({ processId }) => {
      // Our own writes were announced when they were made.
      if (!this.c.sessions.has(processId)) this.heard()
    })
    try {
      await client.connect()
      // It must not keep a process alive that has nothing else to do.
      ;(client as pg.Client & { unref(): void }).unref()
      await client.query(`listen "counterfoil:${this.c.location.schema}"`)
      this.waitMs = againMs
    } catch {
      this.lost(client)
    }
  }

  async close(): Promise<void> {
    this.closed = true
    this.cancel()
    const client = this.client as (pg.Client & { ref(): void }) | null
    this.client = null
    // Whoever waits for the end must not have the process end first.
    client?.ref()
    if (client) await hangUp(this.c.clock, client.end(), () => [client])
  }

  private lost(client: pg.Client): void {
    if (this.client !== client) return
    this.client = null
    client.end().catch(() => {})
    if (this.closed) return
    const { waitMs } = this
    this.waitMs = Math.min(waitMs * 2, againMaxMs)
    this.cancel = this.c.clock.after(waitMs, () => {
      // What happened meanwhile was not heard.
      void this.start().then(() => this.heard())
    })
  }
}
