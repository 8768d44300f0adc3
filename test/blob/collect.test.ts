import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BlobStore, Leftover } from '../../src/blob/blob.ts'
import { type CollectOptions, collectOrphans } from '../../src/blob/collect.ts'
import { openFiles } from '../../src/blob/files.ts'
import { sha256 } from '../../src/model/json/canonical.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { all, filesIn, newFolder, refuse, spied } from './bench.ts'

const hourMs = 3_600_000
const text = 'the result'
const digest = sha256(text)

let folder = ''
let dir = ''
let clock: ManualClock
let blobs: BlobStore
/** What rows refer to. */
let rows: Set<string>
beforeEach(async () => {
  folder = await newFolder()
  dir = join(folder, 'blobs')
  clock = manualClock()
  blobs = openFiles({ dir, clock })
  rows = new Set()
})

const files = () => filesIn(dir)
const pathOf = (name: string) => join(dir, name.slice(0, 2), name)
const inUse = async (digests: readonly string[]) => new Set(digests.filter((one) => rows.has(one)))
const collect = (more: Partial<CollectOptions> = {}) =>
  collectOrphans({ blobs, inUse, clock, ...more })

/** Does something else in the middle of a collection: when the store is asked for the n-th time. */
function asking(nth: number, meanwhile: () => Promise<unknown>): CollectOptions['inUse'] {
  let asked = 0
  return async (digests) => {
    if (++asked === nth) await meanwhile()
    return inUse(digests)
  }
}

/** Another process on the same directory, at a certain step of what it does to the disk. */
function other(step: string, meanwhile: () => Promise<unknown>): BlobStore {
  let done = false
  const disk = spied(folder, [], async (what) => {
    if (done || !what.startsWith(step)) return
    done = true
    await meanwhile()
  })
  return openFiles({ dir, clock, disk })
}

async function putAndCommit(by = blobs): Promise<void> {
  rows.add(await by.put(text))
}

/** An orphan that is old enough to go. */
async function oldOrphan(): Promise<void> {
  await blobs.put(text)
  clock.advance(2 * hourMs)
}

describe('what goes', () => {
  test('B7 old blobs that no row refers to, and nothing else', async () => {
    const orphan = await blobs.put('orphan')
    const used = await blobs.put('used')
    rows.add(used)
    clock.advance(hourMs - 1)
    const young = await blobs.put('young')
    expect(await collect()).toEqual({ removed: 0, kept: 3, bytes: 0 })
    clock.advance(1)
    expect(await collect()).toEqual({ removed: 1, kept: 2, bytes: 6 })
    expect((await files()).sort()).toEqual([used, young].sort())
    expect(await blobs.has(orphan)).toBe(false)
    expect(await collect({ minAgeMs: 0 })).toEqual({ removed: 1, kept: 1, bytes: 5 })
    expect(await blobs.get(used)).toBe('used')
  })

  test('B7 without old blobs nobody is asked, and nothing is touched', async () => {
    const never = async () => {
      throw new Error('asked')
    }
    expect(await collect({ inUse: never })).toEqual({ removed: 0, kept: 0, bytes: 0 })
    await blobs.put(text)
    expect(await collect({ inUse: never })).toEqual({ removed: 0, kept: 1, bytes: 0 })
  })

  test('B7 hundreds of blobs are asked about in a few questions', async () => {
    const texts = Array.from({ length: 250 }, (_, i) => `blob ${i}`)
    for (const one of texts) await blobs.put(one)
    for (const one of texts.slice(0, 50)) rows.add(sha256(one))
    clock.advance(2 * hourMs)
    const sizes: number[] = []
    const counting = async (digests: readonly string[]) => {
      sizes.push(digests.length)
      return inUse(digests)
    }
    expect(await collect({ inUse: counting })).toMatchObject({ removed: 200, kept: 50 })
    expect((await files()).sort()).toEqual([...rows].sort())
    expect(sizes.length).toBeLessThanOrEqual(6)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
  })

  test('B7 drafts of dead puts go when they are old', async () => {
    await putAndCommit()
    const young = `${digest}.draft.01`
    const old = `${digest}.draft.02`
    for (const name of [young, old]) await writeFile(pathOf(name), 'half')
    const at = (ms: number) => new Date(clock.now() - ms)
    await utimes(pathOf(young), at(hourMs - 1), at(hourMs - 1))
    await utimes(pathOf(old), at(hourMs), at(hourMs))
    expect(await collect()).toEqual({ removed: 0, kept: 1, bytes: 4 })
    expect((await files()).sort()).toEqual([digest, young])
  })
})

