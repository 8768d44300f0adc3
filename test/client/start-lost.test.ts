// Starts whose answer is lost, on a real server behind a proxy that cuts the line. Whoever starts a
// run without an id of its own could not ask again: it would start another.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/clock.ts'
import { type Counterfoil, open, workflow } from '../../src/index.ts'
import { migratePostgres } from '../../src/store/postgres/index.ts'
import { PostgresProxy } from '../crash/proxy.ts'
import {
  describePostgres,
  dropSchema,
  emptySchema,
  key,
  postgresUrl,
  sql,
} from '../postgres/bench.ts'

const note = workflow({
  id: 'note@1.0.0',
  input: z.object({ i: z.number() }),
  run: async () => 'noted',
})
const isStart = (text: string) => /\.start_runs?\(/.test(text)

describePostgres('a start whose answer is lost', () => {
  const url = postgresUrl()
  let proxy: PostgresProxy
  let cf: Counterfoil

  beforeAll(async () => {
    await migratePostgres({ url, clock: systemClock })
    proxy = await PostgresProxy.open(Number(new URL(url).port))
    const store = proxy.through(url)
    cf = await open({ store, graphs: [note], key, onWarning: () => {} })
  }, 300_000)

  afterEach(() => {
    proxy.plan(null)
    proxy.done.length = 0
    return emptySchema(url)
  })

  afterAll(async () => {
    await cf.close()
    await proxy.close()
    await dropSchema(url)
  }, 300_000)

  const startMany = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => cf.start(note, { i })))

  const rows = async () => {
    const [row] = await sql(
      url,
      `select (select count(*)::int from runs) as runs,
         (select count(*)::int from events) as events`,
    )
    return row
  }

  test.each([
    ...(['before', 'after'] as const).flatMap((side) => [
      { side, count: 1 },
      { side, count: 12 },
    ]),
  ])('C8 I4 cut $side it was answered, $count in one turn: each is made once', async (each) => {
    proxy.plan({ side: each.side, how: 'cut', at: isStart })
    const started = await startMany(each.count)
    expect(proxy.done).toMatchObject([{ side: each.side }])
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(each.count)
    for (const run of started) expect(await run.status()).toMatchObject({ state: 'pending' })
    expect(await rows()).toEqual({ runs: each.count, events: each.count })
  })

  test('C8 of one that nobody could hear of the id is told: started by it, it is one', async () => {
    proxy.plan({ side: 'after', how: 'cut', at: isStart, times: 1_000 })
    const error = await cf.start(note, { i: 1 }).catch((why) => why)
    proxy.plan(null)
    const { runId } = error.details
    expect(error).toMatchObject({ code: 'STORE_UNREACHABLE', retryable: true })
    expect(error.message).toContain(`it is unknown whether run ${runId} was started`)
    expect(proxy.done.length).toBeGreaterThan(1)
    const again = await cf.start(note, { i: 1 }, { runId })
    expect(again.runId).toBe(runId)
    expect(await rows()).toEqual({ runs: 1, events: 1 })
  })
})
