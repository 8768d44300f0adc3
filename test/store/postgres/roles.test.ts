// B8 on Postgres: rights in the database itself, tried with real logins.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomHex, systemClock } from '../../../src/clock.ts'
import { type Counterfoil, open } from '../../../src/index.ts'
import { createPostgresRoles, migratePostgres } from '../../../src/store/postgres/index.ts'
import { listAttempts, listRecords } from '../../../src/store/postgres/list.ts'
import { openConnection } from '../../../src/store/postgres/opening/open.ts'
import { addRows, noRows, rowArguments } from '../../../src/store/postgres/write.ts'
import type { Changes } from '../../../src/store/store.ts'
import {
  describePostgres,
  dropSchema,
  key,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../../postgres/bench.ts'
import { sendsOf, takeTrips, tripOf } from '../../postgres/trip.ts'

describePostgres('roles', () => {
  const url = postgresUrl()
  const schema = schemaOf(url)
  const id = randomHex(4)
  const roles = { worker: `worker_${id}`, reader: `reader_${id}` }
  const users = { worker: `works_${id}`, reader: `reads_${id}` }
  const secret = 'of-this-test'

  const urlOf = (kind: 'worker' | 'reader') => {
    const as = new URL(plainUrl({ user: users[kind], password: secret }))
    as.searchParams.set('schema', schema)
    return as.href
  }

  /** One session of this user, with the schema on its path; what each statement was answered. */
  async function says(kind: 'worker' | 'reader', ...statements: string[]): Promise<string[]> {
    const client = new pg.Client({
      connectionString: plainUrl({ user: users[kind], password: secret }),
    })
    await client.connect()
    const answers: string[] = []
    try {
      await client.query(`set search_path to ${schema}`)
      for (const text of statements) {
        try {
          const { rowCount } = await client.query(text)
          answers.push(`done: ${rowCount}`)
        } catch (error) {
          answers.push(`${(error as { code?: string }).code}: ${(error as Error).message}`)
          await client.query('rollback')
        }
      }
    } finally {
      await client.end()
    }
    return answers
  }

  async function useThreads({ threads }: Counterfoil): Promise<void> {
    const ref = { threadId: 't', space: '' }
    const row = { ...ref, parentId: '1', bodyJson: '{}', noteJson: '{}', createdAt: 1 }
    const last = { ...row, stepId: '2' }
    expect(await threads.putStep({ ...row, stepId: '1', parentId: null, whole: true })).toBe(true)
    expect(await threads.putStep({ ...last, whole: false })).toBe(true)
    const write = { ...ref, stepId: '2', taskId: 'a', place: 0, channel: 'c', bodyJson: '1' }
    await threads.putWrites([write], false)
    expect((await threads.listWrites(ref, ['2'])).length).toBe(1)
    expect((await threads.loadSteps(ref)).length).toBe(2)
    const pruning = { whole: [{ ...last, whole: true }], drop: ['1'] }
    expect(await threads.pruneSteps(ref, pruning)).toBe(true)
    await threads.dropThread('another')
    expect(await threads.listIdleThreads(10, 10)).toEqual(['t'])
  }

  const sent: string[] = []
  beforeAll(async () => {
    const where = { url, clock: systemClock }
    await migratePostgres(where)
    await createPostgresRoles(where, roles)
    for (const kind of ['worker', 'reader'] as const) {
      await sql(url, `create user ${users[kind]} in role ${roles[kind]} password '${secret}'`)
    }
    const trip = tripOf(sent)
    const options = { key, graphs: trip.graphs, onWarning: () => {} }
    const cf = await open({ store: urlOf('worker'), ...options })
    await cf.worker().start()
    await takeTrips(cf, trip, ['acme'])
    await cf.close()
  }, 300_000)

  afterAll(async () => {
    await dropSchema(url)
    for (const name of [...Object.values(users), ...Object.values(roles)]) {
      await sql(url, `drop role if exists ${name}`)
    }
  }, 300_000)

  test('B8 a worker can do all the work of a worker', async () => {
    expect(sent.sort()).toEqual(sendsOf(['acme']))
    const rows = await sql(
      url,
      'select count(*)::int as n from tool_call_results where dispatched_at is not null',
    )
    expect(rows[0]?.['n']).toBeGreaterThan(2)
    const cf = await open({ store: urlOf('worker'), key, onWarning: () => {} })
    expect((await cf.run('acme').status()).state).toBe('completed')
    const day = 24 * 3_600_000
    await cf.store.retain({ pureMs: day, keyedMs: day, unsafeMs: 30 * day }, 10)
    await cf.store.wakeDue(10)
    expect(await cf.store.listOverdue(10)).toEqual([])
    await cf.store.backlog()
    await useThreads(cf)
    await expect(cf.store.adopt('a worker', 'to go on')).rejects.toMatchObject({
      code: 'STORE_DENIED',
    })
    await cf.close()
  })

  const finals = [
    ...['tool_call_results', 'tool_call_attempts', 'call_evidence', 'decisions', 'events', 'runs'],
    ...['checkpoints', 'inbox_items', 'signals', 'adoptions', 'graphs', 'meta', 'workers'],
    ...['shares', 'schema_migrations', 'thread_steps', 'thread_writes'],
  ]

  test.each(finals)('B8 a worker cannot write %s by a statement of its own', async (table) => {
    const [column] = await sql(
      url,
      `select column_name as name from information_schema.columns
       where table_schema = $1 and table_name = $2 and is_identity = 'NO'
         and is_generated = 'NEVER' limit 1`,
      [schema, table],
    )
    const name = String(column?.['name'])
    const count = async () => await sql(url, `select md5(t::text) from ${table} t order by 1`)
    const before = await count()
    const answers = await says(
      'worker',
      `update ${table} set ${name} = ${name}`,
      `delete from ${table}`,
      `truncate ${table} cascade`,
      `insert into ${table} (${name}) select ${name} from ${table}`,
      `select * from ${table} for update`,
      `alter table ${table} disable trigger all`,
      `alter table ${table} add column mine text`,
      `drop table ${table} cascade`,
      `create trigger mine before update on ${table} for each row execute function refuse()`,
      `copy ${table} from program 'true'`,
      `begin; lock table ${table} in access exclusive mode`,
    )
    for (const answer of answers) expect(answer).toMatch(/^42501: /)
    expect(await count()).toEqual(before)
  })

  test('B8 a worker cannot say that it is retention, nor switch triggers off', async () => {
    const answers = await says(
      'worker',
      "set counterfoil.retaining = 'on'",
      'delete from tool_call_results',
      'delete from events',
      'set session_replication_role = replica',
      `set role ${roles.worker}`,
      'delete from runs',
      'set role postgres',
      'reset role',
      `create function ${schema}.mine() returns int language sql as 'select 1'`,
      `alter function ${schema}.now_ms() owner to ${users.worker}`,
      `create or replace function ${schema}.now_ms() returns double precision
       language sql as 'select 0::double precision'`,
      `alter role ${users.worker} superuser`,
      // Not an error, but a warning that nothing was granted.
      'grant delete, update on runs to public',
      'delete from runs',
    )
    expect(answers.map((answer) => answer.slice(0, 5))).toEqual([
      ...['done:', '42501', '42501', '42501', 'done:', '42501', '42501', 'done:'],
      ...['42501', '42501', '42501', '42501', 'done:', '42501'],
    ])
  })

  test('B8 helpers that write are not for a worker to call', async () => {
    const owned = await sql(
      url,
      `select p.oid::regprocedure::text as name from pg_proc p
       where p.pronamespace = $1::regnamespace
         and has_function_privilege($2, p.oid, 'execute') order by 1`,
      [schema, users.worker],
    )
    const names = owned.map(({ name }) => String(name).replace(/\(.*/, '').replace(/^.*\./, ''))
    const helpers = ['put_records', 'take_all', 'take_calls', 'change_run', 'adopt', 'drop_steps']
    for (const helper of helpers) {
      expect(names).not.toContain(helper)
    }
    expect(names).toContain('commit_one')
    const [taken] = await says('worker', 'select take_all(r) from runs r')
    expect(taken).toMatch(/^42501: /)
  })

  test('B8 what a worker may call does not rewrite what is final', async () => {
    const { c } = await openConnection({ url: urlOf('worker'), clock: systemClock, key })
    const ref = { namespace: 'default', runId: 'acme' }
    const [record] = (await listRecords(c, ref, {})).items
    const [attempt] = await listAttempts(c, ref)
    if (!record || !attempt) throw new Error('nothing to forge')
    // Past the gate of the code, which would refuse it as well, with the genuine key.
    const forge = async (changes: Changes) => {
      const rows = noRows()
      addRows(c, rows, changes)
      await c.call('amend_write', ['default', 'acme', '{}', ...rowArguments(rows), null, null])
    }
    const final = { code: 'ROW_IMMUTABLE' }
    const forged = { ...record, resultJson: '"forged"' }
    await expect(forge({ records: [forged] })).rejects.toMatchObject(final)
    const other = { ...attempt, workerId: 'somebody' }
    await expect(forge({ attempts: [other] })).rejects.toMatchObject(final)
    await c.close()
    const retain = (unsafeMs: string) => `select retain(0, 0, ${unsafeMs}, 100)`
    const answers = await says('worker', retain('0'), retain("'NaN'"), retain("'-Infinity'"))
    expect(answers.map((answer) => answer.slice(0, 5))).toEqual(['CF003', 'CF003', 'CF003'])
    const rows = await sql(url, 'select 1 from tool_call_results where result_json = \'"forged"\'')
    expect(rows).toEqual([])
  })

  test('B8 a table of its own in front of ours does not mislead a function', async () => {
    const answers = await says(
      'worker',
      'create temporary table meta (name text, value text)',
      'create temporary table runs as select * from only runs limit 0',
      'select incarnation()',
      'select claim_runs(null, null, array[]::text[], array[]::text[], 1, null, null, null, null)',
    )
    expect(answers.slice(0, 3).map((answer) => answer.slice(0, 5))).toEqual([
      ...['done:', 'done:', 'done:'],
    ])
    // Nobody is registered by that name: it got as far as the real tables.
    expect(answers[3]).toMatch(/^CF002: /)
  })

  test('B8 a reader reads everything and writes nothing', async () => {
    const cf = await open({ store: urlOf('reader'), key, onWarning: () => {} })
    expect((await cf.run('acme').status()).state).toBe('completed')
    const ref = { namespace: 'default', runId: 'acme' }
    expect((await cf.store.listRecords(ref, {})).items.length).toBeGreaterThan(1)
    const denied = { code: 'STORE_DENIED' }
    await expect(cf.run('acme').signal('go', 1)).rejects.toMatchObject(denied)
    await expect(cf.worker().start()).rejects.toMatchObject(denied)
    await expect(cf.store.wakeDue(1)).rejects.toMatchObject(denied)
    expect((await cf.threads.loadSteps({ threadId: 't', space: '' })).length).toBe(1)
    expect((await cf.threads.listSteps()).items.length).toBe(1)
    expect(await cf.threads.listIdleThreads(10, 10)).toEqual(['t'])
    await expect(cf.threads.dropThread('t')).rejects.toMatchObject(denied)
    await cf.close().catch(() => {})
    const answers = await says(
      'reader',
      'select * from runs',
      'select * from calls',
      'select body from inbox',
      "update runs set node = 'x'",
      'delete from events',
      'select start_run(null)',
      "select add_key_check('a', 'b')",
      'select wake_due(1)',
    )
    expect(answers.map((answer) => answer.slice(0, 5))).toEqual([
      ...['done:', 'done:', 'done:', '42501', '42501', '42501', '42501', '42501'],
    ])
  })

  test('B8 nobody else may look or call', async () => {
    await sql(url, `create user nobody_${id} password '${secret}'`)
    try {
      const client = new pg.Client({
        connectionString: plainUrl({ user: `nobody_${id}`, password: secret }),
      })
      await client.connect()
      await expect(client.query(`select * from ${schema}.runs`)).rejects.toThrow(/denied/)
      await expect(client.query(`select ${schema}.now_ms()`)).rejects.toThrow(/denied/)
      await client.end()
    } finally {
      await sql(url, `drop role nobody_${id}`)
    }
  })

  test('B8 functions and views that are made anew belong to the same roles', async () => {
    const where = { url, clock: systemClock }
    await sql(url, 'drop view run_list, states, calls, inbox, history')
    await sql(url, "update meta set value = '0:before' where name = 'rules'")
    const denied = await open({ store: urlOf('worker'), key }).catch((error) => error)
    expect(denied).toMatchObject({ code: 'STORE_OUTDATED' })
    expect(denied.message).toMatch(/functions.*counterfoil db migrate/)
    expect((await migratePostgres(where)).added).toEqual(['functions'])
    expect(await says('reader', 'select * from run_list')).toEqual(['done: 2'])
    const cf = await open({ store: urlOf('worker'), key, onWarning: () => {} })
    await cf.close()
  })
})