describe('a put and a commit in the middle', () => {
  test('B7 between the two questions: the put writes anew', async () => {
    await oldOrphan()
    const meanwhile = asking(2, async () => {
      expect(await blobs.has(digest)).toBe(false)
      await putAndCommit(openFiles({ dir, clock }))
    })
    expect(await collect({ inUse: meanwhile })).toMatchObject({ removed: 0, kept: 1 })
    expect(await blobs.get(digest)).toBe(text)
    expect(await files()).toEqual([digest])
  })

  test('B7 a put whose commit comes after everything: its own file stays', async () => {
    await oldOrphan()
    const meanwhile = asking(2, () => openFiles({ dir, clock }).put(text))
    expect(await collect({ inUse: meanwhile })).toMatchObject({ removed: 1 })
    rows.add(digest)
    expect(await blobs.get(digest)).toBe(text)
    expect(await files()).toEqual([digest])
  })

  test('B7 before the blob is set aside: the new time brings it back', async () => {
    await oldOrphan()
    const collector = other('rename digest digest.aside', () => openFiles({ dir, clock }).put(text))
    expect(await collect({ blobs: collector })).toEqual({ removed: 0, kept: 1, bytes: 0 })
    rows.add(digest)
    expect(await blobs.get(digest)).toBe(text)
    expect(await files()).toEqual([digest])
  })

  test.each(['lutimes digest', 'lstat digest', 'open digest', 'sync blobs/xx'])(
    'B7 a whole collection within a put, at its %s',
    async (step) => {
      await oldOrphan()
      let sum: object | null = null
      const putter = other(step, async () => {
        sum = await collect()
      })
      await putAndCommit(putter)
      expect(sum).not.toBe(null)
      expect(await blobs.get(digest)).toBe(text)
      expect(await files()).toEqual([digest])
    },
  )

  test('B7 a put that refreshed what was just being removed writes anew', async () => {
    await oldOrphan()
    const disk = spied(folder, [])
    // The system found the file by its path, and it was gone when the time was written.
    const lutimes = async () => void (await collect())
    const putter = openFiles({ dir, clock, disk: { ...disk, lutimes } })
    await putAndCommit(putter)
    expect(await blobs.get(digest)).toBe(text)
  })
})

describe('a get in the middle', () => {
  test('B7 reads what is set aside', async () => {
    await oldOrphan()
    const seen: string[] = []
    const meanwhile = asking(2, async () => {
      seen.push(await blobs.get(digest))
      rows.add(digest)
    })
    await collect({ inUse: meanwhile })
    expect(seen).toEqual([text])
    expect(await blobs.get(digest)).toBe(text)
  })

  test('B7 looks again when the blob was put back behind its back', async () => {
    await oldOrphan()
    const aside = await blobs.setAside(digest)
    if (aside === null) throw new Error('nothing set aside')
    const reader = other('readdir blobs/xx', () => blobs.restore(aside))
    expect(await reader.get(digest)).toBe(text)
  })

  test('B7 and when it was set aside between two looks', async () => {
    await oldOrphan()
    const reader = other('open digest', () => blobs.setAside(digest))
    expect(await reader.get(digest)).toBe(text)
  })
})

