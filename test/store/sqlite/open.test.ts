// What can be wrong with the file, its place or its key: a clear error, and nothing damaged.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bootId } from '../../../src/store/boot.ts'
import { openSqlite } from '../../../src/store/sqlite/index.ts'
import { knownMigrations } from '../../../src/store/sqlite/migrate.ts'
import { translate } from '../../../src/store/sqlite/opening/errors.ts'
import { createKeyFile } from '../../../src/store/sqlite/opening/key.ts'
import { checkFileSystem, type FileSystemLook } from '../../../src/store/sqlite/opening/location.ts'
import { assertDurable } from '../../../src/store/sqlite/opening/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { manualClock } from '../../../src/testing/index.ts'
import {
  commitOf,
  graphs,
  newRun,
  record,
  ref,
  settled,
} from '../../../src/testing/store/fixtures.ts'
import { contents, newFolder, newPath, raw, using } from '../bench.ts'

const open = (path: string, more: object = {}) =>
  openSqlite({ path, clock: manualClock(), ...more })

/** Opening is refused with this code, by the file's name; the folder stays as it is. */
async function refuses(path: string, code: string, more: { says?: RegExp; key?: string } = {}) {
  const folder = dirname(path)
  const before = existsSync(folder) ? contents(folder) : null
  const error = await open(path, more.key === undefined ? {} : { key: more.key }).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code, message: expect.stringContaining(path) })
  if (more.says) expect((error as Error).message).toMatch(more.says)
  expect(existsSync(folder) ? contents(folder) : null).toEqual(before)
}

async function made(): Promise<string> {
  const path = newPath()
  await using(path, async (store) => void (await store.start(newRun())))
  return path
}

describe('the file', () => {
  test('is made where there is none, and opened where there is one', async () => {
    const path = await made()
    await using(path, async (store) => {
      expect(store.url).toBe(`sqlite:${path}`)
      expect(await store.getRun(ref())).toMatchObject({ state: 'pending' })
    })
    expect(Object.keys(contents(dirname(path))).sort()).toEqual([
      ...['runs.db', 'runs.db.key', 'runs.db.witness'],
    ])
  })

  for (const [name, text] of [
    ['a text', 'hello'],
    ['a long text', 'hello '.repeat(10_000)],
  ] as const) {
    test(`${name} is not a database`, async () => {
      const path = newPath()
      writeFileSync(path, text)
      await refuses(path, 'STORE_NOT_A_DATABASE')
    })
  }

  test('B8 a header whose format no SQLite has is damage: its error had no code', async () => {
    const path = await made()
    const bytes = readFileSync(path)
    // The schema's format number, 1 to 4.
    bytes.writeUInt32BE(0xa7a7a7a7, 44)
    writeFileSync(path, bytes)
    await refuses(path, 'STORE_CORRUPT', { says: /unsupported file format/ })
  })

  test('a database of another program is left alone', async () => {
    const path = newPath()
    raw(path, (db) => db.exec('create table theirs (a); insert into theirs values (1)'))
    await refuses(path, 'STORE_NOT_A_DATABASE', { says: /another program/ })
  })

  test('a directory is not a file', async () => {
    const path = newPath()
    mkdirSync(path)
    await expect(open(path)).rejects.toMatchObject({ code: 'STORE_NOT_A_DATABASE' })
  })

  test('its directory must exist', async () => {
    const path = join(newFolder(), 'no', 'where', 'runs.db')
    await refuses(path, 'STORE_PATH_MISSING', { says: /mkdir -p/ })
  })

  test('a link that leads nowhere is refused, one that leads to a store is followed', async () => {
    const path = await made()
    const link = join(newFolder(), 'link.db')
    symlinkSync(path, link)
    await using(link, async (store) => expect(store.url).toBe(`sqlite:${path}`))
    const nowhere = join(dirname(link), 'nowhere.db')
    symlinkSync(join(dirname(link), 'missing.db'), nowhere)
    await expect(open(nowhere)).rejects.toMatchObject({ code: 'STORE_PATH_MISSING' })
  })

  test('memory is not durable', async () => {
    for (const path of [':memory:', '']) {
      const says = expect.stringContaining('memory:')
      await expect(open(path)).rejects.toMatchObject({ code: 'STORE_NOT_DURABLE', message: says })
    }
  })

  test('a closed store says so', async () => {
    const store = await open(newPath())
    await store.close()
    await store.close()
    const closed = { code: 'STORE_CLOSED' }
    await expect(store.getRun(ref())).rejects.toMatchObject(closed)
    await expect(store.load(ref())).rejects.toMatchObject(closed)
    await expect(store.commit([])).rejects.toMatchObject(closed)
    await expect(store.start(newRun())).rejects.toMatchObject(closed)
    await expect(store.renew('w', 1)).rejects.toMatchObject(closed)
  })
})

