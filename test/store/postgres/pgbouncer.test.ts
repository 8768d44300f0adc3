// Poolers that give each transaction another connection. The first half needs Debian's pgbouncer
// (`npm test` installs it where it can); the second shows what it stands on, and runs everywhere.
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { open } from '../../../src/index.ts'
import { openConnection } from '../../../src/store/postgres/opening/open.ts'
import { describePostgres, dropSchema, key, postgresUrl } from '../../postgres/bench.ts'
import {
  findPgbouncer,
  type Pooler,
  startPgbouncer,
  withoutPrepared,
} from '../../postgres/pgbouncer.ts'
import { sendsOf, takeTrips, tripOf } from '../../postgres/trip.ts'

const command = findPgbouncer()
if (command === null) {
  console.warn('pgbouncer is not installed: what needs it is left out (apt-get install pgbouncer)')
}

const names = Array.from({ length: 12 }, (_, i) => `trip-${i}`)

interface Asked {
  readonly text: string
  readonly name?: string
  readonly listens: boolean
}

/** What the driver is asked from now on. */
function spied(): { asked: Asked[]; rest: () => void } {
  const asked: Asked[] = []
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const [first] = args as [string | { text: string; name?: string }]
    const config = typeof first === 'string' ? { text: first } : first
    asked.push({ ...config, listens: this.listenerCount('notification') > 0 })
    return (query as (...args: unknown[]) => unknown).apply(this, args)
  } as never)
  return { asked, rest: () => spy.mockRestore() }
}

/** Two workers with pools of their own share the runs. */
async function workOn(url: string, sent: string[], warnings: string[] = []): Promise<void> {
  const trip = tripOf(sent)
  const onWarning = (text: string) => warnings.push(text)
  const options = { store: url, key, graphs: trip.graphs, onWarning }
  const [one, two] = [await open(options), await open(options)]
  try {
    await Promise.all([one, two].map((cf) => cf.worker({ concurrency: 4 }).start()))
    await takeTrips(one, trip, names)
  } finally {
    await Promise.all([one.close(), two.close()])
  }
}

