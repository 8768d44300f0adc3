import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, workflow } from '../../../src/index.ts'

const child = workflow({ id: 'child@1.0.0', input: z.null(), run: async () => 'done' })
const parent = workflow({
  id: 'parent@1.0.0',
  input: z.null(),
  run: async (_input, ctx) => ctx.spawn(child, null),
})

test('E1 a child run has the starter of its parent: no way around notStarter', async () => {
  const graphs = [child, parent]
  const cf = await open({ store: 'memory:', graphs, onWarning: () => {} })
  await cf.worker().start()
  await (await cf.start(parent, null, { runId: 'p', by: 'ana' })).result()
  const { items } = await cf.store.listRuns({ namespace: 'default', parentRunId: 'p' })
  expect(items.map(({ startedBy }) => startedBy)).toEqual(['ana'])
  await cf.close()
})
