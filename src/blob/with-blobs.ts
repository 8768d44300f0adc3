// A store whose large texts lie in blobs (B7), to the same contract.
// Owns: that every blob of a write is durable before the store is asked to write its digest, and is
// still there once the store has acknowledged.
// Does not own: rows (rows.ts), blobs (the blob store), nor what becomes of blobs whose write the
// store then refused (collect.ts).
// Invariants: a text that cannot be put rejects before anything is written (I4: the same batch is
// written again). A row is never given a result that its digest does not vouch for.
import { errorFor, isCounterfoilError } from '../model/errors.ts'
import type { Run, RunRef } from '../model/run/records.ts'
import type { Amendment, Authority, Commit, LoadAt, Loaded, NewRun, Store } from '../store/store.ts'
import type { BlobStore } from './blob.ts'
import * as rows from './rows.ts'

// Files open at once: far below what a process may have.
const lanesMax = 16

// A second round needs the run to have changed between two attempts; so many never happen.
const roundsMax = 10

export interface WithBlobsOptions {
  /** Texts of more bytes than this become blobs: `limits.blobBytesMin`. */
  readonly bytesMin: number
}

export interface StoreWithBlobs extends Store {
  /** Runs are given out without a large output: polling reads no blobs. This reads it. */
  readOutput(run: Run): Promise<string | null>
}

export function withBlobs(
  store: Store,
  blobs: BlobStore,
  { bytesMin }: WithBlobsOptions,
): StoreWithBlobs {
  const outward = new Outward(store, blobs, bytesMin)
  return {
    ...store,
    start: (made) => outward.start(made),
    commit: (batch) => outward.commit(batch),
    amend: (ref, by, change, at) => outward.amend(ref, by, change, at),
    load: async (ref, at) => {
      const loaded = await store.load(ref, at)
      if (loaded === null) return null
      const digests = rows.digestsOf(loaded)
      if (digests.size === 0) return rows.markLoaded(loaded, bytesMin)
      return rows.fillLoaded(loaded, await readAll(blobs, digests), bytesMin)
    },
    loadCheckpoints: async (ref, generation, visit) => {
      const found = await store.loadCheckpoints(ref, generation, visit)
      const digests = new Set(found.flatMap((row) => row.bodyDigest ?? []))
      if (digests.size === 0) return found
      const texts = await readAll(blobs, digests)
      return found.map((row) => rows.fillBody(row, texts))
    },
    readOutput: (run) => readOutput(blobs, run),
    close: async () => {
      await store.close()
      await blobs.close?.()
    },
  }
}

/** The output of a run as its row was given out; rejects if its blob is missing or damaged. */
export async function readOutput(blobs: BlobStore, run: Run): Promise<string | null> {
  return run.outputDigest === null ? run.outputJson : blobs.get(run.outputDigest)
}

/** Thrown inside a transaction, so that it ends without a write: a put cannot be awaited there. */
class PutFirst extends Error {}

class Outward {
  private readonly store: Store
  private readonly blobs: BlobStore
  private readonly bytesMin: number

  constructor(store: Store, blobs: BlobStore, bytesMin: number) {
    this.store = store
    this.blobs = blobs
    this.bytesMin = bytesMin
  }

  start(made: NewRun): ReturnType<Store['start']> {
    const write = (swap: rows.Swap) => rows.stripNewRun(made, swap)
    return this.write(write, (stripped) => this.store.start(stripped))
  }

  commit(batch: readonly Commit[]): ReturnType<Store['commit']> {
    const write = (swap: rows.Swap) => rows.mapped(batch, (one) => stripCommit(one, swap))
    return this.write(write, (stripped) => this.store.commit(stripped))
  }