describe('the schema', () => {
  const schema = (path: string, sql: string) => raw(path, (db) => void db.exec(sql))

  test('of a newer Counterfoil is refused', async () => {
    const path = await made()
    schema(path, "insert into schema_migrations values (999, '999_later.sql', 'x', 1)")
    await refuses(path, 'STORE_NEWER', { says: /upgrade/ })
  })

  test('whose migration reads differently is refused', async () => {
    const path = await made()
    schema(path, "update schema_migrations set checksum = 'other' where id = 1")
    await refuses(path, 'STORE_MIGRATION_CHANGED', { says: /001_start\.sql/ })
  })

  test('migrations are numbered from 1 without a gap, and say what they are for', () => {
    const known = knownMigrations()
    expect(known.map((migration) => migration.id)).toEqual(known.map((_, i) => i + 1))
    for (const { sql } of known) expect(sql).toMatch(/^-- /)
  })

  test('B1 the ledger has the key and the index it must have', async () => {
    const path = await made()
    const columns = (table: string) =>
      raw(path, (db) => db.prepare(`select name from pragma_index_info('${table}')`).pluck().all())
    expect(columns('sqlite_autoindex_tool_call_results_1')).toEqual([
      ...['namespace', 'workflow_id', 'node_id', 'checkpoint_id', 'tool_name', 'input_hash'],
      'occurrence',
    ])
    expect(columns('tool_call_results_by_time')).toEqual(['workflow_id', 'created_at'])
  })
})

