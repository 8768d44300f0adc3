// A server that cannot be heard any more, without a word that it is gone.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PostgresProxy } from '../../crash/proxy.ts'
import {
  describePostgres,
  dropSchema,
  openAt,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../../postgres/bench.ts'

describePostgres('a black hole', () => {
  let url: string
  let proxy: PostgresProxy

  beforeEach(async () => {
    url = postgresUrl()
    proxy = await PostgresProxy.open(Number(new URL(plainUrl()).port))
  })

  afterEach(async () => {
    await proxy.close()
    await dropSchema(url)
  })

  test('J3 nobody answers the goodbye: the store closes nevertheless', async () => {
    const store = await openAt(proxy.through(url))
    let heard = false
    store.onChange(() => {
      heard = true
    })
    // A line that still waits for an answer would be cut at once.
    await expect
      .poll(async () => {
        await sql(url, `notify "counterfoil:${schemaOf(url)}"`)
        return heard
      })
      .toBe(true)
    proxy.swallow(true)
    const from = performance.now()
    await store.close()
    const tookMs = performance.now() - from
    // It has waited for an answer; not for ever, or the test would not end.
    expect(tookMs).toBeGreaterThan(1_000)
  }, 300_000)
})
