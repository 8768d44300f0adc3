// Puts whose answer was lost, and threads that others remove or put once more meanwhile.
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { kinds } from './stores.ts'
import { around, at, long, messagesOf, put, said } from './thread.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

const texts = (count: number) => Array.from({ length: count }, (_, i) => `${i} ${long}`)

/** The next put is committed, and nobody hears of it. */
const loseAnswer = (cf: Counterfoil) =>
  around(cf, 'putStep', async (real) => {
    await real()
    throw new Error('the line is gone')
  })

const bodiesOf = async (cf: Counterfoil) =>
  (await cf.threads.listSteps({ threadId: 't', space: '' })).items.map((row) => row.bodyJson)

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 a put that was committed and is tried again is not written twice', async () => {
      const cf = await kind.open()
      const saver = new CounterfoilSaver(cf)
      const steps = [20, 21, 22, 23].map((count) => said(texts(count)))
      let parent: string | undefined
      for (const one of steps) {
        loseAnswer(cf)
        await expect(put(saver, one, parent)).rejects.toThrow('the line is gone')
        for (let i = 0; i < 3; i++) await put(saver, one, parent)
        parent = one.id
      }
      const bodies = await bodiesOf(cf)
      const [first = '', ...later] = bodies.toReversed()
      // As without any loss: a whole one, and what each has added to it.
      for (const body of later) expect(body.length).toBeLessThan(first.length / 4)
      expect(bodies.join('')).not.toContain('"again"')
      const fresh = new CounterfoilSaver(await kind.again(cf))
      for (const one of steps) {
        expect(await messagesOf(fresh, one)).toEqual(one.channel_values['messages'])
      }
    })

    test('K1 a host that ends where it began, on a thread that was removed', async () => {
      const cf = await kind.open()
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(await kind.again(cf))]
      const one = said(['1'])
      await put(a, one)
      await b.deleteThread('t')
      await put(a, one, one.id)
      expect(await messagesOf(b, one)).toEqual(['1'])
    })

    test('K1 a form that is added while a checkpoint is read with its writes', async () => {
      const cf = await kind.open()
      const other = await kind.again(cf)
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(other)]
      const messages = texts(3).map((text) => ({ text }))
      const one = said(messages)
      await put(b, one)
      around(cf, 'listWrites', async (real) => {
        const again = [...messages, { text: 'more' }]
        await put(b, said(again, one.id))
        await b.putWrites(at(one.id), [['messages', [...again, { text: 'yet' }]]], 'task')
        return real()
      })
      const tuple = await a.getTuple(at(one.id))
      const last = [...messages, { text: 'more' }, { text: 'yet' }]
      expect(tuple?.pendingWrites).toEqual([['task', 'messages', last]])
    })

    test('K1 a pruning of idle threads leaves what was put once more meanwhile', async () => {
      const cf = await kind.open()
      const b = new CounterfoilSaver(await kind.again(cf))
      const one = said(['1'])
      await put(b, one)
      await new Promise((resolve) => setTimeout(resolve, 20))
      around(cf, 'pruneSteps', async (real) => {
        await put(b, said(['uno'], one.id))
        return real()
      })
      await new CounterfoilSaver(cf, { ttlMs: 10 }).prune()
      expect(await messagesOf(b, one)).toEqual(['uno'])
    })

    test('K1 a pruning of an idle thread that somebody goes on with removes nothing', async () => {
      const cf = await kind.open()
      const b = new CounterfoilSaver(await kind.again(cf))
      const one = said(texts(3))
      await put(b, one)
      await new Promise((resolve) => setTimeout(resolve, 20))
      const two = said(texts(4))
      around(cf, 'pruneSteps', async (real) => {
        await put(b, two, one.id)
        return real()
      })
      const pruned = await new CounterfoilSaver(cf, { ttlMs: 10 }).prune()
      expect(pruned).toEqual({ threads: 0, steps: 0 })
      expect(await messagesOf(b, two)).toEqual(texts(4))
    })
  })
}
