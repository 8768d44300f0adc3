// What a task writes follows from the receipts of its calls (I3). A process that dies between them
// would leave a doubt about a call whose result is part of the thread.
import { tool } from '@langchain/core/tools'
import { Annotation, START, StateGraph } from '@langchain/langgraph'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CounterfoilSaver, guard } from '../../../../src/adapters/langgraph/index.ts'
import { opens, thread, unsafe } from '../lab.ts'

test('C2, I3 the receipts of a task are durable before what it writes', async () => {
  const cf = await opens()
  const schema = z.object({ id: z.string() })
  const order = tool(({ id }) => `PO-${id}`, { name: 'order', description: 'Orders.', schema })
  const [place] = guard(cf, [order], { order: unsafe })
  const graph = new StateGraph(Annotation.Root({ placed: Annotation<string> }))
    .addNode('buy', async () => ({ placed: String(await place?.invoke({ id: 'x' })) }))
    .addEdge(START, 'buy')
    .compile({ checkpointer: new CounterfoilSaver(cf) })
  const seen: string[] = []
  const commit = cf.store.commit.bind(cf.store)
  cf.store.commit = async (commits) => {
    const rows = commits.flatMap(({ changes }) => changes.records ?? [])
    const isReceipt = rows.some(({ status }) => status === 'committed')
    if (isReceipt) await new Promise((resolve) => setTimeout(resolve, 200))
    const done = await commit(commits)
    if (isReceipt) seen.push('receipt')
    return done
  }
  const putWrites = cf.store.putWrites.bind(cf.store)
  cf.store.putWrites = async (rows, ...more) => {
    if (rows.some(({ channel }) => channel === 'placed')) seen.push('writes')
    return putWrites(rows, ...more)
  }
  await graph.invoke({}, thread())
  expect(seen).toEqual(['receipt', 'writes'])
})
