import { afterAll, expect, test } from 'vitest'
import { storeSuite } from '../../src/testing/index.ts'
import { describePostgres, dropSchema, openManual, postgresUrl } from '../postgres/bench.ts'

const urls = new Map<string, string>()
afterAll(async () => {
  for (const url of urls.values()) await dropSchema(url)
}, 120_000)

describePostgres('postgres', () => {
  storeSuite(
    'postgres',
    {
      open: async (clock) => {
        const url = postgresUrl()
        const store = await openManual(url, clock)
        urls.set(store.url, url)
        return store
      },
      reopen: async (store, clock) => {
        await store.close()
        return openManual(urls.get(store.url) ?? '', clock)
      },
      durable: true,
    },
    { describe: describePostgres, test, expect },
  )
})
