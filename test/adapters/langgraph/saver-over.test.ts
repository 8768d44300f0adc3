// Several processes that put into one place of a thread: none writes over what it has not seen.
import { type Checkpoint, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../src/index.ts'
import { kinds } from './saver-stores.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

const at = (id?: string) => ({
  configurable: { thread_id: 't', checkpoint_ns: '', ...(id && { checkpoint_id: id }) },
})
const note = { source: 'loop' as const, step: 1, parents: {} }
const long = 'lorem ipsum '.repeat(200)

/** The n-th of a thread that says one thing more each time. */
function said(texts: readonly string[], of?: Checkpoint): Checkpoint {
  const versions = { messages: texts.length }
  const values = { messages: texts.map((text) => `${text} ${long}`) }
  return {
    ...emptyCheckpoint(),
    ...{ id: of?.id ?? uuid6(0), channel_values: values, channel_versions: versions },
  }
}

const put = (saver: CounterfoilSaver, one: Checkpoint, parent?: string) =>
  saver.put(at(parent), one, note, one.channel_versions)

const messagesOf = async (saver: CounterfoilSaver, { id }: Checkpoint) =>
  (await saver.getTuple(at(id)))?.checkpoint.channel_values['messages']

/** Before its next call of `name`, somebody else does something. */
function interpose(cf: Counterfoil, name: 'putStep' | 'pruneSteps', act: () => Promise<unknown>) {
  const { threads } = cf
  const real = threads[name].bind(threads) as (...args: unknown[]) => Promise<boolean>
  threads[name] = async (...args: unknown[]) => {
    delete (threads as Partial<typeof threads>)[name]
    await act()
    return real(...args)
  }
}

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 an id greater than all that this process saw was put by another', async () => {
      const cf = await kind.open()
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(await kind.again(cf))]
      const one = said(['1'])
      const two = said(['1', '2'])
      const otherwise = said(['1', 'two'], two)
      const three = said(['1', '2', '3'])
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
      const one = said(['1'])
      await put(a, one)
      const child = said(['one', '2'])
      // Between the look of the first and its write, the second writes, and is built upon.
      interpose(cf, 'putStep', async () => {
        await put(b, said(['one'], one))
        await put(b, child, one.id)
      })
      await put(a, said(['uno'], one))
      const fresh = new CounterfoilSaver(await kind.again(cf))
      expect(await messagesOf(fresh, child)).toEqual(child.channel_values['messages'])
      expect(await messagesOf(fresh, one)).toEqual(said(['uno']).channel_values['messages'])
    })

    test('K1 what a pruning would make whole is put once more, and built upon', async () => {
      const cf = await kind.open()
      const other = await kind.again(cf)
      const [a, b] = [new CounterfoilSaver(cf), new CounterfoilSaver(other)]
      const steps = [said(['1'])]
      await put(a, steps[0] as Checkpoint)
      for (const n of ['2', '3']) {
        const parent = steps.at(-1) as Checkpoint
        steps.push(said([...steps.map((_, i) => `${i + 1}`), n]))
        await put(a, steps.at(-1) as Checkpoint, parent.id)
      }
      const [, second, third] = steps as [Checkpoint, Checkpoint, Checkpoint]
      const again = said(['1', '2', 'three'], third)
      const child = said(['1', '2', 'three', '4'])
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
      const one = said(['1'])
      await put(a, one)
      let n = 0
      const meddle = () =>
        interpose(cf, 'putStep', async () => {
          await put(b, said([`other ${++n}`], one))
          meddle()
        })
      meddle()
      await expect(put(a, said(['mine'], one))).rejects.toMatchObject({
        code: 'THREAD_BUSY',
        retryable: true,
        message: expect.stringContaining(one.id),
      })
      expect(await messagesOf(b, one)).toEqual(said([`other ${n}`]).channel_values['messages'])
    })
  })
}
