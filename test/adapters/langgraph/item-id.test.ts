// An answer of the user's may have an `itemId` of its own.
import { tool } from '@langchain/core/tools'
import { Command, interrupt } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver, guard } from '../../../src/adapters/langgraph/index.ts'
import { asking, lastText, opens, says, thread, unsafe } from './lab.ts'

test("K1 a user's own answer that has an itemId reaches their interrupt", async () => {
  const cf = await opens()
  const run = async () => `ordered ${(interrupt('which?') as { itemId: string }).itemId}`
  const order = tool(run, { name: 'order', description: 'orders', schema: z.object({}) })
  const tools = guard(cf, [order], { order: { ...unsafe, interrupts: true } })
  const checkpointer = new CounterfoilSaver(cf)
  const graph = createReactAgent({ llm: asking({ name: 'order', args: {} }), tools, checkpointer })
  await graph.invoke(says(), thread())
  const result = await graph.invoke(new Command({ resume: { itemId: 'sku-1' } }), thread())
  expect(lastText(result)).toBe('done: ordered sku-1')
})
