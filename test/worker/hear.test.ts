// A real worker brings what has come to runs that are busy elsewhere. (The laboratory does it by
// itself, which hid that nobody did.)
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'

let letGo = () => {}
const over = new Promise<void>((resolve) => {
  letGo = resolve
})

const slow = tool({
  name: 'slow',
  replayClass: 'pure',
  input: z.number(),
  run: (ms) => Promise.race([pause(ms, null, { ref: false }), over]).then(() => 'slow'),
})

const race = workflow({
  id: 'race@1.0.0',
  input: z.object({ slowMs: z.number(), timeoutMs: z.number().optional() }),
  tools: [slow],
  run: async ({ slowMs, timeoutMs }, ctx) => {
    const call = ctx.call(slow, slowMs)
    const signal = timeoutMs === undefined ? ctx.signal('go') : ctx.signal('go', { timeoutMs })
    const first = await Promise.race([call.then(() => 'call'), signal.then((one) => one?.data)])
    letGo()
    return { first }
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
  const run = await cf.start(race, { slowMs: 30_000 })
  await run.until('running')
  await run.signal('go', 'signal')
  expect((await run.result()).first).toBe('signal')
})

test('D5 a node that has returned does not wait for a signal that lost its race', async () => {
  const cf = await opened(20)
  const run = await cf.start(race, { slowMs: 50 })
  expect((await run.result()).first).toBe('call')
})
