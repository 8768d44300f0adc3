// Owns: blobs as files, and when one is durable.
// Does not own: which blobs are still needed (collect.ts), nor what is a blob (with-blobs.ts).
// Invariants: a file under a digest's name is whole: it is written and synced as a draft and then
// renamed. When a put resolves, its file and every name that leads to it are synced, by whichever
// process made them. A put leaves a file whose time is not older than the put itself: it refreshes
// by path and looks again afterwards, so a collector that has moved the file away either sees the
// new time or makes the put write anew.
import { hash } from 'node:crypto'
import * as promises from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Clock, randomHex } from '../clock.ts'
import type { BlobStore, Leftover } from './blob.ts'
import {
  blobDamaged,
  blobMissing,
  diskError,
  isAbsent,
  notADirectory,
  systemCode,
} from './errors.ts'
import { type Disk, present, Tree } from './tree.ts'

// Each round is lost only to a collector that moves the same blob in the same instant.
const roundsMax = 5

export interface FilesOptions {
  /** Made at the first put. */
  readonly dir: string
  readonly clock: Clock
  /** For tests that look at, delay or refuse what is done to the disk. */
  readonly disk?: Disk
}

export function openFiles({ dir, clock, disk = promises }: FilesOptions): BlobStore {
  const tree = new Tree(resolve(dir), disk)
  const url = `files:${tree.dir}`
  const writer = new Writer(tree, disk, clock)
  const ours = <T>(work: Promise<T>) => translated(work, tree.dir)
  return {
    url,
    put: (text) => ours(writer.put(Buffer.from(text))),
    get: (digest) => ours(get(tree, url, digest)),
    has: (digest) => ours(has(tree, digest)),
    list: () => listed(tree.entries(), tree.dir),
    setAside: (digest) => ours(setAside(tree, disk, digest)),
    restore: (aside) => ours(restore(tree, disk, aside)),
    drop: (leftover, before) => ours(drop(tree, disk, leftover, before)),
    leftovers: () => listed(tree.leftovers(), tree.dir),
  }
}

class Writer {
  private readonly tree: Tree
  private readonly disk: Disk
  private readonly clock: Clock
  private readonly ongoing = new Map<string, Promise<string>>()
  /** Directories whose names this process has seen synced. */
  private readonly ready = new Set<string>()

  constructor(tree: Tree, disk: Disk, clock: Clock) {
    this.tree = tree
    this.disk = disk
    this.clock = clock
  }

  /** The same text at once is one write. */
  put(bytes: Buffer): Promise<string> {
    const digest = hash('sha256', bytes)
    const other = this.ongoing.get(digest)
    if (other) return other
    const work = this.putAlone(digest, bytes).finally(() => this.ongoing.delete(digest))
    this.ongoing.set(digest, work)
    return work
  }

  private async putAlone(digest: string, bytes: Buffer): Promise<string> {
    const shard = this.tree.shard(digest)
    for (let round = 1; ; round++) {
      try {
        await this.prepare(shard)
        if (!(await this.refresh(digest, bytes))) await this.write(digest, bytes)
        // Also for a file that was there: another process may have renamed it and not synced yet.
        await this.sync(shard)
        return digest
      } catch (error) {
        // A collector took the draft for a dead put's, or somebody removed the directory.
        if (!isAbsent(error) || round === roundsMax) throw error
        this.ready.delete(shard)
      }
    }
  }

  /** True if the very same bytes were there, and now have a new time. */
  private async refresh(digest: string, bytes: Buffer): Promise<boolean> {
    const { tree, disk } = this
    const path = tree.path(digest)
    const at = new Date(this.clock.now())
    try {
      // By path and never by descriptor: what was moved away must not be refreshed unnoticed.
      await disk.lutimes(path, at, at)
      const found = await tree.look(path)
      if (!found?.isFile() || found.size !== bytes.length) return false
      return (await tree.read(digest))?.equals(bytes) === true
    } catch (error) {
      if (isAbsent(error)) return false
      throw error
    }
  }

