// Random lives of threads: LangGraph's MemorySaver is told the same, and has to give the same back.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { Send } from '@langchain/langgraph'
import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  DeltaSnapshot,
  MemorySaver,
  type PendingWrite,
  uuid6,
} from '@langchain/langgraph-checkpoint'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil } from '../../../../src/index.ts'
import { fc } from '../../../seed.ts'
import { memory, postgres, sqlite } from './stores.ts'

const threads = ['a', 'b']
const spaces = ['', 'sub']

// Values that a serialisation may get wrong: order of keys, halves of characters, classes, marks.
const odd = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, '', '\ud83d', '\uFDD0x', { '\uFDD1': 1, a: 2 }),
  fc.constantFrom<unknown>(new Set([1, 'b']), new Map([['k', { z: 1, a: 2 }]]), new Error('no')),
  fc.constantFrom<unknown>({ z: 1, a: { y: 2, b: '\0' } }, [[], {}], { '\ud83d': '\uFDD2' }),
  fc.constantFrom<unknown>(new Uint8Array([0, 255]), { at: new Uint8Array([7]) }, /x+/g),
  fc.dictionary(fc.string({ unit: 'binary', maxLength: 3 }), fc.jsonValue(), { maxKeys: 20 }),
  fc.jsonValue(),
)

const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('say' as const), text: fc.string() }) },
  fc.record({ kind: fc.constant('set' as const), value: odd }),
  fc.record({ kind: fc.constant('send' as const), count: fc.nat(2) }),
  fc.record({ kind: fc.constant('forget' as const) }),
)

const place = { thread: fc.nat(1), space: fc.nat(1) }
const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put' as const), ...place, from: fc.nat(9), change }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ do: fc.constant('write' as const), ...place, at: fc.nat(9), task: fc.nat(2) },
      ...{ value: odd, special: fc.boolean() },
    }),
  },
  fc.record({ do: fc.constant('again' as const), ...place, at: fc.nat(9), value: odd }),
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), ...place }) },
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

const long = 'lorem ipsum '.repeat(60)

/** What a host would hold of one space. */
interface Held {
  readonly tuples: { checkpoint: Checkpoint; parent: string | undefined }[]
}

class Life {
  readonly oracle = new MemorySaver()
  readonly held = new Map<string, Held>()
  readonly savers: readonly CounterfoilSaver[]
  #turn = 0

  constructor(cfs: readonly Counterfoil[]) {
    this.savers = cfs.map((cf) => new CounterfoilSaver(cf))
  }