describePostgres('PgBouncer', () => {
  describe.runIf(command !== null)('in transaction mode', () => {
    const url = postgresUrl()
    let pooler: Pooler
    beforeAll(async () => {
      pooler = await startPgbouncer(command ?? '', url)
    }, 300_000)
    afterAll(async () => {
      await pooler?.stop()
      await dropSchema(url)
    }, 300_000)

    test('L2 two workers, unsafe calls, sleeps, signals and children: each sent once', async () => {
      const [sent, warnings] = [[] as string[], [] as string[]]
      await workOn(pooler.url, sent, warnings)
      expect(sent.sort()).toEqual(sendsOf(names))
      expect(warnings).toEqual([])
      const pools = await pooler.show('pools')
      expect(pools.find(({ database }) => database === 'postgres')).toMatchObject({
        pool_mode: 'transaction',
      })
      const stats = await pooler.show('stats')
      const count = stats.find(({ database }) => database === 'postgres')?.['total_xact_count']
      expect(Number(count)).toBeGreaterThan(names.length * 4)
    }, 300_000)

    test('L2 one client is given several connections of the server', async () => {
      const { c, settings } = await openConnection({ url: pooler.url, clock: systemClock, key })
      // It refuses settings at the beginning of a session, so none were asked for.
      expect(settings.asks).toBe(false)
      const pid = async () => {
        const [row] = await c.query('select pg_backend_pid() as pid, pg_sleep(0.5)')
        return row?.['pid']
      }
      const pids = new Set(await Promise.all(Array.from({ length: 9 }, pid)))
      await c.close()
      expect(pids.size).toBe(3)
    })
  })

  describe.runIf(command !== null)('in transaction mode, taken for the server itself', () => {
    const url = postgresUrl()
    let pooler: Pooler
    beforeAll(async () => {
      pooler = await startPgbouncer(command ?? '', url, [
        'ignore_startup_parameters = statement_timeout, lock_timeout, options,' +
          'idle_in_transaction_session_timeout, extra_float_digits',
        ...withoutPrepared(command ?? ''),
      ])
    }, 300_000)
    afterAll(async () => {
      await pooler?.stop()
      await dropSchema(url)
    }, 300_000)

    test('L2, I4 what it cannot find by name is asked again without, and sent once', async () => {
      const { c, settings } = await openConnection({ url: pooler.url, clock: systemClock, key })
      expect(settings.asks).toBe(true)
      await c.close()
      const [sent, warnings] = [[] as string[], [] as string[]]
      const { asked, rest } = spied()
      try {
        await workOn(pooler.url, sent, warnings)
      } finally {
        rest()
      }
      expect(sent.sort()).toEqual(sendsOf(names))
      expect(warnings).toEqual([])
      // Both stores have tried, and both have given it up.
      const tried = asked.filter(({ name }) => name !== undefined).length
      expect(tried).toBeGreaterThan(0)
      expect(tried).toBeLessThan(asked.length / 2)
    }, 300_000)
  })

  // What a session keeps, and a pooler would give to somebody else or take away.
  const sessionState = [
    /^\s*(set|reset)\s+(?!local\b|transaction\b)/i,
    /^\s*(listen|unlisten|prepare|execute|declare|discard|load)\b/i,
    /\bcreate\s+(local\s+|global\s+)?temp/i,
    /pg_(try_)?advisory_lock/i,
    /set_config\s*\([^()]*,\s*false\s*\)/i,
    /\bwith\s+hold\b/i,
  ]
  const keeps = (text: string) => sessionState.some((pattern) => pattern.test(text))

  test('L2 no statement of the pool leaves anything in its session', async () => {
    const url = postgresUrl()
    const { asked, rest } = spied()
    const sent: string[] = []
    try {
      await workOn(url, sent)
    } finally {
      rest()
      await dropSchema(url)
    }
    expect(sent.sort()).toEqual(sendsOf(names))
    const pooled = asked.filter(({ listens }) => !listens)
    expect(pooled.length).toBeGreaterThan(names.length * 4)
    // But for statements prepared by name: functions of the schema, each by the name of its text.
    const prepared = pooled.filter(({ name }) => name !== undefined)
    expect(prepared.filter(({ text }) => !/^select [^;]*"\.\w+\([$\d, ]*\)/.test(text))).toEqual([])
    const texts = new Map(prepared.map(({ name, text }) => [name, text]))
    expect(prepared.every(({ name, text }) => texts.get(name) === text)).toBe(true)
    expect(new Set(texts.values()).size).toBe(texts.size)
    expect(pooled.map(({ text }) => text).filter((text) => isPlain(text) && keeps(text))).toEqual(
      [],
    )
    // The patterns do find what they look for: the one connection that listens.
    expect(asked.filter(({ listens }) => listens).some(({ text }) => keeps(text))).toBe(true)
    expect(keeps("select set_config('a', 'b', false)")).toBe(true)
    expect(keeps("set local lock_timeout = '1s'")).toBe(false)
  }, 300_000)

  test('L2 no function of the schema leaves anything in a session', () => {
    const folder = new URL('../../../src/store/postgres/functions/', import.meta.url)
    const lines = readdirSync(folder).flatMap((name) =>
      readFileSync(new URL(name, folder), 'utf8')
        .replaceAll(/--.*$/gm, '')
        .split(';')
        .map((text) => text.replace(/^[\s\S]*\bbegin\b/, '')),
    )
    expect(lines.length).toBeGreaterThan(100)
    expect(lines.filter(keeps)).toEqual([])
  })
})

/** Migrations are looked at in their files. */
function isPlain(text: string): boolean {
  return text.length < 4_000
}
