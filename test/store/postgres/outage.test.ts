// A server that goes away and comes back: as it was, or as another one.
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import {
  attempt,
  commitOf,
  event,
  graphs,
  newRun,
  record,
  worker,
} from '../../../src/testing/store/fixtures.ts'
import { isClaim, isCommit, PostgresProxy } from '../../crash/proxy.ts'
import {
  describePostgres,
  dropSchema,
  openAt,
  plainUrl,
  postgresUrl,
  schemaOf,
  sql,
} from '../../postgres/bench.ts'

const realQuery = pg.Client.prototype.query

describePostgres('an outage', () => {
  let url: string
  let proxy: PostgresProxy
  let store: Store
  const request = { workerId: worker, graphs, countMax: 1 }

  beforeEach(async () => {
    url = postgresUrl()
    proxy = await PostgresProxy.open(Number(new URL(plainUrl()).port))
    store = await openAt(proxy.through(url))
    const own = { workerId: worker, pid: 1, host: 'h', bootId: 'b', startedAt: 1 }
    await store.register({ ...own, socketPath: null, socketInode: null }, 60_000)
    await store.start(newRun('r1'))
  })

  afterEach(async () => {
    await store.close()
    await proxy.close()
    await dropSchema(url)
  })

  test('D2, J3 a claim whose answer was lost is found again, however many failed', async () => {
    proxy.plan({ side: 'after', how: 'cut', at: isClaim })
    await expect(store.claim(request)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(await store.getRun({ namespace: 'default', runId: 'r1' })).toMatchObject({
      state: 'running',
    })
    proxy.plan({ side: 'before', how: 'cut', at: isClaim, times: 110 })
    for (let i = 0; i < 110; i++) await store.claim(request).catch(() => {})
    proxy.plan(null)
    expect(await store.claim(request)).toMatchObject([{ runId: 'r1', fence: 1 }])
    // And once only.
    expect(await store.claim(request)).toEqual([])
  }, 300_000)

  test('I4, C2 an intent that comes late by a line given up takes no later one back', async () => {
    const [run] = await store.claim(request)
    if (run === undefined) throw new Error('nothing was claimed')
    const first = commitOf(run, '1.1', { records: [record()], attempts: [attempt()] })
    const second = commitOf(run, '1.2', { records: [record(1, { attempt: 2, spanId: 's2' })] })
    const sent: pg.QueryConfig[] = []
    const query = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...args: unknown[]
    ) {
      const [config] = args as [pg.QueryConfig]
      if (isCommit(String(config.text))) sent.push(config)
      return realQuery.apply(this, args as never)
    } as never)
    proxy.plan({ side: 'before', how: 'cut', at: isCommit })
    await expect(store.commit([first])).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    proxy.plan(null)
    query.mockRestore()
    expect(await store.commit([first])).toEqual(['done'])
    expect(await store.commit([second])).toEqual(['done'])
    const late = await sql(url, sent[0]?.text ?? '', sent[0]?.values)
    expect(late).toEqual([{ answer: 'done' }])
    expect((await store.load(run))?.records).toMatchObject([{ attempt: 2, spanId: 's2' }])
    // What comes next leaves the row alone again.
    expect(await store.getRun(run)).toMatchObject({ commitId: '1.1' })
  })

  test('I12 a new line to another incarnation takes no commit until it is adopted', async () => {
    const [run] = await store.claim(request)
    if (run === undefined) throw new Error('nothing was claimed')
    const commit = (n: number) => commitOf(run, `1.${n}`, { events: [event(`e${n}`)] })
    expect(await store.commit([commit(1)])).toEqual(['done'])
    await sql(url, `update "${schemaOf(url)}".meta set value = 'x' where name = 'incarnation'`)
    proxy.cutAll()
    const write = async () => {
      for (;;) {
        try {
          return await store.commit([commit(2)])
        } catch (error) {
          if ((error as { code?: string }).code !== 'STORE_UNREACHABLE') throw error
        }
      }
    }
    await expect(write()).rejects.toMatchObject({ code: 'STORE_MOVED', retryable: false })
    await store.adopt('ana', 'looked at the gap')
    // Whoever held the run knows what may be missing here: it is claimed, and read, again.
    expect(await write()).toEqual(['stale_fence'])
    expect(await store.claim(request)).toMatchObject([{ runId: 'r1', fence: run.fence + 2 }])
  })
})
