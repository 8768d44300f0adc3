// Runs that begin in one turn are one statement on Postgres. Nobody may notice but by its speed.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pause, systemClock } from '../../../src/clock.ts'
import { migratePostgres } from '../../../src/store/postgres/index.ts'
import { newColumns } from '../../../src/store/postgres/write.ts'
import type { NewRun, Store } from '../../../src/store/store.ts'
import { newRun, ref } from '../../../src/testing/store/fixtures.ts'
import {
  describePostgres,
  dropSchema,
  openAt,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../../postgres/bench.ts'

describePostgres('together', () => {
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

  const named = (stem: string, count: number) =>
    Array.from({ length: count }, (_, i) => newRun(`${stem}${i}`))
  const startAll = (made: readonly NewRun[]) => Promise.all(made.map((one) => store.start(one)))

  test('C8 runs started in one turn are made, each once, in one transaction', async () => {
    const made = named('one', 40)
    const started = await startAll([...made, ...made.slice(0, 3)])
    expect(started.map(({ created }) => created)).toEqual([
      ...made.map(() => true),
      ...[false, false, false],
    ])
    const [row] = await sql(
      url,
      `select count(*)::int as runs, count(distinct xmin::text)::int as transactions,
         (select count(*)::int from events where run_id like 'one%') as events
       from runs where run_id like 'one%'`,
    )
    expect(row).toEqual({ runs: 40, transactions: 1, events: 40 })
  })

  test('C8 an id that is taken answers its run, whatever is started with it', async () => {
    await store.start(newRun('taken', { inputHash: 'first' }))
    const [before, taken, after] = await startAll([
      newRun('z-new'),
      newRun('taken', { inputHash: 'second' }),
      newRun('a-new'),
    ])
    expect([before?.created, taken?.created, after?.created]).toEqual([true, false, true])
    expect(taken?.run).toMatchObject({ runId: 'taken', inputHash: 'first' })
    expect([before?.run.runId, after?.run.runId]).toEqual(['z-new', 'a-new'])
  })

  test('C8 a start that the server refuses does not keep the others from being made', async () => {
    const bad = newRun('bad', { visit: Number.NaN })
    const ends = await Promise.allSettled([newRun('good1'), bad, newRun('good2')].map(store.start))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.getRun(ref('bad'))).toBe(null)
    for (const id of ['good1', 'good2']) expect((await store.getRun(ref(id)))?.runId).toBe(id)
  })

  test('C8 a start that cannot be written down is no trouble of the others', async () => {
    const bad = newRun('unwritable', { visit: 1n as unknown as number })
    const large = newRun('large', { errorJson: JSON.stringify('x'.repeat(2_000_000)) })
    const all = [newRun('small1'), bad, large, newRun('small2')]
    const ends = await Promise.allSettled(all.map(store.start))
    expect(ends.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    ])
    for (const id of ['small1', 'large', 'small2']) {
      expect((await store.getRun(ref(id)))?.runId).toBe(id)
    }
  })

  test('C8 ids are taken in their order, so that nobody waits in a ring', async () => {
    const columns = (made: NewRun) => [JSON.stringify(newColumns(made))]
    const other = new pg.Client({ connectionString: plainUrl() })
    await other.connect()
    await other.query(`set search_path to "${schemaOf(url)}"`)
    await other.query('begin')
    await other.query('select start_run($1)', columns(newRun('m')))
    const started = startAll([newRun('z'), newRun('m'), newRun('a')])
    const waits = `select 1 from pg_stat_activity
      where wait_event_type = 'Lock' and query like '%"${schemaOf(url)}".start_runs%'`
    while ((await sql(url, waits)).length === 0) await pause(systemClock, 5)
    // They wait for `m`, and have not taken `z` meanwhile.
    await other.query("set local lock_timeout = '200ms'")
    await other.query('select start_run($1)', columns(newRun('z')))
    await other.query('commit')
    await other.end()
    expect((await started).map(({ created }) => created)).toEqual([false, false, true])
  })

  test('L2 runs loaded in one turn come each with its own rows', async () => {
    await startAll(named('load', 60))
    const ids = Array.from({ length: 60 }, (_, i) => `load${59 - i}`)
    const loaded = await Promise.all(['nobody', ...ids].map((id) => store.load(ref(id))))
    expect(loaded.map((each) => each?.run.runId ?? null)).toEqual([null, ...ids])
    for (const each of loaded.slice(1)) {
      expect(each?.checkpoints.map(({ runId }) => runId)).toEqual([each?.run.runId])
    }
  })
})
