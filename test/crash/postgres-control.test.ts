// The controls of the fault tests: what is done otherwise elsewhere, under the same faults. They
// must fail, or the tests prove nothing.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describePostgres } from '../postgres/bench.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import { compare, Site } from './driver.ts'
import { kills, stops } from './faults.ts'
import { PostgresProxy } from './proxy.ts'
import { post } from './workload.mjs'

const subjects = ['hello', 'paid', 'bye']
let server: PostgresServer

/** Plain checkpoints: a step's result is saved after the step, and what has none is done again. */
async function naive(url: string, port: number, to: string): Promise<void> {
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
        await client.query('insert into naive (step) values ($1)', step)
      }
      return await client.end()
    } catch {
      await client.end().catch(() => {})
    }
  }
}

describePostgres('controls', () => {
  beforeAll(async () => {
    server = await startPostgres()
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query('create table naive (step text primary key)')
    await client.end()
  }, 60_000)
  afterAll(() => server.stop())

  test('J3 the control: who records after acting acts twice when the line is cut', async () => {
    const site = await Site.open()
    const proxy = await PostgresProxy.open(server.port)
    const url = proxy.through(server.url)
    const twice = []
    for (const side of ['before', 'after'] as const) {
      for (let nth = 1; nth <= subjects.length; nth++) {
        const at = (text: string) => text.startsWith('insert')
        proxy.plan({ side, how: 'cut', at, nth })
        await naive(url, Number(site.port), `${side}${nth}`)
      }
      twice.push(compare(site.effects(), []).twice.length)
    }
    expect(proxy.done).toHaveLength(6)
    // Each one that was cut before; those that were cut after are on record.
    expect(twice).toEqual([3, 3])
    await proxy.close()
    await site.close()
  }, 60_000)

  test('J3 the control: unsafe tools declared keyed repeat their effects when killed', async () => {
    const { duplicates, injected } = await kills(server, { seed: 1, times: 8, modes: ['lying'] })
    expect(injected).toBeGreaterThan(2)
    expect(duplicates).toBeGreaterThan(0)
  }, 300_000)

  test('J3 the control: the same when a worker stands still past its lease', async () => {
    const { duplicates } = await stops(server, { seed: 1, times: 2, modes: ['lying'] })
    expect(duplicates).toBeGreaterThan(0)
  }, 300_000)
})
