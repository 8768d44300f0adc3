// Rows that this and every later version has to read: test/replay/langgraph holds what each
// envelope looked like. They are never written anew; a new envelope gets a file of its own.
import { readFileSync } from 'node:fs'
import type { BaseMessage } from '@langchain/core/messages'
import { Command } from '@langchain/langgraph'
import { afterAll, expect, test } from 'vitest'
import { CounterfoilSaver } from '../../../../src/adapters/langgraph/index.ts'
import type { Counterfoil, ThreadStep, ThreadWrite } from '../../../../src/index.ts'
import { asked, asking, odd, stopping, textOf } from './graphs.ts'
import { kinds, memory } from './stores.ts'

interface Golden {
  readonly steps: readonly Omit<ThreadStep, 'namespace'>[]
  readonly writes: readonly Omit<ThreadWrite, 'namespace'>[]
}

const golden = JSON.parse(
  readFileSync(new URL('../../../replay/langgraph/envelope-1.json', import.meta.url), 'utf8'),
) as Golden

const all = kinds()
const inMemory = memory()
afterAll(async () => {
  for (const kind of [...all, inMemory]) await kind.end()
})

async function laid(cf: Counterfoil, change: (golden: Golden) => Golden = (same) => same) {
  const { steps, writes } = change(golden)
  for (const step of steps) expect(await cf.threads.putStep(step)).toBe(true)
  await cf.threads.putWrites(writes, false)
  return new CounterfoilSaver(cf)
}

const at = (thread_id: string) => ({ configurable: { thread_id } })

for (const kind of all) {
  kind.describe(kind.name, () => {
    test('K1 a thread of envelope 1 is read, and goes on where it was interrupted', async () => {
      const saver = await laid(await kind.open())
      const graph = asking(saver)
      const { values, next, tasks } = await graph.getState(at('asking'), { subgraphs: true })
      expect(next).toEqual(['sub'])
      expect(tasks[0]?.interrupts[0]?.value).toEqual({ question: 'Go on?' })
      expect(values.seen).toEqual(odd())
      expect(Object.keys(values.seen)).toEqual(Object.keys(odd()))
      expect(values.messages[1]).toMatchObject({
        id: 'ai-1',
        tool_calls: [{ args: { z: 1, a: 2 } }],
      })
      const { steps } = await graph.invoke(new Command({ resume: 'yes' }), at('asking'))
      expect(steps).toEqual([
        ...['plan', 'work 1', 'work 2'],
        ...['plan', 'work 1', 'work 2', 'look', 'answer yes', 'last'],
      ])
    })

    test('K1 an agent of envelope 1 has its packets, and sends them', async () => {
      const saver = await laid(await kind.open())
      const tuple = await saver.getTuple(at('stopping'))
      const packets = tuple?.checkpoint.channel_values['__pregel_tasks'] as { args: State }[]
      expect(packets).toHaveLength(2)
      for (const { args } of packets) {
        expect(args.messages.map(({ content }) => content)).toEqual(
          [-1, 0, 0, 0, 1].map((n) => textOf(n)),
        )
      }
      const { messages } = await stopping(saver).invoke(null, at('stopping'))
      expect(messages).toHaveLength(8)
    })
  })
}

interface State {
  readonly messages: BaseMessage[]
}

/** The latest step of a thread, or a write of it, with another text. */
function altered(
  thread: string,
  kind: 'bodyJson' | 'noteJson' | 'write',
  alter: (t: string) => string,
) {
  return ({ steps, writes }: Golden): Golden => {
    const ours = steps.filter(({ threadId, space }) => threadId === thread && space === '')
    const { stepId } = ours.at(-1) ?? { stepId: '' }
    const isIt = (row: { threadId: string; stepId: string }) =>
      row.threadId === thread && row.stepId === stepId
    if (kind === 'write') {
      const change = (row: Golden['writes'][number]) =>
        isIt(row) ? { ...row, bodyJson: alter(row.bodyJson) } : row
      return { steps, writes: writes.map(change) }
    }
    const change = (row: Golden['steps'][number]) =>
      isIt(row) ? { ...row, [kind]: alter(row[kind]) } : row
    return { steps: steps.map(change), writes }
  }
}

