// A commit that finds its run's row locked has written nothing: whoever gives a run back writes it
// again. Found by the fleet simulator (seed 480 of its first form).
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'
import { CounterfoilError } from '../../src/model/errors.ts'
import type { Store } from '../../src/store/store.ts'

const echo = tool({ name: 'echo', replayClass: 'pure', input: z.string(), run: (text) => text })
const flow = workflow({
  id: 'flow@1.0.0',
  input: z.null(),
  tools: [echo],
  run: (_, ctx) => ctx.call(echo, 'hello'),
})

/** The first commit whose id ends like this finds its row locked. */
async function opened(ending: string) {
  const cf = await open({ store: 'memory:', graphs: [flow], settleMs: 20, onWarning: () => {} })
  const store = cf.store as { commit: Store['commit'] }
  const commit = store.commit.bind(store)
  const seen = { locked: 0, refused: 0 }
  store.commit = async (batch) => {
    const [first] = batch
    if (first?.commitId.endsWith(ending) && seen.locked++ === 0) return ['locked']
    const refuses = ending === '.back' && first?.commitId === '1.1' && seen.refused++ === 0
    if (refuses) throw new CounterfoilError('ROW_IMMUTABLE', 'row is final: a test')
    return commit(batch)
  }
  return { cf, seen }
}

test('D2 a scope is given back although its row was locked: locked taken for done', async () => {
  const { cf, seen } = await opened('.end1')
  const scope = await cf.scope({ workflowId: 't', nodeId: 'n', checkpointId: 'c' })
  await scope.call(echo, 'hello')
  await scope.close()
  expect(seen.locked).toBeGreaterThan(0)
  expect(await cf.run('t').status()).toMatchObject({ state: 'waiting_tool' })
  await cf.close()
})

test('D2 a lost run is given back although its row was locked: locked taken for done', async () => {
  const { cf, seen } = await opened('.back')
  const worker = cf.worker({ pollMs: 10 })
  await worker.start()
  const run = await cf.start(flow, null, { runId: 'r1' })
  expect(await run.result()).toBe('hello')
  expect(seen.locked).toBeGreaterThan(1)
  await worker.stop()
  await cf.close()
})