describe('durability (I8)', () => {
  test('WAL and FULL are what the connection has', async () => {
    const path = await made()
    const mode = raw(path, (db) => db.pragma('journal_mode', { simple: true }))
    expect(mode).toBe('wal')
  })

  const answers = (given: Record<string, unknown>) => (text: string) =>
    text.includes('=') ? undefined : given[text]
  const good = { journal_mode: 'wal', synchronous: 2, fullfsync: 1, checkpoint_fullfsync: 1 }

  test('is read back, and refused if it is not as set', () => {
    expect(() => assertDurable(answers(good), '/x', 'linux')).not.toThrow()
    expect(() => assertDurable(answers(good), '/x', 'darwin')).not.toThrow()
    const weak: [object, NodeJS.Platform][] = [
      [{ journal_mode: 'delete' }, 'linux'],
      [{ synchronous: 1 }, 'linux'],
      [{ fullfsync: 0 }, 'darwin'],
      [{ checkpoint_fullfsync: 0 }, 'darwin'],
    ]
    for (const [less, platform] of weak) {
      const assertion = () => assertDurable(answers({ ...good, ...less }), '/x', platform)
      expect(assertion).toThrow(expect.objectContaining({ code: 'STORE_NOT_DURABLE' }))
    }
  })

  const look = (type: number, platform: NodeJS.Platform = 'linux'): FileSystemLook => ({
    platform,
    typeOf: () => type,
  })

  test('network file systems are refused by name', () => {
    const types = { NFS: 0x6969, CIFS: 0xff534d42, SMB2: 0xfe534d42, '9p': 0x01021997 }
    for (const [name, type] of Object.entries({ ...types, FUSE: 0x65735546 })) {
      const refusal = { code: 'STORE_NETWORK_FS', message: expect.stringContaining(name) }
      const check = () => checkFileSystem('/mnt/x/runs.db', look(type))
      expect(check).toThrow(expect.objectContaining(refusal))
      expect(check).toThrow(/local disk.*allowNetworkFs/)
    }
    // Some systems give the number with a sign.
    expect(() => checkFileSystem('/x', look(0xff534d42 | 0))).toThrow(/CIFS/)
    expect(() => checkFileSystem('\\\\server\\share\\runs.db', look(0, 'win32'))).toThrow(/share/)
  })

  test('local ones are not', () => {
    const local = { ext4: 0xef53, xfs: 0x58465342, btrfs: 0x9123683e, tmpfs: 0x01021994 }
    for (const type of [...Object.values(local), 0x794c7630, 0x2fc12fc1]) {
      expect(() => checkFileSystem('/x/runs.db', look(type))).not.toThrow()
    }
    expect(() => checkFileSystem('\\\\?\\C:\\runs.db', look(0, 'win32'))).not.toThrow()
  })

  test('errors of the disk are told apart, and can be tried again', () => {
    const told = (code: string) =>
      translate(Object.assign(new Error('raw'), { code }), '/x/runs.db') as { code: string }
    expect(told('SQLITE_FULL')).toMatchObject({ code: 'STORE_FULL', retryable: true })
    expect(told('SQLITE_IOERR_FSYNC')).toMatchObject({ code: 'STORE_IO', retryable: true })
    expect(told('SQLITE_BUSY_SNAPSHOT')).toMatchObject({ code: 'STORE_BUSY', retryable: true })
    expect(told('SQLITE_READONLY')).toMatchObject({ code: 'STORE_READ_ONLY', retryable: false })
    expect(told('SQLITE_CORRUPT')).toMatchObject({ code: 'STORE_CORRUPT', retryable: false })
    expect(told('ELSE')).toMatchObject({ code: 'ELSE', message: 'raw' })
  })
})

describe('the key', () => {
  const hex = (digit: string) => digit.repeat(64)

  test('that is missing', async () => {
    const path = await made()
    rmSync(`${path}.key`)
    await refuses(path, 'STORE_KEY_MISSING', { says: /k1/ })
  })

  test('that is another one', async () => {
    const path = await made()
    writeFileSync(`${path}.key`, `k1 ${hex('a')}\n`, { mode: 0o600 })
    await refuses(path, 'STORE_KEY_WRONG')
  })

  test('that others can read', async () => {
    const path = await made()
    for (const mode of [0o640, 0o604, 0o660]) {
      chmodSync(`${path}.key`, mode)
      await refuses(path, 'STORE_KEY_EXPOSED', { says: /chmod 600/ })
    }
  })

  test('that cannot be understood', async () => {
    const path = await made()
    for (const text of ['', 'k1', `k1 ${hex('g')}\n`, `k:1 ${hex('a')}\n`]) {
      writeFileSync(`${path}.key`, text)
      await refuses(path, 'STORE_KEY_WRONG', { says: /key file/ })
    }
  })

  test('is made whole, and only once', () => {
    const path = newPath()
    const [first] = createKeyFile(path)
    const [second] = createKeyFile(path)
    expect(second).toEqual(first)
    expect(Object.keys(contents(dirname(path)))).toEqual(['runs.db.key'])
  })

  test('may be given instead of the file, and must then be the right one', async () => {
    const path = newPath()
    const key = hex('b')
    await using(path, async (store) => void (await store.start(newRun())), { key })
    expect(existsSync(`${path}.key`)).toBe(false)
    await using(path, async (store) => expect(await store.getRun(ref())).not.toBe(null), { key })
    await refuses(path, 'STORE_KEY_WRONG', { key: hex('c') })
    await refuses(path, 'STORE_KEY_WRONG', { key: 'short' })
    await refuses(path, 'STORE_KEY_MISSING')
  })

  test('given from outside may be the one that lies in the file', async () => {
    const path = await made()
    const key = readFileSync(`${path}.key`, 'utf8').trim().split(' ')[1] ?? ''
    rmSync(`${path}.key`)
    await using(path, async (store) => expect(await store.getRun(ref())).not.toBe(null), { key })
  })

  test('can be followed by a new one: old rows verify, both are needed from then on', async () => {
    const path = newPath()
    await using(path, async (store) => settle(store, 1))
    const old = readFileSync(`${path}.key`, 'utf8')
    writeFileSync(`${path}.key`, `${old}k2 ${hex('d')}\n`)
    await using(path, async (store) => {
      await settle(store, 2)
      const { items } = await store.listRecords(ref(), {})
      expect(items.map((row) => row.verifies)).toEqual([true, true])
    })
    const macs = raw(path, (db) => db.prepare('select mac from tool_call_results').pluck().all())
    expect((macs as string[]).map((mac) => mac.slice(0, 3))).toEqual(['k1:', 'k2:'])
    writeFileSync(`${path}.key`, old)
    await refuses(path, 'STORE_KEY_MISSING', { says: /k2/ })
  })
})