  async amend<T>(
    ref: RunRef,
    by: Authority,
    change: (now: Loaded) => Amendment<T>,
    at?: LoadAt,
  ): Promise<T> {
    const digests = new Map<string, string>()
    for (let round = 0; round < roundsMax; round++) {
      const missing = new Set<string>()
      const abort = new PutFirst('large values have to be put first')
      try {
        const value = await this.store.amend(
          ref,
          by,
          this.stripping(change, digests, missing, abort),
          at,
        )
        if (digests.size > 0) await this.keep(digests)
        return value
      } catch (error) {
        if (error !== abort) throw error
      }
      await this.putAll(missing, digests)
    }
    throw errorFor('STORE_BUSY', ref.runId, ref.namespace, roundsMax)
  }

  private stripping<T>(
    change: (now: Loaded) => Amendment<T>,
    digests: ReadonlyMap<string, string>,
    missing: Set<string>,
    abort: PutFirst,
  ): (now: Loaded) => Amendment<T> {
    return (now) => {
      const made = change(rows.markLoaded(now, this.bytesMin))
      if (made.changes === null) return made
      const changes = rows.stripChanges(made.changes, this.swap(digests, missing))
      if (missing.size > 0) throw abort
      return { ...made, changes }
    }
  }

  /** Without large texts this is the store's own call and nothing more. */
  private write<T, R>(
    strip: (swap: rows.Swap) => T,
    write: (stripped: T) => Promise<R>,
  ): Promise<R> {
    const missing = new Set<string>()
    const stripped = strip(this.swap(new Map(), missing))
    if (missing.size === 0) return write(stripped)
    return this.writeLarge(strip, write, missing)
  }

  private async writeLarge<T, R>(
    strip: (swap: rows.Swap) => T,
    write: (stripped: T) => Promise<R>,
    texts: ReadonlySet<string>,
  ): Promise<R> {
    const digests = new Map<string, string>()
    await this.putAll(texts, digests)
    const result = await write(strip(this.swap(digests, new Set())))
    await this.keep(digests)
    return result
  }

  private swap(digests: ReadonlyMap<string, string>, missing: Set<string>): rows.Swap {
    return (text) => {
      if (!rows.isLarge(text, this.bytesMin)) return null
      const digest = digests.get(text)
      if (digest === undefined) missing.add(text)
      return digest ?? null
    }
  }

  private putAll(texts: Iterable<string>, digests: Map<string, string>): Promise<void> {
    return inLanes(texts, async (text) => {
      digests.set(text, await this.blobs.put(text))
    })
  }

  /**
   * A process that was stopped between its put and its commit may come too late for a collector.
   * Now that the rows refer to them no collector takes the blobs, so what is here stays.
   */
  private keep(digests: ReadonlyMap<string, string>): Promise<void> {
    return inLanes(digests, async ([text, digest]) => {
      if (!(await this.blobs.has(digest))) await this.blobs.put(text)
    })
  }
}

function stripCommit(commit: Commit, swap: rows.Swap): Commit {
  const changes = rows.stripChanges(commit.changes, swap)
  return changes === commit.changes ? commit : { ...commit, changes }
}

const unreadable = ['BLOB_MISSING', 'BLOB_DAMAGED', 'BLOB_INVALID'] as const

async function readAll(blobs: BlobStore, digests: Iterable<string>): Promise<rows.Texts> {
  const texts = new Map<string, string | null>()
  await inLanes(digests, async (digest) => {
    try {
      texts.set(digest, await blobs.get(digest))
    } catch (error) {
      // A disk that fails may answer later: only what is known to be gone is given up.
      if (!unreadable.some((code) => isCounterfoilError(error, code))) throw error
      texts.set(digest, null)
    }
  })
  return texts
}

/** A few at a time; waits for all that have begun, then rejects if one did. */
async function inLanes<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const all = [...items]
  const queue = all.values()
  let failed = false
  const lane = async () => {
    for (const item of queue) {
      if (failed) return
      await work(item).catch((error: unknown) => {
        failed = true
        throw error
      })
    }
  }
  const ends = await Promise.allSettled(
    Array.from({ length: Math.min(lanesMax, all.length) }, lane),
  )
  const end = ends.find((one) => one.status === 'rejected')
  if (end) throw end.reason
}
