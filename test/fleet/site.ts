// A fleet: a store that several processes share, workers as the command line starts them, and an
// upstream in a process of its own that counts what they do.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { verifyLedger } from '../../src/client/ledger/verify.ts'
import { type Counterfoil, open } from '../../src/index.ts'
import { rowsOf } from '../../src/store/pages.ts'
import { type Running, start } from '../cli/harness.ts'
import type { Effect } from '../crash/driver.ts'
import { dropSchema, key, postgresUrl } from '../postgres/bench.ts'

/** Postgres only where there is a server. */
export const kinds = ['sqlite', ...(inject('postgresUrl') === '' ? [] : ['postgres'])]

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

export class Fleet {
  readonly dir = mkdtempSync(join(tmpdir(), 'counterfoil-fleet-'))
  readonly agents = pathOf('./agents.mjs')
  readonly store: string
  private readonly env: Record<string, string>

  private constructor(store: string | null, upstream: string) {
    this.store = store ?? `sqlite:${join(this.dir, 'runs.db')}`
    const keyed = store === null ? {} : { COUNTERFOIL_KEY: key, COUNTERFOIL_MACHINE: 'fleet-test' }
    this.env = { FLEET_UPSTREAM: upstream, ...keyed }
  }

  /** `firstMs`: how long the first mail waits for its answer. */
  static async open(
    kind: string,
    { delayMs = 20, firstMs = delayMs }: { delayMs?: number; firstMs?: number } = {},
  ): Promise<Fleet> {
    const url = kind === 'postgres' ? postgresUrl() : null
    const dir = mkdtempSync(join(tmpdir(), 'counterfoil-effects-'))
    const delays = [String(delayMs), 'mail', String(firstMs)]
    const words = [pathOf('../crash/programs/upstream.mjs'), join(dir, 'log'), ...delays]
    const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const
    const upstream = spawn(process.execPath, words, { stdio: [...stdio] })
    const [port] = await once(upstream.stdout as NodeJS.ReadableStream, 'data')
    const fleet = new Fleet(url, `http://127.0.0.1:${String(port).trim()}`)
    fleet.log = join(dir, 'log')
    onTestFinished(async () => {
      upstream.disconnect()
      await once(upstream, 'exit')
      for (const each of [dir, fleet.dir]) rmSync(each, { recursive: true, force: true })
      if (url) await dropSchema(url)
    })
    return fleet
  }

  private log = ''

  /** What happened in the world, by its own word. */
  effects(): Effect[] {
    const lines = readFileSync(this.log, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  }

  /** The store, for this process. */
  async client(graphs: Parameters<typeof open>[0]['graphs'] = []): Promise<Counterfoil> {
    const keyed = this.store.startsWith('postgres') ? { key } : {}
    const cf = await open({ store: this.store, graphs, ...keyed, onWarning: () => {} })
    onTestFinished(() => cf.close())
    return cf
  }

  /** `counterfoil …`, on this store. */
  command(words: readonly string[], env: Record<string, string> = {}): Running {
    return start([...words, '--store', this.store], { ...this.env, ...env })
  }

  /** A worker that is at work. */
  async worker(words: readonly string[] = [], env: Record<string, string> = {}): Promise<Running> {
    const worker = this.command(['worker', this.agents, ...words], env)
    await worker.says('at once')
    return worker
  }
}

/** All events of all runs that have this kind. */
export async function eventsOf({ store }: Counterfoil, kind: string) {
  const found: Record<string, unknown>[] = []
  for await (const run of rowsOf((page) => store.listRuns({ namespace: 'default', ...page }))) {
    for await (const event of rowsOf((page) => store.listEvents(run, page))) {
      if (event.kind === kind) found.push(event.data)
    }
  }
  return found
}

export async function findings({ store }: Counterfoil): Promise<string[]> {
  const { findings } = await verifyLedger(store, { namespace: 'default' })
  return findings.map((each) => `${each.runId} ${each.kind} ${each.subject}: ${each.message}`)
}

/** How many runs are in each state. */
export async function states({ store }: Counterfoil): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for await (const run of rowsOf((page) => store.listRuns({ namespace: 'default', ...page }))) {
    counts[run.state] = (counts[run.state] ?? 0) + 1
  }
  return counts
}