  /** As if the next process had its turn. */
  get saver(): CounterfoilSaver {
    return this.savers[this.#turn++ % this.savers.length] as CounterfoilSaver
  }

  async act(one: Action): Promise<void> {
    const key = `${threads[one.thread]}/${spaces[one.space]}`
    const held = this.held.get(key) ?? { tuples: [] }
    this.held.set(key, held)
    const at = { thread_id: threads[one.thread], checkpoint_ns: spaces[one.space] }
    if (one.do === 'delete') return this.delete(one.thread)
    if (one.do === 'put') return this.put(held, at, one)
    const step = held.tuples.at(-1 - (one.at % (held.tuples.length || 1)))
    if (step === undefined) return
    const { checkpoint, parent } = step
    if (one.do === 'again') {
      checkpoint.channel_values['odd'] = one.value
      const versions = { ...checkpoint.channel_versions, odd: 100 + this.#turn }
      checkpoint.channel_versions = versions
      const config = { configurable: { ...at, checkpoint_id: parent } }
      await this.both((s) => s.put(config, copy(checkpoint), meta(-1), versions))
      return
    }
    const config = { configurable: { ...at, checkpoint_id: checkpoint.id } }
    const messages = checkpoint.channel_values['messages'] as unknown[] | undefined
    const packet = new Send('tools', { messages: [...(messages ?? []), new AIMessage('more')] })
    // In a list, because MemorySaver cannot read a write that is nothing but bytes.
    const writes: PendingWrite[] = one.special
      ? [['__interrupt__', [one.value]]]
      : [
          ['odd', [one.value]],
          ['__pregel_tasks', packet],
        ]
    await this.both((s) => s.putWrites(config, writes, `task-${one.task}`))
  }

  async put(held: Held, at: object, one: Extract<Action, { do: 'put' }>): Promise<void> {
    const from = held.tuples.at(-1 - (one.from > 6 ? one.from % held.tuples.length : 0))
    const base = from?.checkpoint
    const values = { ...base?.channel_values }
    const versions = { ...base?.channel_versions } as Record<string, number>
    const changed: Record<string, number> = {}
    const set = (channel: string, value: unknown) => {
      if (value === gone) delete values[channel]
      else values[channel] = value
      changed[channel] = (versions[channel] ?? 0) + 1
    }
    const { change } = one
    const said = new HumanMessage({ content: `${'text' in change ? change.text : ''}${long}` })
    const messages = [...((values['messages'] as unknown[]) ?? []), said]
    if (change.kind === 'say') set('messages', messages)
    if (change.kind === 'set') set('odd', change.value)
    if (change.kind === 'forget') set('messages', gone)
    const packets = Array.from({ length: 'count' in change ? change.count : 0 }, (_, i) => {
      return new Send('tools', { messages, i, z: 1, a: new DeltaSnapshot([i]) })
    })
    if (change.kind === 'send') set('__pregel_tasks', packets)
    const checkpoint: Checkpoint = {
      ...{ v: 4, id: uuid6(0), ts: '2026-01-01T00:00:00.000Z', channel_values: values },
      channel_versions: { ...versions, ...changed },
      versions_seen: { tools: { ...versions } },
    }
    held.tuples.push({ checkpoint, parent: base?.id })
    const config = { configurable: { ...at, checkpoint_id: base?.id } }
    const metadata = meta(held.tuples.length)
    await this.both((s) => s.put(config, copy(checkpoint), metadata, changed))
  }

  async delete(thread: number): Promise<void> {
    await this.both((s) => s.deleteThread(threads[thread] as string))
    for (const space of spaces) this.held.delete(`${threads[thread]}/${space}`)
  }

  async both(say: (saver: MemorySaver | CounterfoilSaver) => Promise<unknown>): Promise<void> {
    await say(this.oracle)
    await say(this.saver)
  }

  async compare(): Promise<void> {
    for (const thread_id of threads) {
      for (const checkpoint_ns of spaces) {
        const config = { configurable: { thread_id, checkpoint_ns } }
        expect(await all(this.saver.list(config))).toEqual(await all(this.oracle.list(config)))
        const [ours, theirs] = [
          await this.saver.getTuple(config),
          await this.oracle.getTuple(config),
        ]
        expect(ours && plain(ours)).toEqual(theirs && plain(theirs))
        // Also the order of keys, which the comparison does not look at.
        const order = (tuple: CheckpointTuple | undefined) =>
          JSON.stringify(Object.values(tuple?.checkpoint.channel_values['odd'] ?? {}))
        expect(order(ours)).toBe(order(theirs))
      }
    }
    const filter = { step: 3 }
    const found = await all(this.saver.list({}, { filter }))
    expect(found.length).toBe((await all(this.oracle.list({}, { filter }))).length)
  }
}

const gone = Symbol('gone')

function meta(step: number): CheckpointMetadata {
  return { source: 'loop', step, parents: {} }
}

function copy(checkpoint: Checkpoint): Checkpoint {
  return { ...checkpoint, channel_values: { ...checkpoint.channel_values } }
}

/** Writes in one order: theirs are as they came. */
function plain({ pendingWrites, ...tuple }: CheckpointTuple) {
  const writes = (pendingWrites ?? []).map((write) => JSON.stringify(write)).sort()
  return { ...tuple, pendingWrites: writes }
}

async function all(list: AsyncGenerator<CheckpointTuple>) {
  const tuples = []
  for await (const tuple of list) tuples.push(plain(tuple))
  return tuples
}

const kinds = [
  { kind: memory(), runs: 60 },
  { kind: sqlite(), runs: 15 },
  { kind: postgres(), runs: 6 },
]

afterAll(async () => {
  for (const { kind } of kinds) await kind.end()
})

for (const { kind, runs } of kinds) {
  kind.describe(kind.name, () => {
    test(`K1 whatever a host puts comes back as from MemorySaver, ${kind.name}`, async () => {
      const lives = fc.array(action, { minLength: 1, maxLength: 40 })
      await fc.assert(
        fc.asyncProperty(lives, async (actions) => {
          const cf = await kind.open()
          const life = new Life([cf, await kind.again(cf)])
          for (const one of actions) await life.act(one)
          await life.compare()
        }),
        { numRuns: runs },
      )
    }, 120_000)
  })
}
