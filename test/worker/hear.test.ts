// A real worker brings what has come to runs that are busy elsewhere. (The laboratory does it by
// itself, which hid that nobody did.)
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'

const slow = tool({
  name: 'slow',
  replayClass: 'pure',
  input: z.number(),
  run: (ms) => pause(ms).then(() => 'slow'),
})

const race = workflow({
  id: 'race@1.0.0',
  input: z.object({ slowMs: z.number(), timeoutMs: z.number().optional() }),
  tools: [slow],
  run: async ({ slowMs, timeoutMs }, ctx) => {
    const call = ctx.call(slow, slowMs)
    const signal = timeoutMs === undefined ? ctx.signal('go') : ctx.signal('go', { timeoutMs })
    const from = await ctx.now()
    const first = await Promise.race([call.then(() => 'call'), signal.then((one) => one?.data)])
    return { first, ms: (await ctx.now()) - from }
  },
})

async function opened(pollMs: number) {
  const cf = await open({ store: 'memory:', graphs: [race], onWarning: () => {} })
  onTestFinished(() => cf.close())
  await cf.worker({ pollMs }).start()
  return cf
}

test('D5 a signal reaches a branch of a run whose other branch is busy', async () => {
  const cf = await opened(20)
  const run = await cf.start(race, { slowMs: 6_000 })
  await run.until('running')
  await run.signal('go', 'signal')
  const { first, ms } = await run.result()
  expect(first).toBe('signal')
  expect(ms).toBeLessThan(5_000)
})

test('D5 a node that has returned does not wait for a signal that lost its race', async () => {
  const cf = await opened(20)
  const run = await cf.start(race, { slowMs: 50 })
  expect((await run.result()).first).toBe('call')
})
