import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BlobStore } from '../../src/blob/blob.ts'
import { openFiles } from '../../src/blob/files.ts'
import { sha256 } from '../../src/model/json/canonical.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { all, filesIn, large, newFolder, refuse, spied } from './bench.ts'

let folder = ''
let dir = ''
let clock: ManualClock
let blobs: BlobStore
beforeEach(async () => {
  folder = await newFolder()
  dir = join(folder, 'blobs')
  clock = manualClock()
  blobs = openFiles({ dir, clock })
})

const pathOf = (digest: string) => join(dir, digest.slice(0, 2), digest)

const files = () => filesIn(dir)

describe('put and get', () => {
  test.each([
    ['an empty text', ''],
    ['ascii', large('a')],
    ['several bytes a character', 'ä€😀'.repeat(1_000)],
    ['a byte order mark and ends of lines', '\ufeff"a"\r\n\u2028'],
  ])(
    'B7 the digest is the SHA-256 of the UTF-8 bytes, and gives the text back: %s',
    async (_, text) => {
      const digest = await blobs.put(text)
      expect(digest).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
      expect(await blobs.get(digest)).toBe(text)
      expect(await blobs.has(digest)).toBe(true)
    },
  )

  test('B7 half of a surrogate pair is kept as every store keeps it', async () => {
    const digest = await blobs.put('a\ud800b')
    expect(digest).toBe(sha256('a\ud800b'))
    expect(await blobs.get(digest)).toBe('a\ufffdb')
  })

  test('L4 nothing is made before a put; then files only their owner can read', async () => {
    await expect(blobs.get(sha256('a'))).rejects.toMatchObject({ code: 'BLOB_MISSING' })
    expect(await blobs.has(sha256('a'))).toBe(false)
    expect(await all(blobs.list())).toEqual([])
    expect(await all(blobs.leftovers())).toEqual([])
    expect(await readdir(folder)).toEqual([])

    const digest = await blobs.put('a')
    const path = pathOf(digest)
    expect(await files()).toEqual([digest])
    expect((await lstat(path)).mode & 0o777).toBe(0o600)
    expect((await lstat(dirname(path))).mode & 0o777).toBe(0o700)
    expect((await lstat(dir)).mode & 0o777).toBe(0o700)
  })

  test('L4 the list has every blob with its time and size, and nothing else', async () => {
    const [first, second] = [await blobs.put('first'), await blobs.put('second one')]
    const shard = dirname(pathOf(first))
    await writeFile(join(shard, `${first}.draft.00`), 'half')
    await writeFile(join(shard, 'README'), 'not ours')
    await writeFile(join(dir, 'README'), 'not ours')
    const stray = sha256('a').slice(0, 2) === first.slice(0, 2) ? 'b' : 'a'
    await writeFile(join(shard, sha256(stray)), 'in the wrong place')
    const changedAt = clock.now()
    const expected = [
      { digest: first, changedAt, bytes: 5 },
      { digest: second, changedAt, bytes: 10 },
    ].sort((a, b) => (a.digest < b.digest ? -1 : 1))
    expect(await all(blobs.list())).toEqual(expected)
    expect(await all(blobs.leftovers())).toMatchObject([{ digest: first, kind: 'draft', bytes: 4 }])
  })
})

