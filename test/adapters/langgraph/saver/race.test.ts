// Four processes that put, put once more, write, prune and delete in one thread, all at once: what
// is there can be read at every moment, by everybody.
import type { Checkpoint } from '@langchain/langgraph-checkpoint'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import { type Counterfoil, isCounterfoilError } from '../../../../src/index.ts'
import { seeded } from '../../../sim/clock.ts'
import { kinds } from './stores.ts'
import { at, long, put, said } from './thread.ts'

const all = kinds()
afterAll(async () => {
  for (const kind of all) await kind.end()
})

const texts = (count: number, by: string) =>
  Array.from({ length: count }, (_, i) => ({ text: `${by} ${i} ${long}` }))

interface Put {
  readonly checkpoint: Checkpoint
  readonly parent: string | undefined
}

/** What all have put, whether it is still there or not: any of it may be put again. */
class Crowd {
  readonly puts: Put[] = []
  readonly counts: Record<string, number> = {}

  async act(saver: CounterfoilSaver, by: string, random: () => number): Promise<void> {
    const known = this.puts.at(-1 - Math.floor(random() * Math.min(6, this.puts.length)))
    const dice = random()
    if (known === undefined || dice < 0.4) return this.put(saver, by, known?.checkpoint)
    if (dice < 0.55) return this.again(saver, by, known)
    if (dice < 0.62) return this.again(saver, by, known, known.checkpoint)
    if (dice < 0.8) {
      const value = texts(1 + Math.floor(random() * 5), by)
      this.count('writes')
      return saver.putWrites(at(known.checkpoint.id), [['messages', value]], by)
    }
    if (dice < 0.92) return this.read(saver)
    if (dice < 0.98) {
      this.count('prunes')
      await saver.prune()
      return
    }
    this.count('deletes')
    return saver.deleteThread('t')
  }

  async read(saver: CounterfoilSaver): Promise<void> {
    this.count('reads')
    await saver.getTuple(at())
    for await (const tuple of saver.list(at())) {
      expect(tuple.checkpoint.channel_values['messages']).toBeInstanceOf(Array)
    }
  }

  private async put(saver: CounterfoilSaver, by: string, parent?: Checkpoint): Promise<void> {
    const old = (parent?.channel_values['messages'] ?? []) as object[]
    const messages = [...old.slice(-20), ...texts(1, by)]
    const checkpoint = { ...said(messages), channel_versions: { messages: this.puts.length + 1 } }
    const made = { checkpoint, parent: parent?.id }
    this.puts.push(made)
    return this.again(saver, by, made, checkpoint)
  }

  /** The same id, as it was (an answer was lost) or with something else in it. */
  private async again(
    saver: CounterfoilSaver,
    by: string,
    { checkpoint, parent }: Put,
    as?: object,
  ) {
    this.count(as ? 'puts' : 'others')
    const messages = texts(3, `again ${by}`)
    const given = as ? checkpoint : { ...checkpoint, channel_values: { messages } }
    await put(saver, given, parent)
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }
}

/** Somebody else is allowed to be quicker, even eight times; nothing else may go wrong. */
async function unlessBusy(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!isCounterfoilError(error, 'THREAD_BUSY') && !isCounterfoilError(error, 'STORE_BUSY')) {
      throw error
    }
  }
}

const turns: Record<string, number> = { memory: 150, sqlite: 60, postgres: 40 }
const seed = Number(process.env['COUNTERFOIL_SEED'] ?? 1)

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1, B6 a crowd that works on one thread damages nothing', async () => {
      const first = await kind.open()
      const cfs: Counterfoil[] = [first]
      while (cfs.length < 4) cfs.push(await kind.again(first))
      const crowd = new Crowd()
      const savers = cfs.map((cf, i) => new CounterfoilSaver(cf, i === 0 ? {} : { keepSteps: 4 }))
      await Promise.all(
        savers.map(async (saver, i) => {
          const random = seeded(seed * 100 + i)
          for (let turn = 0; turn < (turns[kind.name] ?? 0); turn++) {
            await unlessBusy(crowd.act(saver, `p${i}`, random))
          }
        }),
      )
      const fresh = new CounterfoilSaver(await kind.again(first), { keepSteps: 2 })
      await crowd.read(fresh)
      await fresh.prune()
      await crowd.read(fresh)
      for (const what of ['puts', 'others', 'writes', 'prunes', 'reads']) {
        expect(crowd.counts[what], what).toBeGreaterThan(0)
      }
    }, 180_000)
  })
}
