import { AIMessage, type BaseMessage } from '@langchain/core/messages'
import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  interrupt,
  messagesDeltaReducer,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import { type Counterfoil, tool } from '../../../../src/index.ts'
import { fc } from '../../../seed.ts'
import { agents, asked, asking, textOf } from './graphs.ts'
import { kinds, memory } from './stores.ts'

const all = kinds()
const inMemory = memory()
afterAll(async () => {
  for (const kind of [...all, inMemory]) await kind.end()
})

const config = { configurable: { thread_id: 't' }, recursionLimit: 500 }

async function rowsOf(
  { threads }: Counterfoil,
  filter: { threadId?: string; space?: string } = {},
) {
  const rows = []
  for (let cursor: string | undefined; ; ) {
    const page = await threads.listSteps({ ...filter, ...(cursor === undefined ? {} : { cursor }) })
    rows.push(...page.items)
    if (page.next === null) return rows
    cursor = page.next
  }
}

/** A step of its own, with a list that every step makes longer. */
async function putOne(saver: CounterfoilSaver, thread: string, parent: string | undefined) {
  const at = { thread_id: thread, checkpoint_ns: '' }
  const known = await saver.getTuple({ configurable: { ...at, checkpoint_id: parent } })
  const said = (parent && (known?.checkpoint.channel_values['said'] as string[])) || []
  const versions = { said: said.length + 1 }
  const checkpoint = {
    ...{ ...emptyCheckpoint(), id: uuid6(0), channel_versions: versions },
    channel_values: { said: [...said, textOf(said.length)] },
  }
  const from = { configurable: { ...at, checkpoint_id: parent } }
  await saver.put(from, checkpoint, { source: 'loop', step: 0, parents: {} }, versions)
  return checkpoint
}

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 the latest steps stay, whole, when their ancestors go, and it goes on', async () => {
      const cf = await kind.open()
      const graph = (saver: CounterfoilSaver) => agents['createAgent']?.(4, saver)
      await graph(new CounterfoilSaver(cf))?.invoke(asked(), config)
      const before = await rowsOf(cf)
      const saver = new CounterfoilSaver(await kind.again(cf), { keepSteps: 2 })
      const last = await saver.getTuple(config)
      const pruned = await saver.prune()
      expect(pruned).toEqual({ threads: 0, steps: before.length - 2 })
      expect((await rowsOf(cf)).map(({ stepId }) => stepId)).toEqual(
        before.slice(0, 2).map(({ stepId }) => stepId),
      )
      expect(await new CounterfoilSaver(cf).getTuple(config)).toEqual(last)
      const { messages } = (await graph(saver)?.invoke(asked(), config)) ?? { messages: [] }
      expect(messages.length).toBeGreaterThan(10)
    })

    test('K1 old steps go by themselves while a thread goes on', async () => {
      const cf = await kind.open()
      await agents['StateGraph']?.(20, new CounterfoilSaver(cf, { keepSteps: 8 })).invoke(
        asked(),
        config,
      )
      const rows = await rowsOf(cf)
      expect(rows.length).toBeGreaterThanOrEqual(8)
      expect(rows.length).toBeLessThanOrEqual(16)
      const saver = new CounterfoilSaver(await kind.again(cf))
      const tuple = await saver.getTuple(config)
      expect(tuple?.checkpoint.channel_values['messages']).toHaveLength(61)
    })

    test('K1 what an open interrupt needs stays, subgraph and all', async () => {
      const cf = await kind.open()
      const saver = new CounterfoilSaver(cf, { keepSteps: 1 })
      await asking(saver).invoke(asked(), config)
      await new Promise((resolve) => setTimeout(resolve, 20))
      await new CounterfoilSaver(cf, { keepSteps: 1, ttlMs: 1 }).prune()
      const graph = asking(new CounterfoilSaver(await kind.again(cf)))
      const { steps } = await graph.invoke(new Command({ resume: 'yes' }), config)
      expect(steps.slice(-3)).toEqual(['look', 'answer yes', 'last'])
      // The subgraph goes with the step that it was a part of.
      await saver.prune()
      await graph.updateState(config, { steps: ['more'] })
      await new CounterfoilSaver(cf, { keepSteps: 1 }).prune()
      expect(new Set((await rowsOf(cf)).map(({ space }) => space))).toEqual(new Set(['']))
    })

    test('K1 a channel that is told by earlier writes keeps them', async () => {
      const cf = await kind.open()
      const State = Annotation.Root({
        said: () =>
          new DeltaChannel<BaseMessage[]>(messagesDeltaReducer as never, { snapshotFrequency: 7 }),
        count: Annotation<number>,
      })
      const graph = (saver: CounterfoilSaver) =>
        new StateGraph(State)
          .addNode('say', ({ count }) => ({
            said: [new AIMessage(textOf(count))],
            count: count + 1,
          }))
          .addEdge(START, 'say')
          .addConditionalEdges('say', ({ count }) => (count % 25 ? 'say' : END))
          .compile({ checkpointer: saver })
      const saver = new CounterfoilSaver(cf, { keepSteps: 2 })
      await graph(saver).invoke({ count: 0 }, config)
      await saver.prune()
      const kept = (await rowsOf(cf)).length
      expect(kept).toBeLessThan(12)
      expect(kept).toBeGreaterThan(2)
      const other = graph(new CounterfoilSaver(await kind.again(cf), { keepSteps: 2 }))
      expect((await other.getState(config)).values.said).toHaveLength(25)
      const { said } = await other.invoke({ count: 26 }, config)
      expect(said).toHaveLength(49)
    })

    test('K1 idle threads go, but none with a call that waits for a person', async () => {
      const cf = await kind.open()
      for (const thread of ['idle', 'waits']) {
        await putOne(new CounterfoilSaver(cf), thread, undefined)
      }
      const saver = new CounterfoilSaver(cf, { ttlMs: 50 })
      const lost = tool({
        ...{ name: 'lost', replayClass: 'unsafe_on_replay', input: anything },
        run: () => Promise.reject(new Error('no answer')),
      })
      const ids = { workflowId: 'waits', nodeId: 'n', checkpointId: 'c' }
      const scope = await cf.scope(ids)
      await expect(scope.call(lost, {})).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
      await scope.close()
      await new Promise((resolve) => setTimeout(resolve, 80))
      expect(await saver.prune()).toEqual({ threads: 1, steps: 1 })
      expect((await rowsOf(cf)).map(({ threadId }) => threadId)).toEqual(['waits'])
      expect(await saver.getTuple({ configurable: { thread_id: 'idle' } })).toBeUndefined()
    })

    test('K1 a step whose parent was pruned meanwhile is written whole', async () => {
      const cf = await kind.open()
      const [one, two] = [new CounterfoilSaver(cf), new CounterfoilSaver(await kind.again(cf))]
      const parent = await putOne(one, 't', undefined)
      await two.deleteThread('t')
      const at = { thread_id: 't', checkpoint_ns: '', checkpoint_id: parent.id }
      const next = { ...parent, id: uuid6(0) }
      await one.put({ configurable: at }, next, { source: 'loop', step: 1, parents: {} }, {})
      expect((await two.getTuple(config))?.checkpoint).toEqual(next)
    })
  })
}