async function settle(store: Store, nth: number): Promise<void> {
  const workerId = `w_${nth}`
  const other = { pid: 1, host: 'here', startedAt: 1, socketPath: null, socketInode: null }
  await store.register({ workerId, bootId: bootId(), ...other }, 1_000)
  await store.start(newRun())
  const [run] = await store.claim({ workerId, graphs, countMax: 1 })
  if (run === undefined) throw new Error('nothing claimed')
  await store.commit([commitOf(run, `c${nth}`, { records: [settled(record(nth))] })])
  const pending = { run: { state: 'pending', release: true } } as const
  await store.commit([commitOf(run, `d${nth}`, pending)])
}

describe('the incarnation (I12)', () => {
  const claim = (store: Store) => store.claim({ workerId: 'w_1', graphs, countMax: 1 })

  async function expectMoved(path: string): Promise<void> {
    await using(path, async (store) => {
      expect(await store.moved()).toContain('counterfoil store adopt')
      const moved = { code: 'STORE_MOVED', message: expect.stringContaining(path) }
      await expect(claim(store)).rejects.toMatchObject(moved)
      expect(await store.getRun(ref())).toMatchObject({ state: 'pending', fence: 1 })
      await store.adopt('ana', 'restored the backup of Monday')
      expect(await store.moved()).toBe(null)
      expect(await claim(store)).toMatchObject([{ runId: 'r1', fence: 2 }])
    })
    const [row] = raw(path, (db) => db.prepare('select * from adoptions').all())
    expect(row).toMatchObject({ adopted_by: 'ana', reason: 'restored the backup of Monday' })
  }

  async function idle(): Promise<string> {
    const path = newPath()
    await using(path, (store) => settle(store, 1))
    return path
  }

  test('a copy under another name is adopted first', async () => {
    const path = await idle()
    const copy = newPath()
    copyFileSync(path, copy)
    copyFileSync(`${path}.key`, `${copy}.key`)
    chmodSync(`${copy}.key`, 0o600)
    await expectMoved(copy)
  })

  test('so is a backup that takes the place of the file, even with its inode', async () => {
    const path = await idle()
    const backup = join(newFolder(), 'backup.db')
    copyFileSync(path, backup)
    rmSync(path)
    copyFileSync(backup, path)
    await expectMoved(path)
  })

  test('a file that was only renamed is the same', async () => {
    const path = await idle()
    const other = newPath()
    renameSync(path, other)
    for (const end of ['.key', '.witness']) renameSync(path + end, other + end)
    await using(other, async (store) => {
      expect(await store.moved()).toBe(null)
      expect(await claim(store)).toMatchObject([{ fence: 2 }])
    })
  })

  test('it is noticed when the file is exchanged under an open store', async () => {
    const path = await idle()
    await using(path, async (store) => {
      expect(await store.moved()).toBe(null)
      renameSync(path, `${path}.away`)
      expect(await store.moved()).not.toBe(null)
      await expect(claim(store)).rejects.toMatchObject({ code: 'STORE_MOVED' })
      renameSync(`${path}.away`, path)
      expect(await store.moved()).toBe(null)
    })
  })
})
