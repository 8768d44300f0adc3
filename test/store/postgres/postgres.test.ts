import { afterAll, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { type ManualClock, storeSuite } from '../../../src/testing/index.ts'
import {
  describePostgres,
  dropSchema,
  emptySchema,
  openManual,
  postgresUrl,
} from '../../postgres/bench.ts'

const urls = new Map<string, string>()
/** Schemas whose test is over: the next one begins in them, emptied. */
const free: string[] = []

afterAll(async () => {
  for (const url of urls.values()) await dropSchema(url)
}, 300_000)

/** Given back when it is closed. */
async function open(url: string, clock: ManualClock): Promise<Store> {
  const store = await openManual(url, clock)
  urls.set(store.url, url)
  const close = async () => {
    await store.close()
    free.push(url)
  }
  return new Proxy(store, {
    get: (target, name) => (name === 'close' ? close : Reflect.get(target, name)),
  })
}

describePostgres('postgres', () => {
  storeSuite(
    'postgres',
    {
      open: async (clock) => {
        const used = free.pop()
        if (used !== undefined) await emptySchema(used)
        return open(used ?? postgresUrl(), clock)
      },
      reopen: async (store, clock) => {
        await store.close()
        return open(free.pop() ?? '', clock)
      },
      durable: true,
    },
    { describe: describePostgres, test, expect },
  )
})
