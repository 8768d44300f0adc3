import { Command, MemorySaver } from '@langchain/langgraph'
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import { afterAll, describe, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { agents, asked, asking, odd, textOf } from './graphs.ts'
import { kinds, memory } from './stores.ts'

const all = kinds()
const inMemory = memory()
afterAll(async () => {
  for (const kind of [...all, inMemory]) await kind.end()
})

/** Of all rows, in bytes of what the saver gave them. */
async function sizeOf({ threads }: Counterfoil, threadId: string): Promise<number> {
  let size = 0
  for (let cursor: string | undefined; ; ) {
    const page = await threads.listSteps({ threadId, ...(cursor === undefined ? {} : { cursor }) })
    for (const row of page.items) {
      size += Buffer.byteLength(row.bodyJson) + Buffer.byteLength(row.noteJson)
      for (const write of await threads.listWrites(row, [row.stepId])) {
        size += Buffer.byteLength(write.bodyJson)
      }
    }
    if (page.next === null) return size
    cursor = page.next
  }
}

function sizeOfTheirs({ storage, writes }: MemorySaver): number {
  let size = 0
  const add = (part: unknown): void => {
    if (part instanceof Uint8Array) size += part.length
    else if (typeof part === 'object' && part !== null)
      for (const one of Object.values(part)) add(one)
  }
  add(storage)
  add(writes)
  return size
}

describe('K1 bytes of a thread', () => {
  for (const [name, agent] of Object.entries(agents)) {
    test(`K1 grow with its messages: ${name}`, async () => {
      const measure = async (rounds: number) => {
        const cf = await inMemory.open()
        const theirs = new MemorySaver()
        const config = { configurable: { thread_id: 't' }, recursionLimit: 500 }
        const { messages } = await agent(rounds, new CounterfoilSaver(cf)).invoke(asked(), config)
        await agent(rounds, theirs).invoke(asked(), config)
        const payload = messages.reduce((sum, { content }) => sum + String(content).length, 0)
        const last = await new CounterfoilSaver(cf).getTuple(config)
        expect(last?.checkpoint.channel_values['messages']).toHaveLength(messages.length)
        return { ours: (await sizeOf(cf, 't')) / payload, theirs: sizeOfTheirs(theirs) / payload }
      }
      const [short, long] = [await measure(6), await measure(24)]
      // The control: with LangGraph's own saver every message costs more, the longer the thread.
      expect(long.theirs / short.theirs).toBeGreaterThan(2.5)
      expect(long.ours / short.ours).toBeLessThan(1.1)
      expect(long.ours).toBeLessThan(4)
    })
  }
})

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 a thread interrupted in a subgraph goes on in another process', async () => {
      const cf = await kind.open()
      const config = { configurable: { thread_id: 't' } }
      const first = await asking(new CounterfoilSaver(cf)).invoke(asked(), config)
      expect(first).toHaveProperty('__interrupt__')
      const graph = asking(new CounterfoilSaver(await kind.again(cf)))
      const { values, next } = await graph.getState(config)
      expect(next).toEqual(['sub'])
      expect(values.seen).toEqual(odd())
      expect(Object.keys(values.seen)).toEqual(Object.keys(odd()))
      const deep = await graph.getState(config, { subgraphs: true })
      expect(deep.tasks[0]?.interrupts[0]?.value).toEqual({ question: 'Go on?' })
      const { steps } = await graph.invoke(new Command({ resume: 'yes' }), config)
      expect(steps.slice(-3)).toEqual(['look', 'answer yes', 'last'])
    })

    test('K1 history, forks and copies are those of MemorySaver', async () => {
      const told = await Promise.all(
        [new CounterfoilSaver(await kind.open()), new MemorySaver()].map(async (saver) => {
          const config = { configurable: { thread_id: 't' } }
          const graph = asking(saver)
          await graph.invoke(asked(), config)
          await graph.invoke(new Command({ resume: 'yes' }), config)
          const states = []
          for await (const state of graph.getStateHistory(config)) states.push(state)
          const worked = states.find(({ next }) => next.includes('work'))
          const fork = await graph.updateState(worked?.config ?? {}, { steps: ['forked'] }, 'plan')
          await graph.invoke(null, fork)
          const copied = await graph.updateState(worked?.config ?? {}, null, '__copy__')
          await graph.invoke(null, copied)
          await graph.invoke(new Command({ resume: 'again' }), config)
          const all = []
          for await (const { values, next, metadata } of graph.getStateHistory(config)) {
            all.push({ values, next, step: metadata?.step, source: metadata?.source })
          }
          return all
        }),
      )
      expect(told[0]?.length).toBeGreaterThan(10)
      expect(told[0]).toEqual(told[1])
    })

    test('K1 a checkpoint put again keeps its parent, its children and its writes', async () => {
      const cf = await kind.open()
      const saver = new CounterfoilSaver(cf)
      const at = { thread_id: 't', checkpoint_ns: '' }
      const put = (id: string, parent: string | undefined, messages: string[], seen = {}) => {
        const checkpoint = { ...emptyCheckpoint(), id, channel_values: { messages } }
        const versions = { messages: messages.length }
        const full = { ...checkpoint, channel_versions: versions, versions_seen: seen }
        const config = { configurable: { ...at, checkpoint_id: parent } }
        return saver.put(config, full, { source: 'loop', step: 0, parents: {} }, versions)
      }
      const [one, two, three] = [textOf(1), textOf(2), textOf(3)]
      await put('1', undefined, [one])
      const second = await put('2', '1', [one, two])
      await saver.putWrites(second, [['messages', [one, two, three]]], 'task')
      await put('3', '2', [one, two, three])
      // As LangGraph does when a run ends where it began.
      await put('2', '2', [one, two], { __interrupt__: { messages: 2 } })
      const other = new CounterfoilSaver(await kind.again(cf))
      const again = await other.getTuple({ configurable: { ...at, checkpoint_id: '2' } })
      expect(again?.parentConfig?.configurable?.['checkpoint_id']).toBe('1')
      expect(again?.checkpoint.versions_seen).toEqual({ __interrupt__: { messages: 2 } })
      expect(again?.pendingWrites).toEqual([['task', 'messages', [one, two, three]]])
      const child = await other.getTuple({ configurable: at })
      expect(child?.checkpoint.channel_values).toEqual({ messages: [one, two, three] })
    })
  })
}
