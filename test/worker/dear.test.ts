// On SQLite a commit is one turn, so what was dear is on disk before the node hears of it (D12): a
// kill at the node's next request does not make anybody pay for it again.
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { open, tool, workflow } from '../../src/index.ts'
import { newPath } from '../store/bench.ts'

async function onDiskWhenTold(usage: (() => { tokensOut: number }) | undefined): Promise<string[]> {
  const path = newPath()
  const model = tool({
    name: 'model',
    replayClass: 'pure',
    input: z.number(),
    run: async (n) => n,
    ...(usage ? { usage } : {}),
  })
  const seen: string[] = []
  const flow = workflow({
    id: 'flow@1.0.0',
    input: z.null(),
    tools: [model],
    run: async (_, ctx) => {
      await ctx.call(model, 1)
      const db = new Database(path, { readonly: true })
      const names = db.prepare('select tool_name from tool_call_results').pluck().all()
      db.close()
      seen.push(...(names as string[]))
    },
  })
  const cf = await open({ store: `sqlite:${path}`, graphs: [flow] })
  const run = await cf.start(flow, null, { runId: 'r' })
  await cf.worker().start()
  await run.result()
  await cf.close()
  return seen
}

test('D12 a result that reported usage is on disk before the node hears of it', async () => {
  expect(await onDiskWhenTold(() => ({ tokensOut: 1 }))).toEqual(['model'])
  // What is cheap waits for company: it is not what this test would find in any case.
  expect(await onDiskWhenTold(undefined)).toEqual([])
})
