import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../../src/index.ts'

test('C4 a workflow runs to its end on the memory store', async () => {
  let sent = 0
  const add = tool({
    name: 'add',
    replayClass: 'pure',
    input: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => a + b,
  })
  const send = tool({
    name: 'send',
    replayClass: 'unsafe_on_replay',
    input: z.object({ to: z.string() }),
    run: ({ to }) => ({ id: `${to}-${++sent}` }),
  })
  const w = workflow({
    id: 'w@1.0.0',
    input: z.object({ n: z.number() }),
    tools: [add, send],
    run: async (input, ctx) => {
      const sum = await ctx.call(add, { a: input.n, b: 1 })
      const mails = await Promise.all([1, 2].map((i) => ctx.call(send, { to: `x${i}` })))
      return { sum, mails, at: await ctx.now() }
    },
  })
  const cf = await open({ store: 'memory:', graphs: [w], onWarning: () => {} })
  const worker = cf.worker()
  await worker.start()
  const run = await cf.start(w, { n: 1 }, { runId: 'r1' })
  const result = await run.result()
  expect(result.sum).toBe(2)
  expect(result.mails).toEqual([{ id: 'x1-1' }, { id: 'x2-2' }])
  expect(sent).toBe(2)
  await cf.close()
})
