// A branch whose model finds other words for what was sent on the way that was left.
import { Command } from '@langchain/langgraph'
import { afterAll, afterEach, expect, test } from 'vitest'
import type { Counterfoil } from '../../../../src/index.ts'
import { settled, thread, waitsFor } from '../lab.ts'
import { memory, postgres, sqlite } from '../saver/stores.ts'
import { built, graphs, type Invokable, straight, wordedInNode, words } from './graphs.ts'

const stores = [memory(), sqlite(), postgres()]
const [inMemory] = stores as [(typeof stores)[number]]
afterAll(async () => {
  for (const kind of stores) await kind.end()
})

afterEach(() => {
  words.steady = false
  words.gate = async () => {}
})

/** The config of the checkpoint that this node comes next at. */
async function before(graph: Invokable, next: string) {
  for await (const state of graph.getStateHistory(thread())) {
    if (state.next.join() === next) return state.config
  }
}

async function says(cf: Counterfoil, itemId: string | undefined, outcome: 'send' | 'use_record') {
  const { version } = await cf.inbox.get(itemId ?? '')
  await cf.inbox.decide(itemId ?? '', { outcome, by: 'ana', reason: 'looked', version })
}

/** Where somebody waits until they are let go. */
function gate(): [{ come: () => Promise<void>; reached: Promise<void> }, () => void] {
  let arrive = () => {}
  let go = () => {}
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  const come = () => {
    arrive()
    return gone
  }
  return [{ come, reached }, () => go()]
}

for (const kind of stores) {
  kind.describe(kind.name, () => {
    test('C2, K1 a branch in other words sends nothing before a person has seen both', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, straight)
      await graph.invoke({ words: '' }, thread())
      const first = await graph.invoke(null, await before(graph, 'sayA'))
      const itemId = waitsFor(first)
      const { reason, body } = await cf.inbox.get(itemId ?? '')
      expect(reason).toBe('same_effect')
      expect(body.unmatched.length).toBe(2)
      expect(upstream.sent).toEqual(['a', 'b'])
      const [record] = body.unmatched
      if (record === undefined) throw new Error('no record')
      const { version } = await cf.inbox.get(itemId ?? '')
      const said = { outcome: 'use_record', record, by: 'ana', reason: 'the same' } as const
      await cf.inbox.decide(itemId ?? '', { ...said, version })
      const second = await graph.invoke(null, thread())
      expect(second.sent.length).toBe(1)
      // The other record is all that is left to compare with.
      expect((await cf.inbox.get(waitsFor(second) ?? '')).body.unmatched.length).toBe(1)
      await says(cf, waitsFor(second), 'use_record')
      expect((await graph.invoke(null, thread())).sent.length).toBe(2)
      expect(upstream.sent).toEqual(['a', 'b'])
    })
  })
}

test('C2, K1 what a person has let a branch send is not asked about again', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = built(cf, straight)
  await graph.invoke({ words: '' }, thread())
  let end = await graph.invoke(null, await before(graph, 'sayA'))
  for (let n = 0; n < 2; n++) {
    await says(cf, waitsFor(end), 'send')
    end = await graph.invoke(null, thread())
  }
  expect(end.sent.length).toBe(2)
  await graph.invoke({ words: '' }, thread())
  expect(upstream.sorted).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
  expect((await cf.inbox.list()).items).toEqual([])
})

test('C2, K1 two retries of a broken step with one checkpoint_id send nothing twice', async () => {
  for (const ms of [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30]) {
    const cf = await inMemory.open()
    const { graph, upstream } = built(cf, straight)
    upstream.down = true
    await graph.invoke({ words: '' }, thread()).catch(() => {})
    upstream.down = false
    const { config } = await graph.getState(thread())
    const late = async () => {
      await new Promise((resolve) => setTimeout(resolve, ms))
      return graph.invoke(null, config)
    }
    const ends = await settled([graph.invoke(null, config), late()])
    const { sorted } = upstream
    expect(sorted, `${ms} ms: ${ends}`).toEqual([...new Set(sorted)])
    const { items } = await cf.inbox.list()
    // Whoever came second has gone on, and a person sees what the first had sent; or all is done.
    if (items.length === 0) expect(sorted, `${ms} ms: ${ends}`).toEqual(['a', 'b'])
    else expect(items.map(({ reason }) => reason)).toEqual(['same_effect'])
  }
})

test('C2, I1 a branch put between the check of a call and its intent stops it', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = built(cf, straight)
  const { commit } = cf.store
  let reached = () => {}
  const atIntent = new Promise<void>((resolve) => {
    reached = resolve
  })
  let go = () => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  cf.store.commit = async (commits) => {
    const intends = commits.some(({ changes }) => changes.records?.some((row) => row.attempt === 1))
    if (intends) {
      reached()
      await gone
    }
    return commit.call(cf.store, commits)
  }
  const first = graph.invoke({ words: '' }, thread())
  await atIntent
  await graph.updateState(await before(graph, 'sayA'), { words: 'x' }, 'sayA')
  go()
  expect(await settled([first])).toEqual(['THREAD_MOVED'])
  expect(upstream.sent).toEqual([])
  // What was not sent holds nobody up.
  expect((await graph.invoke(null, thread())).sent.length).toBe(2)
  expect((await cf.inbox.list()).items).toEqual([])
})