describe('durability', () => {
  test('B7 file, name, and every new directory are synced before a put resolves', async () => {
    dir = join(folder, 'new', 'blobs')
    const log: string[] = []
    await openFiles({ dir, clock, disk: spied(folder, log) }).put('a')
    const kept = log.filter((what) => /^(mkdir|writeFile|sync|rename)/.test(what))
    expect(kept).toEqual([
      'mkdir new/blobs/xx',
      ...['sync new/blobs', 'sync new', 'sync .'],
      ...['writeFile digest.draft', 'sync digest.draft', 'rename digest.draft digest'],
      'sync new/blobs/xx',
    ])
  })

  test('B7 names that another process made a moment ago are synced as well', async () => {
    await blobs.put('a')
    const log: string[] = []
    await openFiles({ dir, clock, disk: spied(folder, log) }).put('a')
    expect(log.filter((what) => /^(writeFile|sync|rename)/.test(what))).toEqual([
      ...['sync blobs', 'sync .'],
      'sync blobs/xx',
    ])
  })

  test('B7 a parent that cannot be opened counts only if its new name is ours', async () => {
    const disk = spied(folder, [], (what) => {
      if (what === 'open .') refuse('EACCES')
    })
    const ours = openFiles({ dir, clock, disk }).put('a')
    await expect(ours).rejects.toMatchObject({ code: 'STORE_IO' })
    await rm(dir, { recursive: true })
    await blobs.put('a')
    const digest = await openFiles({ dir, clock, disk }).put('a')
    expect(await blobs.get(digest)).toBe('a')
  })

  test('B7 what is there already is refreshed and not written again', async () => {
    const text = large('a')
    const log: string[] = []
    const spy = openFiles({ dir, clock, disk: spied(folder, log) })
    const digest = await spy.put(text)
    const before = await lstat(pathOf(digest))
    clock.advance(5_000)
    log.length = 0
    expect(await spy.put(text)).toBe(digest)
    const after = await lstat(pathOf(digest))
    expect(after.ino).toBe(before.ino)
    expect(after.mtimeMs).toBe(before.mtimeMs + 5_000)
    expect(log.filter((what) => /^(mkdir|writeFile|sync|rename)/.test(what))).toEqual([
      'sync blobs/xx',
    ])
  })

  test('B7 the same text put at once by one process is one write', async () => {
    const log: string[] = []
    const spy = openFiles({ dir, clock, disk: spied(folder, log) })
    const digests = await Promise.all(Array.from({ length: 10 }, () => spy.put(large('a'))))
    expect(new Set(digests).size).toBe(1)
    expect(log.filter((what) => what.startsWith('rename'))).toHaveLength(1)
  })

  test.each([
    ['cut short', (path: string) => truncate(path, 10)],
    ['of the same size with other bytes', (path: string) => writeFile(path, large('b'))],
  ])('B7 a put does not trust a file that is %s', async (_, damage) => {
    const digest = await blobs.put(large('a'))
    await damage(pathOf(digest))
    await blobs.put(large('a'))
    expect(await blobs.get(digest)).toBe(large('a'))
  })

  test('B7 a draft that a collector took for a dead one is written again', async () => {
    let left = 2
    const disk = spied(folder, [], async (what) => {
      if (!what.startsWith('rename') || left-- === 0) return
      const [draft] = (await files()).filter((name) => name.includes('.draft.'))
      await unlink(join(dir, draft?.slice(0, 2) ?? '', draft ?? ''))
    })
    const digest = await openFiles({ dir, clock, disk }).put('a')
    expect(left).toBe(-1)
    expect(await files()).toEqual([digest])
  })

  test('L4 a directory that was removed meanwhile is made again', async () => {
    const digest = await blobs.put('a')
    await rm(dir, { recursive: true })
    await blobs.put('a')
    expect(await blobs.get(digest)).toBe('a')
  })
})

describe('a disk that refuses', () => {
  test.each([
    ['ENOSPC', 'writeFile', 'STORE_FULL'],
    ['EDQUOT', 'sync digest.draft', 'STORE_FULL'],
    ['EIO', 'sync digest.draft', 'STORE_IO'],
    ['EIO', 'sync blobs/xx', 'STORE_IO'],
    ['EACCES', 'rename', 'STORE_IO'],
    ['ENOSPC', 'mkdir', 'STORE_FULL'],
  ])('B7 %s at %s is %s, to be tried again, and leaves no draft', async (errno, at, code) => {
    let broken = true
    const disk = spied(folder, [], (what) => {
      if (broken && what.startsWith(at)) refuse(errno)
    })
    const some = openFiles({ dir, clock, disk })
    const failed = some.put('a')
    await expect(failed).rejects.toMatchObject({ code, retryable: true, details: { path: dir } })
    await expect(failed).rejects.toThrow(dir)
    const left = await files().catch(() => [])
    expect(left.filter((name) => name.includes('draft'))).toEqual([])
    broken = false
    expect(await some.get(await some.put('a'))).toBe('a')
  })

  test('B7 a disk that fails to read is not a missing blob', async () => {
    const digest = await blobs.put('a')
    const disk = spied(folder, [], (what) => {
      if (what === 'open digest') refuse('EIO')
    })
    const failed = openFiles({ dir, clock, disk }).get(digest)
    await expect(failed).rejects.toMatchObject({ code: 'STORE_IO', retryable: true })
  })
})

