// Owns: which blobs go. A blob goes only if no row refers to it when it is out of every put's
// reach, and no put has refreshed it for `minAgeMs`.
// Does not own: how a blob is set aside, or found while it is (the blob store), nor that a commit
// looks after its blobs once it is acknowledged (with-blobs.ts).
// Invariants: a blob is set aside before the rows are asked for the last time. So a put before that
// has left its time on it, and a put after it writes a blob of its own. Whoever dies in between
// leaves an aside, which reads as before; the next collector judges it again.
import type { Clock } from '../clock.ts'
import type { BlobEntry, BlobStore, Leftover } from './blob.ts'

const hourMs = 3_600_000

// One question to the store for so many blobs: they are aside only for as long as it takes.
const batchSize = 100

export interface CollectOptions {
  readonly blobs: BlobStore
  /** Which of these some row refers to: a store's `blobsInUse`. */
  readonly inUse: (digests: readonly string[]) => Promise<ReadonlySet<string>>
  readonly clock: Clock
  /** Longer than any commit takes from the put of its blobs to its acknowledgement. */
  readonly minAgeMs?: number
}

export interface Collected {
  readonly removed: number
  readonly kept: number
  /** What was freed, drafts of dead puts included. */
  readonly bytes: number
}

/** Removes the blobs that nothing refers to; others may put and commit meanwhile. */
export async function collectOrphans(options: CollectOptions): Promise<Collected> {
  const collector = new Collector(options)
  await collector.clearLeftovers()
  await collector.clearBlobs()
  return collector.sum
}

class Collector {
  readonly sum = { removed: 0, kept: 0, bytes: 0 }
  private readonly options: CollectOptions
  private readonly minAgeMs: number

  constructor(options: CollectOptions) {
    this.options = options
    this.minAgeMs = options.minAgeMs ?? hourMs
  }

  async clearLeftovers(): Promise<void> {
    for await (const batch of batches(this.options.blobs.leftovers())) {
      for (const draft of batch.filter((one) => one.kind === 'draft')) {
        if (await this.options.blobs.drop(draft, this.oldest())) this.sum.bytes += draft.bytes
      }
      await this.judge(batch.filter((one) => one.kind === 'aside'))
    }
  }

  async clearBlobs(): Promise<void> {
    for await (const batch of batches(this.options.blobs.list())) {
      const removed = await this.clearBatch(batch)
      this.sum.kept += batch.length - removed
    }
  }

  private async clearBatch(batch: readonly BlobEntry[]): Promise<number> {
    const { blobs } = this.options
    const old = batch.filter((one) => one.changedAt <= this.oldest())
    const used = await this.inUse(old)
    const asides: Leftover[] = []
    try {
      for (const { digest } of old.filter((one) => !used.has(one.digest))) {
        const aside = await blobs.setAside(digest)
        if (aside) asides.push(aside)
      }
    } catch (error) {
      await this.restoreAll(asides)
      throw error
    }
    return this.judge(asides)
  }

  /** The last look, at blobs that no put can reach any more. */
  private async judge(asides: readonly Leftover[]): Promise<number> {
    const { blobs } = this.options
    const left = new Set(asides)
    let removed = 0
    try {
      const used = await this.inUse(asides)
      for (const aside of asides) {
        const dropped = !used.has(aside.digest) && (await blobs.drop(aside, this.oldest()))
        if (dropped) {
          removed++
          this.sum.bytes += aside.bytes
        } else await blobs.restore(aside)
        left.delete(aside)
      }
    } catch (error) {
      await this.restoreAll(left)
      throw error
    } finally {
      this.sum.removed += removed
    }
    return removed
  }

  /** What cannot be put back now reads as it is, and is the next collector's. */
  private async restoreAll(asides: Iterable<Leftover>): Promise<void> {
    await Promise.allSettled([...asides].map((aside) => this.options.blobs.restore(aside)))
  }

  private async inUse(entries: readonly BlobEntry[]): Promise<ReadonlySet<string>> {
    if (entries.length === 0) return new Set()
    return this.options.inUse([...new Set(entries.map((one) => one.digest))])
  }

  private oldest(): number {
    return this.options.clock.now() - this.minAgeMs
  }
}

async function* batches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
