// Several processes that put into one place of a thread: none writes over what it has not seen.
import type { Checkpoint } from '@langchain/langgraph-checkpoint'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { kinds } from './stores.ts'
import { around, at, long, messagesOf, put, said } from './thread.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

/** A thread that says one thing more each time; `of`: the same checkpoint with other words. */
const saying = (texts: readonly string[], of?: Checkpoint) =>
  said(
    texts.map((text) => `${text} ${long}`),
    of?.id,
  )

/** Before its next call of `name`, somebody else does something. */
const interpose = (cf: Counterfoil, name: 'putStep' | 'pruneSteps', act: () => Promise<unknown>) =>
  around(cf, name, async (real) => {
    await act()
    return real()
  })

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 an id greater than all that this process saw was put by another', async () => {
      const cf = await kind.open()
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(await kind.again(cf))]
      const one = saying(['1'])
      const two = saying(['1', '2'])
      const otherwise = saying(['1', 'two'], two)
      const three = saying(['1', '2', '3'])
      await put(a, one)
      await put(b, two, one.id)
      // It has seen nothing but the first: to it, the second is new.
      await put(a, otherwise, one.id)
      await put(b, three, two.id)
      const fresh = new CounterfoilSaver(await kind.again(cf))
      expect(await messagesOf(fresh, three)).toEqual(three.channel_values['messages'])
      expect(await messagesOf(fresh, two)).toEqual(otherwise.channel_values['messages'])
    })

    test('K1 two put one checkpoint once more at the same time', async () => {
      const cf = await kind.open()
      const other = await kind.again(cf)
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(other)]
      const one = saying(['1'])
      await put(a, one)
      const child = saying(['one', '2'])
      // Between the look of the first and its write, the second writes, and is built upon.
      interpose(cf, 'putStep', async () => {
        await put(b, saying(['one'], one))
        await put(b, child, one.id)
      })
      await put(a, saying(['uno'], one))
      const fresh = new CounterfoilSaver(await kind.again(cf))
      expect(await messagesOf(fresh, child)).toEqual(child.channel_values['messages'])
      expect(await messagesOf(fresh, one)).toEqual(saying(['uno']).channel_values['messages'])
    })

    test('K1 what a pruning would make whole is put once more, and built upon', async () => {
      const cf = await kind.open()
      const other = await kind.again(cf)
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(other)]
      const steps = [saying(['1'])]
      await put(a, steps[0] as Checkpoint)
      for (const n of ['2', '3']) {
        const parent = steps.at(-1) as Checkpoint
        steps.push(saying([...steps.map((_, i) => `${i + 1}`), n]))
        await put(a, steps.at(-1) as Checkpoint, parent.id)
      }
      const [, second, third] = steps as [Checkpoint, Checkpoint, Checkpoint]
      const again = saying(['1', '2', 'three'], third)
      const child = saying(['1', '2', 'three', '4'])
      const pruner = new CounterfoilSaver(cf, { keepSteps: 1 })
      interpose(cf, 'pruneSteps', async () => {
        await put(b, again, second.id)
        await put(b, child, third.id)
      })
      await pruner.prune()
      const fresh = new CounterfoilSaver(await kind.again(cf))
      expect(await messagesOf(fresh, child)).toEqual(child.channel_values['messages'])
      const left = []
      for await (const { checkpoint } of fresh.list(at())) left.push(checkpoint.id)
      expect(left).toEqual([child.id])
    })

    test('K1 a place that somebody else writes to all the time is an error', async () => {
      const cf = await kind.open()
      const other = await kind.again(cf)
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(other)]
      const one = saying(['1'])
      await put(a, one)
      let n = 0
      const meddle = () =>
        interpose(cf, 'putStep', async () => {
          await put(b, saying([`other ${++n}`], one))
          meddle()
        })
      meddle()
      await expect(put(a, saying(['mine'], one))).rejects.toMatchObject({
        code: 'THREAD_BUSY',
        retryable: true,
        message: expect.stringContaining(one.id),
      })
      expect(await messagesOf(b, one)).toEqual(saying([`other ${n}`]).channel_values['messages'])
    })
  })
}