  private async write(digest: string, bytes: Buffer): Promise<void> {
    const { tree, disk } = this
    const draft = tree.path(digest, `${digest}.draft.${randomHex(8)}`)
    try {
      const handle = await disk.open(draft, 'wx', 0o600)
      try {
        await handle.writeFile(bytes)
        const at = new Date(this.clock.now())
        await handle.utimes(at, at)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await disk.rename(draft, tree.path(digest))
    } catch (error) {
      // What cannot be removed now is the collector's.
      await disk.unlink(draft).catch(() => {})
      throw error
    }
  }

  /** Makes the directory, and sees to it that a power cut does not take its name. */
  private async prepare(shard: string): Promise<void> {
    if (this.ready.has(shard)) return
    const { tree, disk } = this
    const made = await disk.mkdir(shard, { recursive: true, mode: 0o700 })
    if (!(await tree.isDirectory(shard))) throw notADirectory(shard)
    // Above what was made here there may be a directory that another process has just made.
    const ours = made === undefined ? shard : dirname(made)
    const top = ours.length < tree.dir.length ? ours : dirname(tree.dir)
    for (let at = tree.dir; ; at = dirname(at)) {
      await this.sync(at, at.length < ours.length)
      if (at === top) break
    }
    this.ready.add(shard)
  }

  /** `lenient`: what others have made may lie in a directory that we may not open. */
  private async sync(directory: string, lenient = false): Promise<void> {
    if (process.platform === 'win32') return
    let handle: promises.FileHandle
    try {
      handle = await this.disk.open(directory, 'r')
    } catch (error) {
      if (lenient && systemCode(error) === 'EACCES') return
      throw error
    }
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}

async function get(tree: Tree, url: string, digest: string): Promise<string> {
  for (let round = 0; round < roundsMax; round++) {
    if (!(await tree.isDirectory(tree.shard(digest)))) break
    const bytes = (await tree.read(digest)) ?? (await readAside(tree, digest))
    // Moved back between the two looks, or never there.
    if (bytes === null) continue
    if (hash('sha256', bytes) === digest) return bytes.toString()
    throw blobDamaged(digest, tree.path(digest), 'its bytes have another digest')
  }
  throw blobMissing(digest, url)
}

async function readAside(tree: Tree, digest: string): Promise<Buffer | null> {
  for (const name of await tree.asidesOf(digest)) {
    const bytes = await tree.read(digest, name)
    if (bytes !== null) return bytes
  }
  return null
}

async function has(tree: Tree, digest: string): Promise<boolean> {
  const path = tree.path(digest)
  return (await tree.look(path))?.isFile() === true
}

async function setAside(tree: Tree, disk: Disk, digest: string): Promise<Leftover | null> {
  // A name of its own: collectors must not overwrite what another one has set aside.
  const name = `${digest}.aside.${randomHex(8)}`
  const path = tree.path(digest, name)
  try {
    await disk.rename(tree.path(digest), path)
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
  const found = await tree.look(path)
  if (found === null) return null
  return { digest, changedAt: found.mtimeMs, bytes: found.size, kind: 'aside', name }
}

async function restore(tree: Tree, disk: Disk, aside: Leftover): Promise<void> {
  const path = tree.leftoverPath(aside)
  try {
    // A link never overwrites: what was put anew is newer, and may be better.
    await disk.link(path, tree.path(aside.digest))
  } catch (error) {
    if (isAbsent(error)) return
    if (systemCode(error) !== 'EEXIST') throw error
  }
  await present(disk.unlink(path))
}

async function drop(tree: Tree, disk: Disk, leftover: Leftover, before: number): Promise<boolean> {
  const path = tree.leftoverPath(leftover)
  const found = await tree.look(path)
  if (found === null || found.mtimeMs > before) return false
  return (await present(disk.unlink(path).then(() => true))) ?? false
}

async function translated<T>(work: Promise<T>, path: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw diskError(error, path)
  }
}

async function* listed<T>(items: AsyncIterable<T>, path: string): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    throw diskError(error, path)
  }
}
