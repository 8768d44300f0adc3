// A checkpoint that was pruned and put once more, while another process still holds its first form.
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import { type Kind, kinds } from './stores.ts'
import { at, long, put, said } from './thread.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

const texts = (count: number) => Array.from({ length: count }, (_, i) => ({ text: `${i} ${long}` }))

/** The second of a thread as `a` holds it: pruned, and put again by who had lost the answer. */
async function pruned(kind: Kind) {
  const cf = await kind.open()
  const a = new CounterfoilSaver(cf)
  const b = new CounterfoilSaver(await kind.again(cf), { keepSteps: 1 })
  const [one, two, three] = [said(texts(3)), said(texts(4)), said(texts(5))]
  await put(a, one)
  await put(a, two, one.id)
  await put(b, three, two.id)
  await b.prune()
  await put(b, two, one.id)
  const fresh = new CounterfoilSaver(await kind.again(cf), { keepSteps: 1 })
  return { a, two, fresh }
}

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 a child of a checkpoint that was pruned and put once more', async () => {
      const { a, two, fresh } = await pruned(kind)
      const four = said(texts(6))
      await put(a, four, two.id)
      expect((await fresh.getTuple(at(four.id)))?.checkpoint.channel_values).toEqual(
        four.channel_values,
      )
    })

    test('K1 writes of a checkpoint that was pruned and put once more', async () => {
      const { a, two, fresh } = await pruned(kind)
      await a.putWrites(at(two.id), [['messages', texts(7)]], 'task')
      const tuple = await fresh.getTuple(at(two.id))
      expect(tuple?.pendingWrites).toEqual([['task', 'messages', texts(7)]])
    })

    test('K1 a thread with such a child is pruned all the same', async () => {
      const { a, two, fresh } = await pruned(kind)
      await put(a, said(texts(6)), two.id)
      await fresh.prune()
    })
  })
}