const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const

test('K1 no fork is hurt by a pruning, whatever its place', async () => {
  const forks = fc.array(fc.nat(5), { minLength: 1, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(forks, fc.integer({ min: 1, max: 6 }), fc.nat(99), async (froms, keep, n) => {
      const cf = await inMemory.open()
      const saver = new CounterfoilSaver(cf)
      const made: Awaited<ReturnType<typeof putOne>>[] = []
      for (const from of froms) {
        const parent = made.at(-1 - (from % (made.length || 1)))
        made.push(await putOne(saver, 't', parent?.id))
      }
      const leaf = made[n % made.length]
      const written = {
        configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: leaf?.id },
      }
      await saver.putWrites(written, [['__interrupt__', [{ value: 1 }]]], 'task')
      const parents = new Set((await rowsOf(cf)).map(({ parentId }) => parentId))
      await new CounterfoilSaver(cf, { keepSteps: keep }).prune()
      const wanted = made.filter(
        (one, i) => i >= made.length - keep || (one === leaf && !parents.has(one.id)),
      )
      const rows = await rowsOf(cf)
      expect(rows.map(({ stepId }) => stepId)).toEqual(wanted.map(({ id }) => id).reverse())
      for (const checkpoint of wanted) {
        const at = { thread_id: 't', checkpoint_ns: '', checkpoint_id: checkpoint.id }
        const found = await new CounterfoilSaver(cf).getTuple({ configurable: at })
        expect(found?.checkpoint).toEqual(checkpoint)
      }
    }),
    { numRuns: 60 },
  )
})

test('K1 a pruning while others put steps hurts none of them', async () => {
  const cf = await inMemory.open()
  const savers = Array.from({ length: 3 }, () => new CounterfoilSaver(cf, { keepSteps: 2 }))
  await Promise.all(
    savers.map(async (saver, n) => {
      let last: Awaited<ReturnType<typeof putOne>> | undefined
      for (let i = 0; i < 40; i++) {
        last = await putOne(saver, 't', last?.id)
        if (i % 5 === n) await saver.prune().catch(retryable)
        const at = { thread_id: 't', checkpoint_ns: '', checkpoint_id: last.id }
        const found = await savers[(n + 1) % 3]?.getTuple({ configurable: at })
        if (found !== undefined) expect(found.checkpoint).toEqual(last)
      }
    }),
  )
  for (const row of await rowsOf(cf)) {
    const at = { thread_id: 't', checkpoint_ns: '', checkpoint_id: row.stepId }
    expect(await new CounterfoilSaver(cf).getTuple({ configurable: at })).toBeDefined()
  }
})

function retryable(error: unknown): void {
  expect(error).toMatchObject({ code: 'THREAD_BUSY' })
}

test('K1 an interrupt of a node keeps a thread from ending by age', async () => {
  const cf = await inMemory.open()
  const saver = new CounterfoilSaver(cf, { ttlMs: 1 })
  const State = Annotation.Root({ said: Annotation<string> })
  const graph = new StateGraph(State)
    .addNode('ask', () => ({ said: interrupt('?') }))
    .addEdge(START, 'ask')
    .compile({ checkpointer: new CounterfoilSaver(cf) })
  await graph.invoke({ said: '' }, config)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await saver.prune()).toEqual({ threads: 0, steps: 0 })
  await graph.invoke(new Command({ resume: 'here' }), config)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await saver.prune()).threads).toBe(1)
  expect(await rowsOf(cf)).toEqual([])
})
