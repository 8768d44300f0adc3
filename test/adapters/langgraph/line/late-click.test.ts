// Clicks with a `checkpoint_id`, as `getState().config` gives it: whoever comes second asks for a
// checkpoint that was the head a moment ago.
import { Command } from '@langchain/langgraph'
import { afterAll, expect, test, vi } from 'vitest'
import { settled, thread } from '../lab.ts'
import { memory, postgres, sqlite } from '../saver/stores.ts'
import { built, graphs, type Invokable, line } from './graphs.ts'

const stores = [memory(), sqlite(), postgres()]
afterAll(async () => {
  for (const kind of stores) await kind.end()
})

const yes = () => new Command({ resume: 'yes' })

async function after(ms: number, work: () => Promise<unknown>) {
  await new Promise((resolve) => setTimeout(resolve, ms))
  return work()
}

/** The thread waits for an answer, and this is what whoever looks at it gets. */
async function asked(graph: Invokable) {
  await graph.invoke({ words: '' }, thread())
  return (await graph.getState(thread())).config
}

const delays = [0, 1, 3, 6, 10, 20, 40]

for (const kind of stores) {
  kind.describe(kind.name, () => {
    test('C2, K1 two clicks with one checkpoint_id, whatever time apart, send once', async () => {
      for (const ms of delays) {
        const cf = await kind.open()
        const { graph, upstream } = built(cf, line)
        upstream.slow = () => new Promise((resolve) => setTimeout(resolve, 5))
        const config = await asked(graph)
        const ends = await settled([
          graph.invoke(yes(), config),
          after(ms, () => graph.invoke(yes(), config)),
        ])
        expect(upstream.sorted, `${ms} ms: ${ends}`).toEqual(['a', 'b'])
        expect(ends.toSorted(), `${ms} ms`).toEqual(['THREAD_MOVED', 'done'])
        expect((await cf.inbox.list()).items).toEqual([])
        expect((await graph.getState(thread())).next).toEqual([])
      }
    })

    test('C2, K1 two processes click with one checkpoint_id: one of them sends', async () => {
      for (const ms of delays) {
        const cf = await kind.open()
        const one = built(cf, line)
        const two = built(await kind.again(cf), line, one.upstream)
        const config = await asked(one.graph)
        const ends = await settled([
          one.graph.invoke(yes(), config),
          after(ms, () => two.graph.invoke(yes(), config)),
        ])
        expect(one.upstream.sorted, `${ms} ms: ${ends}`).toEqual(['a', 'b'])
        expect((await cf.inbox.list()).items).toEqual([])
        expect((await one.graph.getState(thread())).next).toEqual([])
      }
    })
  })
}

for (const [name, [make, wanted]] of Object.entries(graphs)) {
  test(`C2, K1 a late click with an old checkpoint_id and other words: ${name}`, async () => {
    const cf = await (stores[0] as (typeof stores)[number]).open()
    const { graph, upstream } = built(cf, make)
    const config = await asked(graph)
    await graph.invoke(yes(), thread())
    const [end] = await settled([graph.invoke(yes(), config)])
    // A subgraph that has answered and sent is through: nothing is sent, and nobody is told.
    expect(end).toBe(name.endsWith('asks') ? 'done' : 'THREAD_MOVED')
    expect(upstream.sorted).toEqual(wanted)
    expect((await cf.inbox.list()).items).toEqual([])
    expect((await graph.getState(thread())).next).toEqual([])
  })
}

test('K1 the config of an event of a late click can be used again', async () => {
  const cf = await (stores[0] as (typeof stores)[number]).open()
  const { graph } = built(cf, line)
  const config = await asked(graph)
  await graph.invoke(yes(), thread())
  const events: { config: { configurable: object } }[] = []
  const late = await graph.stream(yes(), { ...config, streamMode: 'checkpoints' })
  const reading = (async () => {
    for await (const event of late) events.push(event)
  })()
  expect(await settled([reading])).toEqual(['THREAD_MOVED'])
  const { configurable } = events.at(-1)?.config ?? {}
  await graph.updateState({ configurable }, { words: 'updated' }, 'sayB')
  expect((await graph.getState(thread())).values.words).toBe('updated')
  const again = { configurable: { ...configurable, checkpoint_id: undefined } }
  await graph.invoke({ words: 'new' }, again)
  expect((await graph.getState(thread())).next).toEqual(['ask'])
})

test('K1 a graph whose test has false timers goes on', async () => {
  const cf = await (stores[0] as (typeof stores)[number]).open()
  const { graph, upstream } = built(cf, line)
  vi.useFakeTimers()
  try {
    await graph.invoke({ words: '' }, thread())
    await graph.invoke(yes(), thread())
  } finally {
    vi.useRealTimers()
  }
  expect(upstream.sent).toEqual(['a', 'b'])
})
