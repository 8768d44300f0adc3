// The three stores, on one clock. They are used for several sequences, each with names of its own:
// to open them takes longer than to drive one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemory } from '../../src/store/memory/index.ts'
import { openSqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/index.ts'
import { dropSchema, openManual, postgresUrl, sql } from '../postgres/bench.ts'
import type { Stage } from './drive.ts'

const sequencesMax = 25

export class Theatre {
  private readonly clock = manualClock()
  private readonly folder = mkdtempSync(join(tmpdir(), 'counterfoil-differential-'))
  private readonly url = postgresUrl()
  private stores: Record<string, Store> | null = null
  private count = 0
  private left = 0

  /** `as new` after a difference: what stores hold is not the same any more. */
  async stage(use: (stage: Stage) => Promise<void>): Promise<void> {
    if (this.left === 0) await this.open()
    this.left--
    const prefix = `n${String(++this.count).padStart(7, '0')}-`
    try {
      await use({ clock: this.clock, stores: this.stores ?? {}, prefix })
    } catch (error) {
      this.left = 0
      throw error
    }
  }

  private async open(): Promise<void> {
    await this.close()
    const { clock } = this
    if (this.count > 0) await empty(this.url)
    const postgres = await openManual(this.url, clock)
    this.stores = {
      memory: openMemory({ clock }),
      sqlite: await openSqlite({ path: join(this.folder, `${this.count}.db`), clock }),
      postgres,
    }
    this.left = sequencesMax
  }

  private async close(): Promise<void> {
    for (const store of Object.values(this.stores ?? {})) await store.close()
    this.stores = null
  }

  async end(): Promise<void> {
    await this.close()
    await dropSchema(this.url)
    rmSync(this.folder, { recursive: true, force: true })
  }
}

const tables = [
  ...['runs', 'checkpoints', 'tool_call_results', 'tool_call_attempts', 'call_evidence'],
  ...['inbox_items', 'decisions', 'signals', 'events', 'notices', 'workers', 'shares'],
]

/** Quicker than to truncate. Final rows are held by triggers, which replicas do not fire. */
async function empty(url: string): Promise<void> {
  const all = tables.map((name) => `delete from ${name}`).join('; ')
  await sql(url, `set session_replication_role = replica; ${all}`)
}
