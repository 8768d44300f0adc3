// Branches, on purpose: a thread that is taken back goes another way from there, and what was sent
// on the way that was left stays sent.
import { Command } from '@langchain/langgraph'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { settled, thread } from '../lab.ts'
import { memory, postgres, sqlite } from '../saver/stores.ts'
import { built, graphs, type Invokable, line, straight, words } from './graphs.ts'

const stores = [memory(), sqlite(), postgres()]
afterAll(async () => {
  for (const kind of stores) await kind.end()
})
beforeEach(() => {
  words.steady = true
})
afterEach(() => {
  words.steady = false
})

const yes = () => new Command({ resume: 'yes' })

async function history(graph: Invokable) {
  const states: { next: string[]; config: unknown }[] = []
  for await (const state of graph.getStateHistory(thread())) states.push(state)
  return states
}

/** The config of the checkpoint that these nodes come next at. */
async function before(graph: Invokable, ...next: string[]) {
  const found = (await history(graph)).find((state) => state.next.join() === next.join())
  return found?.config as { configurable: object }
}

async function through(graph: Invokable) {
  await graph.invoke({ words: '' }, thread())
  await graph.invoke(yes(), thread())
}

for (const kind of stores) {
  kind.describe(kind.name, () => {
    test('C2, K1 a late second click with an old checkpoint_id sends nothing again', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, line)
      await graph.invoke({ words: '' }, thread())
      const old = (await graph.getState(thread())).config
      await graph.invoke(yes(), thread())
      const ends = await settled([graph.invoke(yes(), old), graph.invoke(yes(), old)])
      expect(ends).toEqual(['THREAD_MOVED', 'THREAD_MOVED'])
      expect(upstream.sent).toEqual(['a', 'b'])
      expect((await cf.inbox.list()).items).toEqual([])
    })

    test('C2, K1 time travel with null sends nothing again, from any step on', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, line)
      await through(graph)
      for (const next of ['sayA', 'sendA', 'sayB', 'sendB']) {
        const end = await graph.invoke(null, await before(graph, next))
        expect(end.sent).toEqual(['a', 'b'])
      }
      expect(upstream.sent).toEqual(['a', 'b'])
    })

    test('C2, K1 updateState and then null sends nothing again', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, line)
      await through(graph)
      const same = await graph.updateState(await before(graph, 'sendA'), { words: 'a' }, 'sayA')
      expect((await graph.invoke(null, same)).sent).toEqual(['a', 'b'])
      expect(upstream.sent).toEqual(['a', 'b'])
      const other = await graph.updateState(await before(graph, 'sendA'), { words: 'c' }, 'sayA')
      // The very call that was sent, with another input: a person decides.
      const stopped = await graph.invoke(null, other)
      expect((await cf.inbox.list()).items.map(({ reason }) => reason)).toEqual(['drift'])
      const { counterfoil } = stopped.__interrupt__[0].value
      expect(counterfoil.input).toMatchObject({ text: 'c' })
      const inputs = counterfoil.records.map(({ input }: { input: unknown }) => input)
      expect(inputs).toContainEqual(expect.objectContaining({ text: 'a' }))
      expect(upstream.sent).toEqual(['a', 'b'])
    })

    test('K1 configurable.counterfoil.live sends on purpose', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, line)
      await through(graph)
      const { configurable } = await before(graph, 'sayA')
      const live = { configurable: { ...configurable, counterfoil: { live: true } } }
      await graph.invoke(null, live)
      expect(upstream.sent).toEqual(['a', 'b', 'a', 'b'])
    })

    test('C2, K1 a later turn of the line sends the same again', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, straight)
      for (let n = 0; n < 2; n++) await graph.invoke({ words: '' }, thread())
      expect(upstream.sent).toEqual(['a', 'b', 'a', 'b'])
      // Both turns are off a branch that begins before them: it has two of each to take.
      const begun = (await history(graph)).filter(({ next }) => next.join() === 'sayA')
      await graph.invoke(null, begun.at(-1)?.config)
      await graph.invoke({ words: '' }, thread())
      expect(upstream.sent.length).toBe(4)
      await graph.invoke({ words: '' }, thread())
      expect(upstream.sorted).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
    })

    test('C2, K1 a new process finds what a branch was answered with', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, line)
      await through(graph)
      const back = await before(graph, 'sayA')
      await graph.invoke(null, back)
      const again = built(await kind.again(cf), line, upstream)
      await again.graph.invoke(null, back)
      await again.graph.invoke(null, await before(again.graph, 'sendB'))
      expect(upstream.sent).toEqual(['a', 'b'])
    })
  })
}

for (const [name, [make, wanted]] of Object.entries(graphs)) {
  test(`C2, K1 a late second click and time travel: ${name}`, async () => {
    const cf = await (stores[0] as (typeof stores)[number]).open()
    const { graph, upstream } = built(cf, make)
    await graph.invoke({ words: '' }, thread())
    const old = (await graph.getState(thread())).config
    await graph.invoke(yes(), thread())
    expect(upstream.sorted).toEqual(wanted)
    const late = await graph.invoke(yes(), old).catch((error: { code?: string }) => error.code)
    expect(upstream.sorted, String(late)).toEqual(wanted)
    for (const { config, next } of await history(graph)) {
      if (next.length === 0) continue
      await graph.invoke(null, config).catch(() => {})
      expect(upstream.sorted, `back to ${next}`).toEqual(wanted)
    }
  })
}

test('K1 a request that is retried with its run_id resumes, and is no second input', async () => {
  const cf = await (stores[0] as (typeof stores)[number]).open()
  const { graph, upstream } = built(cf, line)
  const asked = { ...thread(), metadata: { run_id: 'request-1' } }
  await graph.invoke({ words: '' }, asked)
  const first = (await history(graph)).length
  await graph.invoke({ words: '' }, asked)
  expect((await history(graph)).length).toBe(first)
  await graph.invoke(yes(), thread())
  expect(upstream.sent).toEqual(['a', 'b'])
})

test('C2 a call that is under way on another branch is waited for', async () => {
  const cf = await (stores[0] as (typeof stores)[number]).open()
  const { graph, upstream } = built(cf, straight)
  let land = () => {}
  const begun = new Promise<void>((resolve) => {
    upstream.slow = () => {
      resolve()
      return new Promise((done) => {
        land = done
      })
    }
  })
  const first = graph.invoke({ words: '' }, thread()).catch(() => {})
  await begun
  const late = graph.invoke(null, await before(graph, 'sayA'))
  await new Promise((resolve) => setTimeout(resolve, 300))
  upstream.slow = async () => {}
  land()
  expect((await late).sent).toEqual(['a', 'b'])
  await first
  expect(upstream.sorted).toEqual(['a', 'b'])
})
