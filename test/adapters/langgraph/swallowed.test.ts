// A doubt stops the graph by an error, which code around the tool may catch.
import { tool } from '@langchain/core/tools'
import { createAgent, toolRetryMiddleware } from 'langchain'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver, guard } from '../../../src/adapters/langgraph/index.ts'
import { opens, ScriptedModel, says, thread, unsafe } from './lab.ts'

test('K1 a doubt that a middleware tells the model as a failure stops what follows', async () => {
  const cf = await opens()
  const sent: string[] = []
  const run = async ({ body }: { body: string }) => {
    sent.push(body)
    throw new Error('socket hang up')
  }
  const schema = z.object({ body: z.string() })
  const write = tool(run, { name: 'write', description: 'writes', schema })
  const model = new ScriptedModel((messages) => {
    const tries = messages.filter((each) => each.getType() === 'tool').length
    return tries < 3 ? [{ name: 'write', args: { body: `in other words ${tries}` } }] : 'given up'
  })
  const agent = createAgent({
    model,
    tools: guard(cf, [write], { write: unsafe }),
    checkpointer: new CounterfoilSaver(cf),
    middleware: [toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 }) as never],
  })
  await agent.invoke(says() as never, thread() as never)
  expect(sent).toEqual(['in other words 0'])
  expect((await cf.inbox.list()).items).toHaveLength(1)
})
