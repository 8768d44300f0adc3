import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { randomHex, systemClock } from '../../../src/clock.ts'
import { open } from '../../../src/index.ts'
import { migratePostgres, postgresStatus } from '../../../src/store/postgres/index.ts'
import { knownMigrations } from '../../../src/store/postgres/migrate.ts'
import { clientConfig } from '../../../src/store/postgres/opening/driver.ts'
import { locate } from '../../../src/store/postgres/opening/location.ts'
import { openConnection } from '../../../src/store/postgres/opening/open.ts'
import {
  describePostgres,
  dropSchema,
  key,
  openAt,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../../postgres/bench.ts'
import { type PostgresServer, serverUser, startPostgres } from '../../postgres/server.ts'
import { sendsOf, takeTrips, tripOf } from '../../postgres/trip.ts'

const run = promisify(execFile)
const used: string[] = []
afterAll(async () => {
  for (const url of used) await dropSchema(url)
}, 300_000)

function newUrl(): string {
  const url = postgresUrl()
  used.push(url)
  return url
}

/** The URL with other parts. */
function changed(url: string, change: (url: URL) => void): string {
  const parts = new URL(url)
  change(parts)
  return parts.href
}

/** What opening is answered with; it never shows the password. */
async function refused(url: string, more: { key?: string } = {}) {
  const error = await openAt(url, more).then(
    (store) => store.close().then(() => null),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(Error)
  const { password } = new URL(plainUrl())
  const all = `${error.message} ${error.stack} ${JSON.stringify(error.details)}`
  expect(all).not.toContain(decodeURIComponent(password))
  expect(all).not.toContain('s3cret')
  return error
}

/** A process of the server that does nothing until it is let go on. */
async function stoppedSession(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  process.kill(rows[0].pid, 'SIGSTOP')
  return rows[0].pid
}

async function server(settings: Record<string, string>): Promise<PostgresServer> {
  const started = await startPostgres({ settings })
  onTestFinished(() => started.stop())
  return started
}

describePostgres('opening a Postgres store', () => {
  test.each([
    ['postgres://u:s3cret@h:port/db', /not a URL/],
    ['postgres://u:a@s3cret/x@h/db', /%40/],
    ['postgres://u:12#s3cret@h/db', /%23/],
    ['postgres://u:s3cret@h/db?schema=Bad-Name', /schema "Bad-Name"/],
    ['postgres://u:s3cret@h/db?schema=pg_mine', /schema "pg_mine"/],
    ['postgres://u:s3cret@h/db?pool=0', /pool "0"/],
    ['postgres://u:s3cret@h/db?pool=many', /pool "many"/],
  ])('L2 %s is refused, and its password not shown', async (url, says) => {
    const error = await refused(url)
    expect(error).toMatchObject({ code: 'STORE_URL_INVALID' })
    expect(error.message).toMatch(says)
  })

  test('L2 a slip in the scheme does not show the password', async () => {
    const error = await open({ store: 'postgre://ana:s3cret@h/db' }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'STORE_URL_INVALID' })
    expect(error.message).toContain('postgre://ana:…@h/db')
  })

  test('L2 what is shown of a URL has its schema and no password', () => {
    const { url, schema, poolMax, connectionString } = locate(
      'postgresql://u:s3cret@h:6432/db?schema=mine&pool=3&password=s3cret&sslmode=require',
    )
    expect(url).toBe('postgresql://u@h:6432/db?sslmode=require&schema=mine')
    expect({ schema, poolMax }).toEqual({ schema: 'mine', poolMax: 3 })
    expect(connectionString).not.toMatch(/schema|pool/)
  })

  test('L2 a wrong password, a missing database, a server that is not there', async () => {
    const url = newUrl()
    const wrong = await refused(changed(url, (parts) => (parts.password = 's3cret')))
    expect(wrong).toMatchObject({ code: 'STORE_DENIED', retryable: false })
    const missing = await refused(changed(url, (parts) => (parts.pathname = '/not_there')))
    expect(missing).toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(missing.message).toMatch(/"not_there".*createdb/)
    const silent = await refused(changed(url, (parts) => (parts.port = '1')))
    expect(silent).toMatchObject({ code: 'STORE_UNREACHABLE', retryable: true })
  })

  test('B8 no key, a bad key, a wrong key, a key too few: refused, nothing changed', async () => {
    const url = newUrl()
    const keyless = await openConnection({ url, clock: systemClock }).catch((error) => error)
    expect(keyless).toMatchObject({ code: 'STORE_KEY_MISSING' })
    expect((await postgresStatus({ url, clock: systemClock })).applied).toEqual([])
    expect(await refused(url, { key: 'abc' })).toMatchObject({ code: 'STORE_KEY_WRONG' })
    await (await openAt(url)).close()
    const other = 'b'.repeat(64)
    expect(await refused(url, { key: other })).toMatchObject({ code: 'STORE_KEY_WRONG' })
    await (await openAt(url, { key: `${key},${other}` })).close()
    expect(await refused(url)).toMatchObject({ code: 'STORE_KEY_MISSING' })
    const checks = await sql(url, "select name from meta where name like 'key_check:%'")
    expect(checks).toHaveLength(2)
    expect(JSON.stringify(checks)).not.toContain(key)
  })

  test('I8 a server that does not keep what it acknowledges is refused', async () => {
    const { url } = await server({ fsync: 'off' })
    const error = await refused(url)
    expect(error).toMatchObject({ code: 'STORE_NOT_DURABLE' })
    expect(error.message).toContain('fsync = off')
    const status = await postgresStatus({ url, clock: systemClock })
    expect(status).toMatchObject({ applied: [], server: { fsync: 'off' } })
    await expect(migratePostgres({ url, clock: systemClock })).rejects.toMatchObject({
      code: 'STORE_NOT_DURABLE',
    })
  })

  test('I8 a standby is refused: what it is told would be lost', async () => {
    const standby = await server({})
    const { uid, gid } = statSync(join(standby.folder, 'data'))
    const former = await stoppedSession(standby.url)
    await standby.kill()
    const signal = join(standby.folder, 'data', 'standby.signal')
    writeFileSync(signal, '')
    chownSync(signal, uid, gid)
    // What the killed server had started may outlive it for a moment, and holds its memory.
    const starting = standby.start()
    const log = () => readFileSync(join(standby.folder, 'log'), 'utf8')
    await expect.poll(log).toContain('pre-existing shared memory block')
    process.kill(former, 'SIGCONT')
    await starting
    const error = await refused(standby.url)
    expect(error).toMatchObject({ code: 'STORE_UNREACHABLE', retryable: true })
    expect(error.message).toContain('standby')
  })

  test('I8 synchronous_commit = off is raised for what must stay; half pages: told', async () => {
    const { url } = await server({ synchronous_commit: 'off', full_page_writes: 'off' })
    const warnings: string[] = []
    const trip = tripOf([])
    const onWarning = (text: string) => warnings.push(text)
    const cf = await open({ store: url, key, graphs: trip.graphs, onWarning })
    expect(warnings.join()).toContain('full_page_writes = off')
    const { c } = await openConnection({ url, clock: systemClock, key })
    const [set] = await c.transaction(async (query) => {
      await query('select counterfoil.keep_durable()')
      return query("select current_setting('synchronous_commit') as value")
    })
    expect(set).toEqual({ value: 'on' })
    const [after] = await c.query("select current_setting('synchronous_commit') as value")
    expect(after).toEqual({ value: 'off' })
    await c.close()
    await cf.close()
  })

  test('L2 another encoding is refused', async () => {
    const name = `latin_${randomHex(4)}`
    const url = newUrl()
    await sql(url, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    try {
      const error = await refused(changed(url, (parts) => (parts.pathname = `/${name}`)))
      expect(error).toMatchObject({ code: 'STORE_UNFIT' })
      expect(error.message).toContain('LATIN1')
    } finally {
      await sql(url, `drop database ${name} with (force)`)
    }
  })

  test('L2 tables of a newer version, or of a changed one, are left alone', async () => {
    const url = newUrl()
    await (await openAt(url)).close()
    await sql(url, "insert into schema_migrations values (900, '900_later.sql', 'x', now())")
    expect(await refused(url)).toMatchObject({ code: 'STORE_NEWER' })
    await sql(url, 'delete from schema_migrations where id = 900')
    await sql(url, "update schema_migrations set checksum = 'x' where id = 1")
    const error = await refused(url)
    expect(error).toMatchObject({ code: 'STORE_MIGRATION_CHANGED' })
    expect(error.message).toContain('001_start.sql')
  })

  test('L2 an older schema is brought up to date while workers go on', async () => {
    const url = newUrl()
    const sent: string[] = []
    const trip = tripOf(sent)
    const cf = await open({ store: url, key, graphs: trip.graphs, onWarning: () => {} })
    await cf.worker().start()
    const names = Array.from({ length: 10 }, (_, i) => `trip-${i}`)
    const working = takeTrips(cf, trip, names)
    await sql(url, 'drop view run_list, states, calls, inbox, history')
    await sql(url, "update meta set value = '0:before' where name = 'rules'")
    const ends = await Promise.all(
      [1, 2, 3].map(() => migratePostgres({ url, clock: systemClock })),
    )
    expect(ends.flatMap(({ added }) => added)).toEqual(['functions'])
    await working
    await cf.close()
    expect(sent.sort()).toEqual(sendsOf(names))
    expect(await sql(url, 'select 1 from run_list')).toHaveLength(20)
  })

  test('L2 a migration waits for another, however long, and gives way to users', async () => {
    const url = newUrl()
    await migratePostgres({ url, clock: systemClock })
    await sql(url, 'drop view run_list, states, calls, inbox, history')
    await sql(url, "update meta set value = '0:before' where name = 'rules'")
    const client = new pg.Client({ connectionString: plainUrl() })
    await client.connect()
    const held = 6_000 // longer than a session waits for any other lock
    await client.query('begin')
    await client.query(`lock table ${schemaOf(url)}.runs in access exclusive mode`)
    const began = performance.now()
    const both = [1, 2].map(() => migratePostgres({ url, clock: systemClock }))
    setTimeout(() => void client.query('commit'), held)
    const ends = await Promise.all(both)
    expect(performance.now() - began).toBeGreaterThan(held - 100)
    expect(ends.map(({ added }) => added.length).sort()).toEqual([0, 1])
    await client.end()
  })

  test('L2 many processes open an empty database at once', async () => {
    const url = newUrl()
    const opener = fileURLToPath(new URL('../../postgres/opener.mjs', import.meta.url))
    const count = 8
    const ends = await Promise.all(
      Array.from({ length: count }, () => run(process.execPath, [opener, url, key])),
    )
    expect(ends.map(({ stdout }) => stdout)).toEqual(Array(count).fill('opened\n'))
    const rows = await sql(url, 'select name from schema_migrations order by id')
    expect(rows.map(({ name }) => name)).toEqual(knownMigrations().map(({ name }) => name))
    expect(await sql(url, "select 1 from meta where name = 'store_id'")).toHaveLength(1)
  })

  test('I8 sessions are as intended: name, time limits, keep-alive', async () => {
    const { c } = await openConnection({ url: newUrl(), clock: systemClock, key })
    const [row] = await c.query(
      ['application_name', 'statement_timeout', 'lock_timeout', 'tcp_user_timeout']
        .concat('idle_in_transaction_session_timeout', 'tcp_keepalives_idle')
        .map((name) => `current_setting('${name}') as ${name}`)
        .join(', ')
        .replace(/^/, 'select '),
    )
    await c.close()
    expect(row).toEqual({
      application_name: 'counterfoil',
      statement_timeout: '1min',
      lock_timeout: '5s',
      tcp_user_timeout: '15000',
      idle_in_transaction_session_timeout: '10s',
      tcp_keepalives_idle: '10',
    })
    const named = locate('postgres://u@h/db?application_name=mine')
    const config = clientConfig({ connectionString: named.connectionString, asks: true })
    expect(new pg.Client(config)).toMatchObject({
      connectionParameters: { application_name: 'mine' },
    })
  })

  test('I12 tables copied into another database are not worked on until adopted', async () => {
    const url = newUrl()
    const sent: string[] = []
    const trip = tripOf(sent)
    const first = await open({ store: url, key, graphs: trip.graphs, onWarning: () => {} })
    await first.start(trip.trip, { of: 'acme' }, { runId: 'acme' })
    await first.close()
    const name = `copy_${randomHex(4)}`
    const other = changed(url, (parts) => (parts.pathname = `/${name}`))
    await sql(url, `create database ${name} template template0`)
    try {
      await copyRows(url, other)
      const cf = await open({ store: other, key, graphs: trip.graphs, onWarning: () => {} })
      expect(await cf.store.moved()).toMatch(/restored, copied or failed over/)
      const worker = { workerId: 'w', pid: 1, host: 'h', bootId: 'b', startedAt: 1 }
      await cf.store.register({ ...worker, socketPath: null, socketInode: null }, 60_000)
      const graphs = [{ name: 'trip', version: '1.0.0' }]
      const request = { workerId: 'w', graphs, countMax: 1 }
      await expect(cf.store.claim(request)).rejects.toMatchObject({ code: 'STORE_MOVED' })
      await cf.store.adopt('ana', 'restored into a database of its own')
      expect(await cf.store.moved()).toBeNull()
      expect(await cf.store.claim(request)).toMatchObject([{ runId: 'acme' }])
      await cf.close()
      expect(sent).toEqual([])
    } finally {
      await sql(url, `drop database ${name} with (force)`)
    }
  })

  test('L2 TLS: a certificate is verified against the root that is named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'counterfoil-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    chmodSync(folder, 0o755)
    const [keyFile, certFile] = [join(folder, 'server.key'), join(folder, 'server.crt')]
    const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const how = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...name]
    await run('openssl', [...how, '-keyout', keyFile, '-out', certFile])
    const settings = { ssl: 'on', ssl_key_file: keyFile, ssl_cert_file: certFile }
    const { uid, gid } = serverUser()
    if (uid !== undefined) chownSync(keyFile, uid, gid ?? 0)
    chmodSync(keyFile, 0o600)
    const { url } = await server(settings)
    const query = `?sslmode=verify-full&sslrootcert=${encodeURIComponent(certFile)}`
    const store = await openAt(url + query)
    expect(store.url).not.toContain('counterfoil-test')
    await store.close()
    const { c } = await openConnection({ url: url + query, clock: systemClock, key })
    const ssl = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
    expect(await c.query(ssl)).toEqual([{ ssl: true }])
    await c.close()
    const strange = await refused(`${url}?sslmode=verify-full`)
    expect(strange).toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(strange.message).toMatch(/self-signed/)
  })
})

/** As a dump and its restore would: tables made anew, all rows the same. */
async function copyRows(from: string, to: string): Promise<void> {
  await migratePostgres({ url: to, clock: systemClock })
  const client = new pg.Client({
    connectionString: changed(plainUrl(), (parts) => (parts.pathname = new URL(to).pathname)),
  })
  await client.connect()
  try {
    await client.query(`set search_path to ${schemaOf(to)}`)
    await client.query('delete from meta')
    for (const table of ['meta', 'graphs', 'runs', 'checkpoints', 'events']) {
      const rows = await sql(from, `select row_to_json(t)::text as row from ${table} t`)
      for (const { row } of rows) {
        await client.query(
          `insert into ${table} overriding system value
           select * from json_populate_record(null::${table}, $1)`,
          [row],
        )
      }
    }
    for (const table of ['runs', 'events']) {
      const sequence = `pg_get_serial_sequence('${schemaOf(to)}.${table}', 'id')`
      await client.query(`select setval(${sequence}, (select max(id) from ${table}))`)
    }
  } finally {
    await client.end()
  }
}
