import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Graph, open, workflow } from '../../src/index.ts'
import { knownMigrations, rulesName } from '../../src/store/postgres/migrate.ts'
import {
  describePostgres,
  dropSchema,
  key,
  newSchema,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../postgres/bench.ts'
import { sendsOf, takeTrips, tripOf } from '../postgres/trip.ts'
import { misfits, run, start } from './harness.ts'
import { module } from './module.ts'

const names = [...knownMigrations().map(({ name }) => name), rulesName]
const password = () => decodeURIComponent(new URL(plainUrl()).password)

const used: string[] = []
const usedRoles: string[] = []
afterAll(async () => {
  for (const url of used) await dropSchema(url)
  for (const role of usedRoles) await sql(plainUrl(), `drop role if exists ${role}`)
}, 300_000)

function newUrl(): string {
  const url = postgresUrl()
  used.push(url)
  return url
}

/** Two names that no other test has. */
function newRoles() {
  const roles = { worker: `w_${newSchema()}`, reader: `r_${newSchema()}` }
  usedRoles.push(...Object.values(roles))
  return roles
}

async function said(args: readonly string[], url: string, env: Record<string, string> = {}) {
  const ended = await run([...args, '--json', '--store', url], env)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(ended.stdout).not.toContain(password())
  return JSON.parse(ended.stdout)
}

const keyed = { COUNTERFOIL_KEY: key }

describePostgres('counterfoil db', () => {
  test('L2 db migrate makes the tables without a key, once, and says what it did', async () => {
    const url = newUrl()
    const before = await said(['db', 'status'], url)
    expect(before).toMatchObject({ applied: [], pending: names, may_migrate: true, roles: [] })
    const text = await run(['db', 'migrate', '--store', url])
    expect(text).toMatchObject({ code: 0, stderr: '' })
    expect(text.stdout).toContain(`${names.length} steps applied`)
    for (const name of names) expect(text.stdout).toContain(`  ${name}\n`)
    expect(await said(['db', 'migrate'], url)).toMatchObject({ added: [], applied: names })
    const again = await run(['db', 'migrate', '--store', url])
    expect(again.stdout).toBe(`Schema ${schemaOf(url)} is up to date: ${names.length} steps.\n`)
    expect(await said(['db', 'status'], url)).toMatchObject({ applied: names, pending: [] })
  })

  test('L2 db status says what the server is and keeps, and changes nothing', async () => {
    const url = newUrl()
    const status = await said(['db', 'status'], url)
    expect(status).toMatchObject({
      ...{ schema: schemaOf(url), pending: names },
      server: {
        ...{ database: 'postgres', encoding: 'UTF8', standby: false, fsync: 'on' },
        ...{ full_page_writes: 'on', synchronous_commit: 'on', synchronous_standby_names: '' },
      },
    })
    expect(status.server.version).toMatch(/^\d+\.\d+/)
    const { stdout } = await run(['db', 'status', '--store', url])
    expect(stdout).toMatch(/^server +Postgres \d+\.\d+$/m)
    expect(stdout).toMatch(/^schema +t_\w+ is not there yet$/m)
    expect(stdout).toMatch(/^durable +fsync on, full_page_writes on, synchronous_commit on/m)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('counterfoil db migrate applies them')
    expect(misfits(stdout).filter((line) => !line.startsWith('postgres:'))).toEqual([])
    const [row] = await sql(url, 'select 1 from pg_namespace where nspname = $1', [schemaOf(url)])
    expect(row).toBeUndefined()
  })

  test('L2 two migrations at once: one does it, the other waits and finds it done', async () => {
    const url = newUrl()
    const ends = await Promise.all([1, 2, 3].map(() => said(['db', 'migrate'], url)))
    expect(ends.map(({ added }) => added.length).sort()).toEqual([0, 0, names.length])
    for (const end of ends) expect(end.applied).toEqual(names)
  })

  test('B8 db roles makes roles and gives rights; said again, nothing changes', async () => {
    const url = newUrl()
    const { worker, reader } = newRoles()
    const words = ['db', 'roles', '--worker', worker, '--reader', reader]
    const early = await run([...words, '--store', url])
    expect(early.code).toBe(1)
    expect(early.stderr).toMatch(/db migrate` first \[STORE_OUTDATED/)
    await said(['db', 'migrate'], url)
    const made = await run([...words, '--store', url])
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toContain(`create user my_worker in role ${worker} password`)
    const { roles } = await said(words, url)
    const bare = { exists: true, login: false, members: [] }
    const both = [
      { kind: 'worker', name: worker, ...bare },
      { kind: 'reader', name: reader, ...bare },
    ]
    expect(roles).toEqual(both)
    expect((await said(['db', 'status'], url)).roles).toEqual(both)
    await sql(url, `drop owned by ${worker}`)
    await sql(url, `drop role ${worker}`)
    const gone = await run(['db', 'status', '--store', url])
    expect(gone.stdout).toMatch(new RegExp(`^worker +${worker}, which is gone`, 'm'))
  })

  test('B8 a role by another name takes the rights of the former one', async () => {
    const url = newUrl()
    const [first, second] = [newRoles(), newRoles()]
    await said(['db', 'migrate'], url)
    for (const { worker, reader } of [first, second]) {
      await said(['db', 'roles', '--worker', worker, '--reader', reader], url)
    }
    const may = async (role: string) => {
      const table = `${schemaOf(url)}.runs`
      const [row] = await sql(url, 'select has_table_privilege($1, $2, $3) as may', [
        ...[role, table, 'select'],
      ])
      return row?.['may']
    }
    expect(await may(first.worker)).toBe(false)
    expect(await may(first.reader)).toBe(false)
    expect(await may(second.worker)).toBe(true)
    expect(await may(second.reader)).toBe(true)
  })

  test('B8 a role that may do anything is refused, and keeps its own rights', async () => {
    const url = newUrl()
    await said(['db', 'migrate'], url)
    const [me] = await sql(url, 'select current_user::text as name')
    for (const worker of [String(me?.['name']), 'pg_monitor', 'Bad-name']) {
      const ended = await run(['db', 'roles', '--worker', worker, '--store', url])
      expect(ended.code).toBe(1)
      expect(ended.stderr).toContain('STORE_ROLE_INVALID')
    }
    const same = await run(['db', 'roles', '--worker', 'a', '--reader', 'a', '--store', url])
    expect(same.code).toBe(2)
  })

  test('L2 a file is refused with what to say instead', async () => {
    for (const command of ['migrate', 'status', 'roles']) {
      const ended = await run(['db', command, '--store', 'sqlite:runs.db'])
      expect(ended.code).toBe(2)
      expect(ended.stderr).toMatch(/db \w+ is for a Postgres store.*--store postgres:\/\//)
    }
    const slip = await run(['db', 'status', '--store', 'postgre://ana:s3cret@host/db'])
    expect(slip.stderr).toContain('postgre://ana:…@host/db')
    expect(slip.stderr).not.toContain('s3cret')
  })

  test('L2 db migrate while a worker works: it goes on, and nothing is sent twice', async () => {
    const url = newUrl()
    const sent: string[] = []
    const trip = tripOf(sent)
    const cf = await open({ store: url, key, graphs: trip.graphs, onWarning: () => {} })
    await cf.worker().start()
    const trips = Array.from({ length: 6 }, (_, i) => `run-${i}`)
    const working = takeTrips(cf, trip, trips)
    for (let i = 0; i < 3; i++) {
      expect(await said(['db', 'migrate'], url)).toMatchObject({ added: [] })
    }
    await working
    await cf.close()
    expect(sent.sort()).toEqual(sendsOf(trips))
  })
})

describePostgres('other commands on a server', () => {
  test('L2 store, worker, run and inbox commands work on a postgres URL', async () => {
    const url = newUrl()
    const sent: string[] = []
    const trip = tripOf(sent)
    const cf = await open({ store: url, key, graphs: trip.graphs, onWarning: () => {} })
    const worker = cf.worker()
    await worker.start()
    await takeTrips(cf, trip, ['acme'])
    const { workers } = await said(['worker', 'list'], url, keyed)
    expect(workers).toMatchObject([{ worker_id: worker.id, state: 'alive' }])
    await cf.close()
    const { runs } = await said(['runs'], url, keyed)
    expect(runs).toHaveLength(2)
    expect(await said(['run', 'show', 'acme'], url, keyed)).toMatchObject({
      run: { state: 'completed' },
    })
    expect(await said(['inbox'], url, keyed)).toMatchObject({ items: [] })
    expect(await said(['ledger', 'verify'], url, keyed)).toMatchObject({ ok: true })
    expect(await said(['versions'], url, keyed)).toMatchObject({ versions: [{}, {}] })
    const status = await said(['store', 'status'], url, keyed)
    expect(status).toMatchObject({
      ...{ moved: null, caveats: [], blobs: null, runs: { completed: 2 }, open_items: {} },
      ...{ overdue_items: 0, workers: { alive: 0, silent: 0 } },
    })
    expect(status.bytes).toBeGreaterThan(10_000)
    expect(status.key_ids).toHaveLength(1)
    const applied = status.migrations.map(({ name }: { name: string }) => name)
    expect([...applied, rulesName]).toEqual(names)
    expect(Date.parse(status.migrations[0].applied_at)).toBeGreaterThan(Date.now() - 600_000)
    const { stdout } = await run(['store', 'status', '--store', url], keyed)
    expect(stdout).toMatch(/^blobs +in the database$/m)
    expect(stdout).toMatch(/^place +the database that it was made as$/m)
    expect(stdout).not.toContain(password())
  })

  test('L2 commands that are printed to be pasted have no password', async () => {
    const url = newUrl()
    const asking = workflow({
      id: 'asking@1.0.0',
      input: z.object({}),
      run: async (_, ctx) => (await ctx.ask({ title: 'Go on?', data: null })).answer,
    })
    const cf = await open({ store: url, key, graphs: [asking], onWarning: () => {} })
    await cf.worker().start()
    const asked = await cf.start(asking, {}, { runId: 'x' })
    await asked.until('waiting_human')
    await cf.close()
    const { items } = await said(['inbox'], url, keyed)
    const shown = await run(['inbox', 'show', items[0].item_id, '--store', url], keyed)
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/respond item_.*--store '?postgres:\/\/postgres@/s)
    expect(shown.stdout).not.toContain(password())
    const missing = await run(['run', 'show', 'y', '--store', url, '--debug'], keyed)
    expect(missing.stderr).toContain('RUN_NOT_FOUND')
    expect(missing.stderr).not.toContain(password())
  })

  test('B8 rotate-key and collect say what to do where there is nothing to do', async () => {
    const url = newUrl()
    await said(['db', 'migrate'], url)
    const rotate = await run(['store', 'rotate-key', '--store', url], keyed)
    expect(rotate.code).toBe(1)
    expect(rotate.stderr).toMatch(/end of COUNTERFOIL_KEY.*STORE_KEY_GIVEN/)
    const collect = await run(['store', 'collect', '--store', url], keyed)
    expect(collect.code).toBe(2)
    expect(collect.stderr).toContain('holds large values itself')
    const keyless = await run(['runs', '--store', url])
    expect(keyless.code).toBe(1)
    expect(keyless.stderr).toMatch(/set COUNTERFOIL_KEY.*STORE_KEY_MISSING/)
  })

  test('B8 a key is rotated by giving a second one; both verify', async () => {
    const url = newUrl()
    const work = async (keys: string, name: string) => {
      const trip = tripOf([])
      const cf = await open({ store: url, key: keys, graphs: trip.graphs, onWarning: () => {} })
      await cf.worker().start()
      await takeTrips(cf, trip, [name])
      await cf.close()
    }
    const both = `${key},${'b'.repeat(64)}`
    await work(key, 'before')
    await work(both, 'after')
    const verified = await said(['ledger', 'verify'], url, { COUNTERFOIL_KEY: both })
    expect(verified).toMatchObject({ ok: true })
    const { key_ids } = await said(['store', 'status'], url, { COUNTERFOIL_KEY: both })
    expect(key_ids).toHaveLength(2)
    const old = await run(['runs', '--store', url], keyed)
    expect(old.stderr).toContain('STORE_KEY_MISSING')
  })

  test('I12 a database that moved is worked on again after store adopt', async () => {
    const url = newUrl()
    await said(['db', 'migrate'], url)
    await sql(url, "update meta set value = 'other' || value where name = 'incarnation'")
    expect((await said(['store', 'status'], url, keyed)).moved).toMatch(/restored, copied/)
    const words = ['store', 'adopt', '--by', 'ana', '--reason', 'failed over']
    expect(await said(words, url, keyed)).toMatchObject({ adopted: true })
    expect(await said(['store', 'status'], url, keyed)).toMatchObject({
      ...{ moved: null, adoptions: [{ by: 'ana', reason: 'failed over' }] },
    })
    expect(await said(words, url, keyed)).toMatchObject({ adopted: false })
  })

  test('D4 a worker of the command line works on a server, and drains', async () => {
    const url = newUrl()
    const file = module()
    const graphs: { quick: Graph } = await import(file)
    const cf = await open({ store: url, key, graphs: [graphs.quick], onWarning: () => {} })
    const worker = start(['worker', file, '--store', url], keyed)
    expect(await worker.says('at once')).not.toContain(password())
    const going = await cf.start(graphs.quick, { a: 1 })
    await going.until('completed')
    await cf.close()
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })
  })
})
