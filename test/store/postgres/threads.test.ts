// Threads on Postgres, where several connections really write at once.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pause, randomHex, systemClock } from '../../../src/clock.ts'
import { migratePostgres } from '../../../src/store/postgres/index.ts'
import type { Store } from '../../../src/store/store.ts'
import { space, step } from '../../../src/testing/store/ports/thread-fixtures.ts'
import { isSound } from '../../../src/testing/store/ports/threads.ts'
import {
  describePostgres,
  dropSchema,
  openAt,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../../postgres/bench.ts'
import { appendAll, pruneAll, raceSpace, readAll } from '../thread-race.ts'

describePostgres('threads', () => {
  const url = postgresUrl()
  let store: Store

  beforeAll(async () => {
    await migratePostgres({ url, clock: systemClock })
    store = await openAt(url)
  }, 300_000)

  afterAll(async () => {
    await store.close()
    await dropSchema(url)
  }, 300_000)

  /** Another session, in a transaction that stays open until `end`. */
  async function within(begin: string): Promise<pg.Client & { finish(): Promise<void> }> {
    const client = new pg.Client({ connectionString: plainUrl() })
    await client.connect()
    await client.query(`set search_path to "${schemaOf(url)}"`)
    await client.query(begin)
    const finish = async () => {
      await client.query('commit')
      await client.end()
    }
    return Object.assign(client, { finish })
  }

  const isPending = (asked: Promise<unknown>) =>
    Promise.race([asked.then(() => false), pause(systemClock, 300).then(() => true)])

  const append = (threadId: string) =>
    `select put_step('default', '${threadId}', '', '3', '2', false, 1, '{}', '{}') as done`

  test('K1, B6 a pruning waits for whoever is appending, and then refuses', async () => {
    const at = space('t1')
    await store.putStep(step('1', null, at))
    await store.putStep(step('2', '1', at))
    const other = await within('begin')
    expect((await other.query(append('t1'))).rows).toEqual([{ done: true }])
    const asked = store.pruneSteps(at, { whole: [], drop: ['1', '2'] })
    expect(await isPending(asked)).toBe(true)
    // Another thread does not wait, nor does a step that stands by itself.
    expect(await store.pruneSteps(space('t9'), { whole: [], drop: ['1'] })).toBe(true)
    expect(await store.putStep(step('9', '2', { ...at, whole: true }))).toBe(true)
    await other.finish()
    expect(await asked).toBe(false)
    expect((await store.loadSteps(at, '3')).map((row) => row.stepId)).toEqual(['1', '2', '3'])
  })

  test.each(['prune_steps', 'drop_thread'])(
    'K1, B6 whoever appends waits for %s, and then refuses',
    async (name) => {
      const at = space(`t-${name}`)
      await store.putStep(step('1', null, at))
      await store.putStep(step('2', '1', at))
      const other = await within('begin')
      const rest = name === 'prune_steps' ? ", '', '[]', array['1', '2']" : ''
      await other.query(`select ${name}('default', '${at.threadId}'${rest})`)
      const asked = store.putStep(step('3', '2', at))
      expect(await isPending(asked)).toBe(true)
      await other.finish()
      expect(await asked).toBe(false)
      expect((await store.listSteps(at)).items).toEqual([])
    },
  )

  test('K1, B6 two processes append and prune at once, and no step loses its base', async () => {
    const others = [await openAt(url), await openAt(url)]
    const [appended, ...pruned] = await Promise.all([
      appendAll(store, 300),
      ...others.map((one) => pruneAll(one, 300)),
    ])
    // They did meet: steps were gone when they were to be built on, and built on when to go.
    expect(appended.whole).toBeGreaterThan(1)
    expect(pruned.reduce((all, one) => all + one.pruned, 0)).toBeGreaterThan(0)
    expect(pruned.reduce((all, one) => all + one.refused, 0)).toBeGreaterThan(0)
    expect(await readAll(store)).toBeGreaterThan(0)
    expect(await isSound({ store }, raceSpace)).toBe(true)
    for (const one of others) await one.close()
  }, 300_000)

  test('K1 many that write the same rows, and take them, do not lock each other out', async () => {
    const at = space('busy')
    await store.putStep(step('1', null, at))
    const rows = (place: number) =>
      Array.from({ length: 20 }, (_, i) => ({
        ...{ ...at, stepId: '1', taskId: `${(i * 7) % 20}`, place, channel: 'c', bodyJson: '1' },
      }))
    const work = Array.from({ length: 30 }, async (_, i) => {
      if (i % 5 === 4) return store.pruneSteps(at, { whole: [], drop: ['1'] })
      return store.putWrites(i % 2 === 0 ? rows(0) : rows(0).reverse(), true)
    })
    await Promise.all(work)
  })

  test('K1 a transaction that keeps to its first look is refused, not trusted', async () => {
    const other = await within('begin isolation level repeatable read')
    await expect(other.query(append('t1'))).rejects.toMatchObject({ code: 'CF004' })
    await other.finish()
    const user = `strict_${randomHex(4)}`
    await sql(url, `create user ${user} superuser password 'of-this-test'`)
    await sql(url, `alter role ${user} set default_transaction_isolation = 'serializable'`)
    try {
      const strict = new URL(plainUrl({ user, password: 'of-this-test' }))
      strict.searchParams.set('schema', schemaOf(url))
      const opened = await openAt(strict.href)
      expect(await opened.putStep(step('1', null, space('t2')))).toBe(true)
      await expect(opened.putStep(step('2', '1', space('t2')))).rejects.toMatchObject({
        code: 'STORE_UNFIT',
        message: expect.stringContaining('read committed'),
      })
      await opened.close()
    } finally {
      await sql(url, `drop role ${user}`)
    }
  })
})
