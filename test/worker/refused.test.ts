// What the store refuses for good does not go round for ever.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'
import { CounterfoilError } from '../../src/model/errors.ts'
import * as limits from '../../src/model/limits.ts'
import type { Store } from '../../src/store/store.ts'

test('D2 a run whose changes are refused each time is put before a person', async () => {
  let sent = 0
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.number(),
    run: async () => ++sent,
  })
  const flow = workflow({
    id: 'flow@1.0.0',
    input: z.null(),
    tools: [send],
    run: (_, ctx) => ctx.call(send, 1),
  })
  const cf = await open({ store: 'memory:', graphs: [flow], onWarning: () => {} })
  const store = cf.store as { commit: Store['commit'] }
  const commit = store.commit.bind(store)
  store.commit = (batch) => {
    const refused = batch.some(({ changes }) => changes.records?.some((row) => row.tool === 'send'))
    if (!refused) return commit(batch)
    return Promise.reject(new CounterfoilError('ROW_IMMUTABLE', 'row is final: a test'))
  }
  const worker = cf.worker()
  await worker.start()
  const run = await cf.start(flow, null, { runId: 'r1' })
  await run.until('waiting_human')
  const [item] = (await cf.inbox.list({ kind: 'doubt' })).items
  expect(item).toMatchObject({ reason: 'poison', runId: 'r1' })
  const data = item?.body.data as { deaths: { worker: string; cause: string }[] } | undefined
  const deaths = data?.deaths ?? []
  expect(deaths).toHaveLength(limits.claimsMax)
  expect(deaths[0]).toMatchObject({ worker: worker.id })
  expect(deaths[0]?.cause).toMatch(/row is final/)
  expect(sent).toBe(0)
  await worker.stop()
  await cf.close()
})