const rows = ['bodyJson', 'noteJson', 'write'] as const

test.each(rows)('K1 a row of a newer envelope is left alone, and said so: %s', async (kind) => {
  const newer = altered('asking', kind, (text) => text.replace('{"v":1,', '{"v":2,"more":{},'))
  const cf = await inMemory.open()
  const saver = await laid(cf, newer)
  const before = await cf.threads.listSteps({})
  const error = { code: 'THREAD_NEWER', details: { version: 2 } }
  await expect(saver.getTuple(at('asking'))).rejects.toMatchObject(error)
  await expect(asking(saver).invoke(asked(), at('asking'))).rejects.toMatchObject(error)
  expect(await cf.threads.listSteps({})).toEqual(before)
})

const damages: Readonly<Record<string, (text: string) => string>> = {
  'a letter': (text) => text.replace(/(?<=body":.*)[a-z](?=[^"]*"[^"]*$)/, 'X'),
  'its end': (text) => text.slice(0, -9),
  'its envelope': () => '{}',
  everything: () => 'gone',
}

for (const [what, damage] of Object.entries(damages)) {
  test.each(rows)(`K1 a row that lost ${what} does not begin its thread anew: %s`, async (kind) => {
    let done = 0
    const alter = (text: string) => {
      const now = damage(text)
      if (now !== text) done++
      return now
    }
    const cf = await inMemory.open()
    const saver = await laid(cf, altered('asking', kind, alter))
    expect(done).toBeGreaterThan(0)
    const before = await cf.threads.listSteps({})
    const error = { code: 'THREAD_DAMAGED' }
    await expect(saver.getTuple(at('asking'))).rejects.toMatchObject(error)
    await expect(asking(saver).invoke(asked(), at('asking'))).rejects.toMatchObject(error)
    expect(await cf.threads.listSteps({})).toEqual(before)
    // The other thread of the store is as it was.
    expect(await saver.getTuple(at('stopping'))).toBeDefined()
  })
}

test('K1 a step that is no longer on what it is a change to is not used', async () => {
  const cf = await inMemory.open()
  const ours = golden.steps.filter(({ threadId, space }) => threadId === 'asking' && space === '')
  const [first, second] = ours
  const swapped = ({ steps, writes }: Golden): Golden => ({
    writes,
    // The parent is a good row, of another step.
    steps: steps.map((row) => (row === first ? { ...row, bodyJson: wholeOf(steps) } : row)),
  })
  const saver = await laid(cf, swapped)
  const config = { configurable: { thread_id: 'asking', checkpoint_id: second?.stepId } }
  await expect(saver.getTuple(config)).rejects.toMatchObject({ code: 'THREAD_DAMAGED' })
})

function wholeOf(steps: Golden['steps']): string {
  return steps.find(({ threadId, whole }) => threadId === 'stopping' && whole)?.bodyJson ?? ''
}

test('K1 a config without a thread that can be kept is refused with what to write', async () => {
  const saver = new CounterfoilSaver(await inMemory.open())
  const invalid = { code: 'THREAD_CONFIG_INVALID' }
  await expect(saver.putWrites({}, [], 't')).rejects.toMatchObject(invalid)
  await expect(saver.putWrites(at('a'), [], 't')).rejects.toMatchObject(invalid)
  await expect(saver.getTuple({ configurable: { thread_id: 7 } })).rejects.toMatchObject(invalid)
  const { checkpoint, metadata } = (await (
    await laid(await inMemory.open())
  ).getTuple(at('asking'))) as never
  await expect(saver.put({}, checkpoint, metadata, {})).rejects.toThrow(/thread_id: 'order-17'/)
})

test('K1 options that mean nothing are refused', async () => {
  const cf = await inMemory.open()
  for (const options of [
    { ttlMs: 0 },
    { ttlMs: Number.NaN },
    { keepSteps: 0 },
    { keepSteps: 1.5 },
  ]) {
    expect(() => new CounterfoilSaver(cf, options)).toThrow(
      expect.objectContaining({ code: 'SAVER_OPTIONS' }),
    )
  }
})
