// Two invocations of one thread at once: a thread is one line, and who is off it sends nothing.
import { Command } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver, guard } from '../../../../src/adapters/langgraph/index.ts'
import { isAside } from '../../../../src/index.ts'
import { asking, mailer, says, settled, thread, unsafe } from '../lab.ts'
import { memory, postgres, sqlite } from '../saver/stores.ts'
import { built, graphs, type Invokable, line, straight } from './graphs.ts'

const stores = { memory: memory(), sqlite: sqlite(), postgres: postgres() }
afterAll(async () => {
  for (const kind of Object.values(stores)) await kind.end()
})

const click = (graph: Invokable) => graph.invoke(new Command({ resume: 'yes' }), thread())

const bySpeed = { 'that is quick': 0, 'that is slow': 30 }

for (const kind of [stores.memory, stores.sqlite]) {
  kind.describe(kind.name, () => {
    for (const [name, [make, wanted]] of Object.entries(graphs)) {
      for (const [speed, ms] of Object.entries(bySpeed)) {
        test(`C2, K1 two and three clicks at once: ${name}, an upstream ${speed}`, async () => {
          for (const count of [2, 3]) {
            const cf = await kind.open()
            const { graph, upstream } = built(cf, make)
            upstream.slow = () => new Promise((resolve) => setTimeout(resolve, ms))
            await graph.invoke({ words: '' }, thread())
            const clicks = Array.from({ length: count }, () => click(graph))
            const ends = await settled(clicks)
            expect(upstream.sorted, ends.join()).toEqual(wanted)
            expect(ends).toContain('done')
            expect(new Set(ends.filter((end) => end !== 'done'))).toEqual(
              ends.every((end) => end === 'done') ? new Set() : new Set(['THREAD_MOVED']),
            )
            expect((await cf.inbox.list()).items).toEqual([])
            // What was set aside is nowhere to be seen, and the thread is through.
            const { next } = await graph.getState(thread())
            expect(next).toEqual([])
          }
        })
      }
    }
  })
}

const all = Object.values(stores)

for (const kind of all) {
  kind.describe(`one thread, ${kind.name}`, () => {
    test('C2, K1 two first inputs at once: one begins the thread', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, straight)
      const ends = await settled([1, 2, 3].map(() => graph.invoke({ words: '' }, thread())))
      expect(upstream.sorted).toEqual(['a', 'b'])
      expect(ends.toSorted()).toEqual(['THREAD_MOVED', 'THREAD_MOVED', 'done'])
      expect((await graph.getState(thread())).values.sent.length).toBe(2)
    })

    test('C2, K1 a resume against a new input at once: one goes on', async () => {
      const cf = await kind.open()
      const { graph, upstream } = built(cf, line)
      await graph.invoke({ words: '' }, thread())
      // The new input stops at the question; it sends nothing, whoever was first. A click that
      // comes when the old question is gone answers nothing, and is shown the new one.
      let asks = false
      const clicked = click(graph).then((end: object) => {
        asks = '__interrupt__' in end
      })
      const ends = await settled([clicked, graph.invoke({ words: 'other' }, thread())])
      const wentOn = ends[0] === 'done' && !asks
      expect(upstream.sorted, ends.join()).toEqual(wentOn ? ['a', 'b'] : [])
      const { next } = await graph.getState(thread())
      expect(next).toEqual(wentOn ? [] : ['ask'])
    })

    test('C2, K1 two processes resume at once: one of them sends', async () => {
      const cf = await kind.open()
      const other = await kind.again(cf)
      const one = built(cf, line)
      const two = built(other, line, one.upstream)
      await one.graph.invoke({ words: '' }, thread())
      for (let n = 0; n < 3; n++) {
        one.upstream.sent.length = 0
        const ends = await settled([click(one.graph), click(two.graph)])
        expect(one.upstream.sorted, ends.join()).toEqual(['a', 'b'])
        expect(ends).toContain('done')
        await one.graph.invoke({ words: 'next' }, thread())
      }
      expect((await cf.inbox.list()).items).toEqual([])
    })

    test('K1 what was set aside is not listed, and can be read by its id', async () => {
      const cf = await kind.open()
      const { graph } = built(cf, line)
      await graph.invoke({ words: '' }, thread())
      await settled([click(graph), click(graph)])
      const rows = (await cf.threads.listSteps({ threadId: 't1', aside: true })).items
      const notListed = rows.map(({ stepId }) => stepId).filter(isAside)
      const aside = notListed.filter((stepId) => stepId !== '!turn') // who sends there; no step
      expect(aside.length).toBeGreaterThan(0)
      const listed: string[] = []
      for await (const { config } of graph.getStateHistory(thread())) {
        listed.push(config.configurable.checkpoint_id)
      }
      expect(listed.length).toBe(rows.length - notListed.length)
      for (const id of aside.map((each) => each.slice(1))) {
        const at = { configurable: { thread_id: 't1', checkpoint_id: id } }
        expect((await graph.getState(at)).config.configurable.checkpoint_id).toBe(id)
      }
    })
  })
}

test('C2 THREAD_MOVED is not told to a model: a tool node passes it on', async () => {
  const cf = await stores.memory.open()
  const { outbox, sendEmail } = mailer()
  const asked = asking({ name: 'send_email', args: { to: 'a' } })
  const graph = createReactAgent({
    llm: asked,
    tools: guard(cf, [sendEmail], { send_email: unsafe }),
    checkpointer: new CounterfoilSaver(cf),
  })
  const ends = await settled([1, 2].map(() => graph.invoke(says(), thread())))
  expect(ends.toSorted()).toEqual(['THREAD_MOVED', 'done'])
  expect(outbox.sent).toEqual(['a'])
  // Two first replies, and one about what the tool has answered.
  expect(asked.asked).toBe(3)
})