/** A thread whose first call went out, and nobody knows whether it landed. */
async function inDoubt() {
  const cf = await inMemory.open()
  const { graph, upstream } = built(cf, straight)
  words.steady = true
  upstream.slow = async () => {
    throw new Error('socket hang up')
  }
  const first = await graph.invoke({ words: '' }, thread())
  upstream.slow = async () => {}
  return { cf, graph, upstream, first }
}

test('C2, K1 a doubt of the way that was left is decided once, for the branch too', async () => {
  const { cf, graph, upstream, first } = await inDoubt()
  const second = await graph.invoke(null, await before(graph, 'sayA'))
  expect(waitsFor(second)).toBe(waitsFor(first))
  const { itemId, version } = await cf.inbox.get(waitsFor(first) ?? '')
  const said = { outcome: 'happened', result: 'a', by: 'ana', reason: 'seen' } as const
  await cf.inbox.decide(itemId, { ...said, version })
  const third = await graph.invoke(null, thread())
  expect(third.sent).toEqual(['a', 'b'])
  expect(upstream.sent).toEqual(['a', 'b'])
})

test('C2, K1 back on the way that was left, what was allowed once more is not sent', async () => {
  const { cf, graph, upstream, first } = await inDoubt()
  const left = (await graph.getState(thread())).config
  await graph.invoke(null, await before(graph, 'sayA'))
  const { itemId, version } = await cf.inbox.get(waitsFor(first) ?? '')
  const said = { outcome: 'did_not_happen', madeSure: true, by: 'ana', reason: 'looked' } as const
  await cf.inbox.decide(itemId, { ...said, version })
  expect((await graph.invoke(null, thread())).sent).toEqual(['a', 'b'])
  expect(upstream.sent).toEqual(['a', 'a', 'b'])
  // What the branch has sent since answers here.
  expect((await graph.invoke(null, left)).sent).toEqual(['a', 'b'])
  expect(upstream.sent).toEqual(['a', 'a', 'b'])
})

test('C2, K1 a call that was begun while a branch was being put is not its own', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = built(cf, straight)
  const [atGate, open] = gate()
  words.gate = atGate.come
  const first = settled([graph.invoke({ words: '' }, thread())])
  await atGate.reached
  words.gate = async () => {}
  const { putStep } = cf.threads
  const [atPut, put] = gate()
  cf.threads.putStep = async (...args: Parameters<typeof putStep>) => {
    if (args[0].noteJson.includes('fork')) await atPut.come()
    return putStep.apply(cf.threads, args)
  }
  const branch = graph.invoke(null, await before(graph, 'sayA'))
  await atPut.reached
  const [atUpstream, land] = gate()
  upstream.slow = atUpstream.come
  open()
  await atUpstream.reached
  put()
  upstream.slow = async () => {}
  land()
  expect((await cf.inbox.get(waitsFor(await branch) ?? '')).reason).toBe('same_effect')
  expect(await first).toEqual(['THREAD_MOVED'])
  expect(upstream.sent).toEqual(['a'])
})

test('C2, K1 a node that asks its model itself is asked about each call once', async () => {
  const cf = await inMemory.open()
  const { graph, upstream } = built(cf, wordedInNode)
  await graph.invoke({ words: '' }, thread())
  let end = await graph.invoke(null, await before(graph, 'begin'))
  const items = [waitsFor(end)]
  await says(cf, waitsFor(end), 'send')
  end = await graph.invoke(null, thread())
  items.push(waitsFor(end))
  await says(cf, waitsFor(end), 'use_record')
  end = await graph.invoke(null, thread())
  expect(end.sent.length).toBe(2)
  expect(new Set(items).size).toBe(2)
  expect(upstream.sorted).toEqual(['a', 'a', 'b'])
  expect((await cf.inbox.list()).items).toEqual([])
})

for (const name of ['one node that asks and sends', 'a stateless subgraph']) {
  const [make] = graphs[name] ?? []
  for (const kind of stores) {
    kind.describe(`${kind.name}, ${name}`, () => {
      test('C2, K1 of two processes in one node the second is told, nobody asked', async () => {
        if (make === undefined) throw new Error(`no graph ${name}`)
        const cf = await kind.open()
        const other = await kind.again(cf)
        for (const [n, ms] of [0, 1, 2, 4, 8].entries()) {
          const one = built(cf, make)
          const two = built(other, make, one.upstream)
          one.upstream.slow = () => new Promise((resolve) => setTimeout(resolve, ms))
          const of = thread(`t${n}`)
          await one.graph.invoke({ words: '' }, of)
          const click = (graph: Invokable) => graph.invoke(new Command({ resume: 'yes' }), of)
          const ends = await settled([click(one.graph), click(two.graph)])
          expect(one.upstream.sorted, `${ms} ms: ${ends}`).toEqual(['a', 'b'])
          expect((await cf.inbox.list()).items, `${ms} ms: ${ends}`).toEqual([])
          expect(ends.toSorted(), `${ms} ms`).toEqual(['THREAD_MOVED', 'done'])
        }
      })
    })
  }
}