describe('what is read is what was put, or nothing', () => {
  test.each([
    ['cut short', (path: string) => truncate(path, 99_999)],
    ['empty', (path: string) => truncate(path, 0)],
    ['changed in one byte', (path: string) => writeFile(path, large('b'))],
  ])('B7 a blob that is %s is damaged', async (_, damage) => {
    const digest = await blobs.put(large('a'))
    await damage(pathOf(digest))
    const failed = blobs.get(digest)
    await expect(failed).rejects.toMatchObject({ code: 'BLOB_DAMAGED', retryable: false })
    await expect(failed).rejects.toThrow(pathOf(digest))
  })

  test('B7 a blob that is not there is missing', async () => {
    const kept = await blobs.put('kept')
    const gone = `${kept.slice(0, 2)}${sha256('gone').slice(2)}`
    const failed = blobs.get(gone)
    await expect(failed).rejects.toMatchObject({ code: 'BLOB_MISSING', retryable: false })
    await expect(failed).rejects.toThrow(gone)
  })

  const name = sha256('a')
  test.each([
    ...[
      '',
      '.',
      '..',
      '../../etc/passwd',
      '/etc/passwd',
      name.toUpperCase(),
      `${name}\n`,
      `${name}0`,
    ],
    ...[name.slice(1), `${name.slice(0, 61)}/..`, `../${name.slice(3)}`, `${name.slice(0, 63)}\0`],
    ...[`${name}.draft.00`, null as unknown as string, [name] as unknown as string],
  ])('B7 %j is no digest, and the disk is not asked', async (digest) => {
    const log: string[] = []
    const spy = openFiles({ dir, clock, disk: spied(folder, log) })
    const leftover = { digest, kind: 'aside', name: 'x', changedAt: 0, bytes: 0 } as const
    for (const ask of [
      () => spy.get(digest),
      () => spy.has(digest),
      () => spy.setAside(digest),
      () => spy.restore(leftover),
      () => spy.drop(leftover, Infinity),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: 'BLOB_INVALID', retryable: false })
    }
    expect(log).toEqual([])
  })

  test('B7 a leftover is known by its own name only', async () => {
    const digest = await blobs.put('a')
    await writeFile(join(folder, 'precious'), 'b')
    for (const path of ['../../precious', `${digest}.aside.00/../../../precious`, digest]) {
      const leftover = { digest, kind: 'aside', name: path, changedAt: 0, bytes: 1 } as const
      for (const failed of [blobs.drop(leftover, Infinity), blobs.restore(leftover)]) {
        await expect(failed).rejects.toMatchObject({ code: 'BLOB_INVALID' })
      }
    }
    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('b')
    expect(await blobs.get(digest)).toBe('a')
  })
})

describe('links lead nowhere', () => {
  test('B7 a blob that is a link is not read, and a put replaces the link', async () => {
    const digest = await blobs.put('a')
    const outside = join(folder, 'outside')
    await rename(pathOf(digest), outside)
    await symlink(outside, pathOf(digest))
    await expect(blobs.get(digest)).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
    expect(await blobs.has(digest)).toBe(false)
    expect(await all(blobs.list())).toEqual([])
    const times = (await lstat(outside)).mtimeMs
    clock.advance(1_000)
    await blobs.put('a')
    expect(await blobs.get(digest)).toBe('a')
    expect((await lstat(pathOf(digest))).isFile()).toBe(true)
    expect((await lstat(outside)).mtimeMs).toBe(times)
  })

  test('B7 a directory that is a link is neither read nor written', async () => {
    const digest = await blobs.put('a')
    const outside = join(folder, 'outside')
    await rename(dirname(pathOf(digest)), outside)
    await symlink(outside, dirname(pathOf(digest)))
    await expect(blobs.get(digest)).rejects.toMatchObject({ code: 'BLOB_MISSING' })
    expect(await all(blobs.list())).toEqual([])
    await rm(join(outside, digest))
    const refused = openFiles({ dir, clock }).put('a')
    await expect(refused).rejects.toMatchObject({ code: 'STORE_IO', retryable: true })
    expect(await readdir(outside)).toEqual([])
  })

  test('B7 a pipe in the place of a blob holds nobody up', async () => {
    const digest = sha256('a')
    await mkdir(dirname(pathOf(digest)), { recursive: true })
    execFileSync('mkfifo', [pathOf(digest)])
    await expect(blobs.get(digest)).rejects.toMatchObject({ code: 'BLOB_DAMAGED' })
    await blobs.put('a')
    expect(await blobs.get(digest)).toBe('a')
  })
})
