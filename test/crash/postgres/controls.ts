// The controls of the faults on Postgres: what is done otherwise elsewhere, under the same faults.
// They must fail, or the tests prove nothing.
import { once } from 'node:events'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { compare, Site, script } from '../driver.ts'
import { killAll, stops } from '../faults.ts'
import { holeAround } from '../holes.ts'
import { post } from '../programs/workload.mjs'
import { PostgresProxy } from '../proxy.ts'

export interface Found {
  /** How often the fault happened. */
  injected: number
  /** Effects that happened more than once. */
  twice: number
}

const subjects = ['hello', 'paid', 'bye']

async function query(url: string, ...texts: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const text of texts) await client.query(text)
  await client.end()
}

/** Plain checkpoints: a step's result is saved after the step, and what has none is done again. */
async function naive(
  url: string,
  port: number,
  to: string,
  acted: (subject: string) => Promise<void> = async () => {},
): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      for (const subject of subjects) {
        const step = [`${to} ${subject}`]
        const saved = await client.query('select 1 from naive where step = $1', step)
        if (saved.rows.length > 0) continue
        const input = { to, subject }
        await post(port, { tool: 'mail', key: null, input, attemptId: null })
        await acted(subject)
        await client.query('insert into naive (step) values ($1)', step)
      }
      return await client.end()
    } catch {
      await client.end().catch(() => {})
    }
  }
}

const makeNaive = 'create table if not exists naive (step text primary key)'

/** Cut before the record goes up, and after it was answered. */
export async function naiveCut(server: PostgresServer): Promise<Found & { after: number }> {
  await query(server.url, makeNaive, 'truncate naive')
  const site = await Site.open()
  const proxy = await PostgresProxy.open(server.port)
  const url = proxy.through(server.url)
  const twice: number[] = []
  for (const side of ['before', 'after'] as const) {
    for (let nth = 1; nth <= subjects.length; nth++) {
      const at = (text: string) => text.startsWith('insert')
      proxy.plan({ side, how: 'cut', at, nth })
      await naive(url, Number(site.port), `${side}${nth}`)
    }
    twice.push(compare(site.effects(), []).twice.length)
  }
  const injected = proxy.done.length
  await proxy.close()
  await site.close()
  const [before = 0, both = 0] = twice
  return { injected, twice: before, after: both - before }
}

/** The server dies between an act and its record, and comes back. */
export async function naiveServerKill(): Promise<Found> {
  const server = await startPostgres()
  const site = await Site.open()
  let injected = 0
  try {
    await query(server.url, makeNaive)
    await naive(server.url, Number(site.port), 'r1', async (subject) => {
      if (subject !== 'paid' || injected > 0) return
      injected++
      await killAll(server)
      await server.start()
    })
    return { injected, twice: compare(site.effects(), []).twice.length }
  } finally {
    await site.close()
    await server.stop()
  }
}

/** A worker with calls under way is cut off; its successor trusts keys that nobody honours. */
export async function lyingInHole(server: PostgresServer): Promise<Found> {
  const { injected, duplicates } = await holeAround(server, 2, { modes: ['lying'], delayMs: 600 })
  return { injected, twice: duplicates }
}

/** A worker stands still past its lease; the same. */
export async function lyingStopped(server: PostgresServer): Promise<Found> {
  const { injected, duplicates } = await stops(server, { seed: 1, times: 2, modes: ['lying'] })
  return { injected, twice: duplicates }
}

const hourMs = 3_600_000

/** Two workers that reckon leases by their own wall clocks; one of them is off by `shiftMs`. */
export async function naiveLease(server: PostgresServer, shiftMs = hourMs): Promise<Found> {
  await query(
    server.url,
    'drop table if exists naive_lease, naive_steps, naive_here',
    'create table naive_lease (holder text, until bigint)',
    'create table naive_steps (step text primary key)',
    'create table naive_here (who text primary key)',
    "insert into naive_lease values ('', 0)",
  )
  const site = await Site.open(2_000)
  const flags = ['--import', new URL('../programs/harm/shift.mjs', import.meta.url).href]
  const start = (who: string, ms: number) => {
    const env = { COUNTERFOIL_SHIFT_MS: String(ms) }
    return site.spawn(script('naive-lease.mjs'), [server.url, site.port, who], flags, { env })
  }
  const [first, second] = [start('first', 0), start('second', shiftMs)]
  const [said] = await once(second.child.stdout as NodeJS.ReadableStream, 'data')
  const off = Number(String(said).trim().split(' ')[2]) - Date.now()
  await Promise.all([first.exit, second.exit])
  const { twice } = compare(site.effects(), [])
  await site.close()
  return { injected: Math.abs(off - shiftMs) < 60_000 ? 1 : 0, twice: twice.length }
}
