// A store with blobs is a store: it passes the suite of all stores, with nearly every text a blob.
// Only what it leaves out of lists, by design, is filled in here.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { BlobStore } from '../../src/blob/blob.ts'
import { openFiles } from '../../src/blob/files.ts'
import { withBlobs } from '../../src/blob/with-blobs.ts'
import type { CallRecord } from '../../src/model/run/records.ts'
import { openMemory } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/store.ts'
import { storeSuite } from '../../src/testing/index.ts'
import { newFolder } from './bench.ts'

function listingAll(inner: Store, blobs: BlobStore): Store {
  const store = withBlobs(inner, blobs, { bytesMin: 4 })
  const filled = async <T extends CallRecord>(row: T): Promise<T> => {
    if (row.resultDigest === null) return row
    return { ...row, resultJson: await blobs.get(row.resultDigest), resultDigest: null }
  }
  return {
    ...store,
    getRun: async (ref) => {
      const run = await store.getRun(ref)
      return run && { ...run, outputJson: await store.readOutput(run), outputDigest: null }
    },
    listRecords: async (ref, page) => {
      const { items, next } = await store.listRecords(ref, page)
      return { items: await Promise.all(items.map(filled)), next }
    },
  }
}

storeSuite(
  'memory with blobs',
  {
    open: async (clock) => {
      const blobs = openFiles({ dir: join(await newFolder(), 'blobs'), clock })
      return listingAll(openMemory({ clock }), blobs)
    },
    durable: false,
  },
  { describe, test, expect },
)