describe('a collector that died or failed', () => {
  test('B7 leaves a blob that can be read; the next one restores it if it is in use', async () => {
    await oldOrphan()
    rows.add(digest)
    await blobs.setAside(digest)
    expect(await blobs.get(digest)).toBe(text)
    expect(await collect()).toEqual({ removed: 0, kept: 1, bytes: 0 })
    expect(await files()).toEqual([digest])
  })

  test('B7 and removes it if it is not', async () => {
    await oldOrphan()
    await blobs.setAside(digest)
    expect(await collect()).toEqual({ removed: 1, kept: 0, bytes: text.length })
    expect(await files()).toEqual([])
  })

  test('B7 but not if it was put so recently that its commit may be on its way', async () => {
    await oldOrphan()
    await blobs.put(text)
    await blobs.setAside(digest)
    expect(await collect()).toMatchObject({ removed: 0, kept: 1 })
    rows.add(digest)
    expect(await files()).toEqual([digest])
  })

  test('B7 having put it back but not cleared up, leaves one blob', async () => {
    await oldOrphan()
    rows.add(digest)
    const aside = await blobs.setAside(digest)
    const dying = openFiles({
      dir,
      clock,
      disk: spied(folder, [], (what) => {
        if (what.startsWith('unlink')) refuse('EIO')
      }),
    })
    if (aside === null) throw new Error('nothing set aside')
    await expect(dying.restore(aside)).rejects.toMatchObject({ code: 'STORE_IO' })
    expect(await collect()).toMatchObject({ removed: 0, kept: 1 })
    expect(await files()).toEqual([digest])
  })

  test.each([1, 2])('B7 a store that fails at question %i changes nothing', async (nth) => {
    await oldOrphan()
    await blobs.put('another')
    clock.advance(2 * hourMs)
    const before = (await files()).sort()
    const failing = asking(nth, async () => {
      throw new Error('the store is away')
    })
    await expect(collect({ inUse: failing })).rejects.toThrow('the store is away')
    expect((await files()).sort()).toEqual(before)
  })

  test('B7 a disk that fails in the middle loses nothing', async () => {
    await oldOrphan()
    rows.add(digest)
    await blobs.put('another')
    clock.advance(2 * hourMs)
    rows.clear()
    const failing = spied(folder, [], (what) => {
      if (what.startsWith('unlink')) refuse('EIO')
    })
    const failed = collect({ blobs: openFiles({ dir, clock, disk: failing }) })
    await expect(failed).rejects.toMatchObject({ code: 'STORE_IO' })
    for (const one of [text, 'another']) expect(await blobs.get(sha256(one))).toBe(one)
    await collect()
    expect(await files()).toEqual([])
  })
})

describe('two collectors', () => {
  test('B7 the one does not take for the old blob what was put anew', async () => {
    await oldOrphan()
    // The other one has seen the old file; when it moves it, a new one lies there.
    const second = other('rename digest digest.aside', async () => {
      expect(await collect()).toMatchObject({ removed: 1 })
      await openFiles({ dir, clock }).put(text)
    })
    expect(await collect({ blobs: second })).toMatchObject({ removed: 0, kept: 1 })
    rows.add(digest)
    expect(await blobs.get(digest)).toBe(text)
  })

  test('B7 the one does not remove what the other has set aside since', async () => {
    await oldOrphan()
    let since: Leftover | null = null
    const first = other('unlink digest.aside', async () => {
      await openFiles({ dir, clock }).put(text)
      since = await blobs.setAside(digest)
    })
    expect(await collect({ blobs: first })).toMatchObject({ removed: 1 })
    expect(since).not.toBe(null)
    expect(await blobs.get(digest)).toBe(text)
    expect(await collect()).toMatchObject({ removed: 0, kept: 1 })
    expect(await files()).toEqual([digest])
  })

  test('B7 the one judges what the other has set aside, and both agree', async () => {
    await oldOrphan()
    rows.add(digest)
    const old = await blobs.put('old')
    clock.advance(2 * hourMs)
    rows.delete(digest)
    const first = asking(2, async () => {
      rows.add(digest)
      expect(await collect()).toMatchObject({ removed: 1, kept: 1 })
    })
    expect(await collect({ inUse: first })).toMatchObject({ removed: 0 })
    expect(await files()).toEqual([digest])
    expect(await blobs.has(old)).toBe(false)
  })

  test('B7 what was put anew is not overwritten by what is put back', async () => {
    await oldOrphan()
    rows.add(digest)
    await writeFile(pathOf(digest), 'THE RESULT')
    const at = new Date(clock.now() - 2 * hourMs)
    await utimes(pathOf(digest), at, at)
    const aside = await blobs.setAside(digest)
    await blobs.put(text)
    if (aside === null) throw new Error('nothing set aside')
    await blobs.restore(aside)
    expect(await blobs.get(digest)).toBe(text)
    expect(await all(blobs.leftovers())).toEqual([])
  })
})
