// The worker itself, on the real clock.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'

test('D2 renewals fail: nothing is sent past the lease, and the run is given back', async () => {
  const sent: number[] = []
  let executions = 0
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.number(),
    run: (n) => {
      sent.push(n)
      return n
    },
  })
  const graph = workflow({
    id: 'expired@1.0.0',
    input: z.null(),
    tools: [send],
    run: async (_, ctx) => {
      executions++
      await ctx.call(send, 1)
      if (executions === 1) {
        cf.store.renew = async () => {
          throw new Error('the store cannot be reached')
        }
        while (worker.holds()) await sleep(5)
      }
      await ctx.call(send, 2)
      return executions
    },
  })
  const cf = await open({ store: 'memory:', graphs: [graph], onWarning: () => {} })
  const renew = cf.store.renew
  const worker = cf.worker({ leaseMs: 6_000, pollMs: 20 })
  await worker.start()
  const run = await cf.start(graph, null, { runId: 'r' })
  await run.until('running')
  while (executions === 0 || (await run.status()).state === 'running') await sleep(5)
  expect(sent).toEqual([1])
  cf.store.renew = renew
  // The second attempt was never sent, and that is on record: nobody has to be asked.
  expect(await run.result()).toBe(2)
  expect(sent).toEqual([1, 2])
  await cf.close()
})

test('D2 stop finishes what is under way, records it and gives the run back', async () => {
  const sent: number[] = []
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.number(),
    run: async (n) => {
      sent.push(n)
      await sleep(50)
      return n
    },
  })
  const graph = workflow({
    id: 'stopped@1.0.0',
    input: z.null(),
    tools: [send],
    run: async (_, ctx) => [await ctx.call(send, 1), await ctx.call(send, 2)],
  })
  const cf = await open({ store: 'memory:', graphs: [graph], onWarning: () => {} })
  const first = cf.worker()
  await first.start()
  const run = await cf.start(graph, null)
  while (sent.length === 0) await sleep(1)
  await first.stop()
  expect((await run.status()).state).toBe('pending')
  expect(sent).toEqual([1])
  await cf.worker().start()
  expect(await run.result()).toEqual([1, 2])
  expect(sent).toEqual([1, 2])
  await cf.close()
})

test('C8 twenty runs at once on one worker keep apart', async () => {
  const echo = tool({
    name: 'echo',
    replayClass: 'idempotent_with_key',
    idempotencyKey: (n, call) => `${call.runId}:${n}`,
    keyTtlMs: Number.POSITIVE_INFINITY,
    input: z.number(),
    run: async (n, call) => {
      await sleep(n % 7)
      return `${call.runId}/${n}`
    },
  })
  const graph = workflow({
    id: 'many@1.0.0',
    input: z.number(),
    tools: [echo],
    run: async (n, ctx) => Promise.all([n, n + 1, n + 2].map((each) => ctx.call(echo, each))),
  })
  const cf = await open({ store: 'memory:', graphs: [graph], onWarning: () => {} })
  await cf.worker({ concurrency: 5 }).start()
  const runs = await Promise.all(
    Array.from({ length: 20 }, (_, i) => cf.start(graph, i, { runId: `r${i}` })),
  )
  const results = await Promise.all(runs.map((run) => run.result()))
  expect(results).toEqual(
    Array.from({ length: 20 }, (_, i) => [i, i + 1, i + 2].map((n) => `r${i}/${n}`)),
  )
  await cf.close()
})
