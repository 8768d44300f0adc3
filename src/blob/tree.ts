// Where blobs lie in a directory, and how it is looked at: `<dir>/<first two digits>/<digest>`,
// with drafts and asides beside them under names that are no digests. Only regular files in real
// directories count: a symbolic link in the tree leads nowhere.
import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import type * as promises from 'node:fs/promises'
import { join } from 'node:path'
import { type BlobEntry, checkDigest, digestPattern, type Leftover } from './blob.ts'
import { blobDamaged, blobInvalid, isAbsent } from './errors.ts'

/** The part of `node:fs/promises` that is used. */
export type Disk = Pick<
  typeof promises,
  'open' | 'mkdir' | 'rename' | 'link' | 'unlink' | 'lstat' | 'lutimes' | 'readdir'
>

const shardPattern = /^[0-9a-f]{2}$/
const leftoverPattern = /^([0-9a-f]{64})\.(aside|draft)\.[0-9a-f]+$/

export class Tree {
  readonly dir: string
  private readonly disk: Disk

  constructor(dir: string, disk: Disk) {
    this.dir = dir
    this.disk = disk
  }

  shard(digest: string): string {
    return join(this.dir, checkDigest(digest).slice(0, 2))
  }

  path(digest: string, name = digest): string {
    return join(this.shard(digest), name)
  }

  leftoverPath({ digest, kind, name }: Leftover): string {
    const [, of, as] = leftoverPattern.exec(name) ?? []
    if (of !== digest || as !== kind) throw blobInvalid(name)
    return this.path(digest, name)
  }

  /** Null if nothing is there. */
  async look(path: string): Promise<Stats | null> {
    return present(this.disk.lstat(path))
  }

  async isDirectory(path: string): Promise<boolean> {
    return (await this.look(path))?.isDirectory() === true
  }

  /** The bytes of a regular file; null if nothing is there. */
  async read(digest: string, name = digest): Promise<Buffer | null> {
    const path = this.path(digest, name)
    const found = await this.look(path)
    if (found === null) return null
    if (!found.isFile()) throw blobDamaged(digest, path, 'it is not a regular file')
    const handle = await present(
      this.disk.open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)),
    )
    if (handle === null) return null
    try {
      return await handle.readFile()
    } finally {
      await handle.close()
    }
  }

  async asidesOf(digest: string): Promise<string[]> {
    const names = (await present(this.disk.readdir(this.shard(digest)))) ?? []
    return names.filter((name) => name.startsWith(`${digest}.aside.`))
  }

  async *entries(): AsyncGenerator<BlobEntry> {
    for await (const { shard, name } of this.names()) {
      if (!digestPattern.test(name)) continue
      const found = await this.look(join(this.dir, shard, name))
      if (found?.isFile()) yield entryOf(name, found)
    }
  }

  async *leftovers(): AsyncGenerator<Leftover> {
    for await (const { shard, name } of this.names()) {
      const [, digest, kind] = leftoverPattern.exec(name) ?? []
      if (digest === undefined || (kind !== 'aside' && kind !== 'draft')) continue
      const found = await this.look(join(this.dir, shard, name))
      if (found?.isFile()) yield { ...entryOf(digest, found), kind, name }
    }
  }

  private async *names(): AsyncGenerator<{ shard: string; name: string }> {
    const shards = (await present(this.disk.readdir(this.dir))) ?? []
    for (const shard of shards.filter((name) => shardPattern.test(name)).sort()) {
      const path = join(this.dir, shard)
      if (!(await this.isDirectory(path))) continue
      for (const name of (await present(this.disk.readdir(path))) ?? []) {
        if (name.startsWith(shard)) yield { shard, name }
      }
    }
  }
}

function entryOf(digest: string, found: Stats): BlobEntry {
  return { digest, changedAt: found.mtimeMs, bytes: found.size }
}

/** The answer, or null if nothing is there (any more). */
export async function present<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
}
