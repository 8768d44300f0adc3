// What tests of one thread that several processes work on share: checkpoints with long messages,
// and somebody who acts in the middle of another's call.
import { type Checkpoint, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import type { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil, Threads } from '../../../../src/index.ts'

export const long = 'lorem ipsum '.repeat(200)

export const at = (id?: string) => ({
  configurable: { thread_id: 't', checkpoint_ns: '', ...(id && { checkpoint_id: id }) },
})

export function said(messages: readonly unknown[], id = uuid6(0)): Checkpoint {
  return {
    ...{ ...emptyCheckpoint(), id, channel_values: { messages } },
    channel_versions: { messages: messages.length },
  }
}

export async function put(saver: CounterfoilSaver, one: Checkpoint, parent?: string) {
  const note = { source: 'loop' as const, step: 1, parents: {} }
  await saver.put(at(parent), one, note, one.channel_versions)
}

export const messagesOf = async (saver: CounterfoilSaver, { id }: Checkpoint) =>
  (await saver.getTuple(at(id)))?.checkpoint.channel_values['messages']

type Name = 'putStep' | 'pruneSteps' | 'listWrites'
type Call = (...args: unknown[]) => Promise<unknown>

/** Around the next call of `name`. */
export function around(
  { threads }: Counterfoil,
  name: Name,
  act: (real: () => Promise<unknown>) => unknown,
): void {
  const real = threads[name].bind(threads) as Call
  const replaced: Call = async (...args) => {
    delete (threads as Partial<Threads>)[name]
    return act(() => real(...args))
  }
  Object.assign(threads, { [name]: replaced })
}
