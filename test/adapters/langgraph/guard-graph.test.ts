// guardGraph: a second invocation of a thread waits for the first.
import { Annotation, Command, interrupt, START, StateGraph } from '@langchain/langgraph'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver, guardGraph, watch } from '../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../src/index.ts'
import { settled, thread, waitsFor } from './lab.ts'
import { built, type Invokable, line, straight, type Upstream } from './line/graphs.ts'
import { memory, postgres, sqlite } from './saver/stores.ts'

const stores = [memory(), sqlite(), postgres()]
const [inMemory] = stores as [(typeof stores)[number]]
afterAll(async () => {
  for (const kind of stores) await kind.end()
})

function guarded(cf: Counterfoil, make = straight, upstream?: Upstream, waitMs?: number) {
  const { graph, ...rest } = built(cf, make, upstream)
  return {
    graph: guardGraph(cf, graph as Invokable, waitMs === undefined ? {} : { waitMs }),
    ...rest,
  }
}

const yes = () => new Command({ resume: 'yes' })

for (const kind of stores) {
  kind.describe(kind.name, () => {
    test('C2, K1 two messages at once, in two processes, are two turns of the thread', async () => {
      const cf = await kind.open()
      const one = guarded(cf)
      const two = guarded(await kind.again(cf), straight, one.upstream)
      const ends = await settled([
        one.graph.invoke({ words: '' }, thread()),
        two.graph.invoke({ words: '' }, thread()),
        one.graph.invoke({ words: '' }, thread()),
      ])
      expect(ends).toEqual(['done', 'done', 'done'])
      expect(one.upstream.sorted).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
      expect((await one.graph.getState(thread())).values.sent.length).toBe(6)
      expect((await cf.inbox.list()).items).toEqual([])
    })

    test('C2, K1 the second of two clicks at once is told, in two processes too', async () => {
      const cf = await kind.open()
      const one = guarded(cf, line)
      const two = guarded(await kind.again(cf), line, one.upstream)
      await one.graph.invoke({ words: '' }, thread())
      const ends = await settled([
        one.graph.invoke(yes(), thread()),
        two.graph.invoke(yes(), thread()),
      ])
      expect(ends.toSorted()).toEqual(['THREAD_MOVED', 'done'])
      expect(one.upstream.sorted).toEqual(['a', 'b'])
    })
  })
}

test('C2, K1 a second click does not answer the next question', async () => {
  const cf = await inMemory.open()
  const State = Annotation.Root({ said: Annotation<string[]> })
  const asks = new StateGraph(State)
    .addNode('ask', async () => ({ said: [interrupt('first?'), interrupt('second?')] as string[] }))
    .addEdge(START, 'ask')
    .compile({ checkpointer: new CounterfoilSaver(cf) })
  const graph = guardGraph(cf, asks as Invokable)
  await graph.invoke({ said: [] }, thread())
  const ends = await settled([graph.invoke(yes(), thread()), graph.invoke(yes(), thread())])
  expect(ends).toEqual(['done', 'THREAD_MOVED'])
  const { tasks } = await graph.getState(thread())
  expect(tasks[0]?.interrupts.map(({ value }: { value: unknown }) => value)).toEqual(['second?'])
})

test('K1 whoever waits too long, or goes away, is refused, and holds nobody up', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = guarded(cf, straight, undefined, 50)
  let land = () => {}
  const begun = new Promise<void>((resolve) => {
    upstream.slow = () => {
      resolve()
      return new Promise((done) => {
        land = done
      })
    }
  })
  const first = graph.invoke({ words: '' }, thread())
  await begun
  expect(await settled([graph.invoke({ words: '' }, thread())])).toEqual(['THREAD_BUSY'])
  const gone = { ...thread(), signal: AbortSignal.abort(new Error('the user left')) }
  await expect(graph.invoke({ words: '' }, gone)).rejects.toThrow('the user left')
  upstream.slow = async () => {}
  land()
  await first
  await graph.invoke({ words: '' }, thread())
  expect(upstream.sorted).toEqual(['a', 'a', 'b', 'b'])
})

test('K1 a stream keeps the thread until it has been read, or left', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = guarded(cf)
  const chunks: unknown[] = []
  for await (const chunk of await graph.stream({ words: '' }, thread())) chunks.push(chunk)
  expect(chunks.length).toBe(4)
  // Nobody reads this one to its end.
  const left = await graph.stream({ words: '' }, thread())
  for await (const _ of left) break
  const events: string[] = []
  const config = { ...thread(), version: 'v2' }
  for await (const { event } of graph.streamEvents({ words: '' }, config)) events.push(event)
  expect(events.at(-1)).toBe('on_chain_end')
  expect((await graph.getState(thread())).values.sent.length).toBe(upstream.sent.length)
  expect((await cf.inbox.list()).items).toEqual([])
})

test('K1 an invocation inside of another, and watch(), do not wait for themselves', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = guarded(cf, straight, undefined, 200)
  upstream.slow = async () => {
    upstream.slow = async () => {}
    await graph.getState(thread())
    throw new Error('socket hang up')
  }
  const first = await graph.invoke({ words: '' }, thread())
  const results: string[] = []
  const watching = watch(cf, graph, { pollMs: 10, onResult: (id) => results.push(id) })
  const { itemId, version } = await cf.inbox.get(waitsFor(first) ?? '')
  const said = { outcome: 'happened', result: 'a', by: 'ana', reason: 'seen' } as const
  await cf.inbox.decide(itemId, { ...said, version })
  await expect.poll(() => results).toEqual(['t1'])
  await watching.stop()
  expect(upstream.sorted).toEqual(['a', 'b'])
})

test('K1 a batch is one turn after the other', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = guarded(cf)
  await graph.batch([{ words: '' }, { words: '' }], [thread(), thread()])
  expect(upstream.sent.length).toBe(4)
  expect((await graph.getState(thread())).values.sent.length).toBe(4)
})

test('K1 what is not a graph, and a wait that is no time, are refused', async () => {
  const cf = await inMemory.open()
  const { graph } = built(cf, straight)
  const codes = [
    () => guardGraph(cf, {} as never),
    () => guardGraph(cf, graph, { waitMs: -1 }),
  ].map((make) => {
    try {
      return make()
    } catch (error) {
      return (error as { code: string }).code
    }
  })
  expect(codes).toEqual(['GUARD_INVALID', 'GUARD_INVALID'])
})
