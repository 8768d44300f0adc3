// Streams: parts come as the model says them, are recorded meanwhile, and replay part by part.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import type { Part } from '../../../src/adapters/ai-sdk/reply.ts'
import {
  call,
  ids,
  listRecords,
  type Major,
  majors,
  onlyItem,
  opens,
  partsFor,
  scripted,
  streamOf,
  text,
} from './sdk.ts'

const asked = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] } as never

async function read(stream: ReadableStream<unknown>): Promise<Part[]> {
  const parts: Part[] = []
  for await (const part of stream) parts.push(part as Part)
  return parts
}

/** Without what tells a replay from the first time. */
function bare(parts: readonly Part[]): Part[] {
  return parts.map((part) => {
    const { counterfoil: _, ...rest } = part.providerMetadata ?? {}
    return part.type === 'finish' ? { ...part, providerMetadata: rest } : part
  })
}

/** One tool whose upstream counts; it may fail in a way that nobody can interpret. */
function sender({ sdk }: Major, fails = false) {
  const sent: unknown[] = []
  const send = sdk.tool({
    inputSchema: z.object({ to: z.string() }),
    execute: async (input) => {
      sent.push(input)
      if (fails) throw new Error('socket hang up')
      return 'sent'
    },
  })
  return { sent, tools: { send }, classes: { send: { replayClass: 'unsafe_on_replay' } } as const }
}

describe.each(majors)('$name', (major) => {
  const { sdk, Model } = major
  const stopWhen = sdk.stepCountIs(10)

  test('K2, C9 a recorded stream replays, part by part', async () => {
    const cf = await opens()
    const parts: Part[] = [
      ...partsFor([text('one two three')]).slice(0, -1),
      { type: 'reasoning-start', id: 'r', providerMetadata: { mock: { signature: 'x' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-delta', id: 'r', delta: 'm', providerMetadata: { mock: { n: 1 } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 250]) } as never,
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' } as never,
      { ...(partsFor([]).at(-1) as Part), providerMetadata: { mock: { cached: true } } },
    ]
    const model = scripted(major, [])
    model.doStream = async () => {
      model.doStreamCalls.push({} as never)
      const stream = new ReadableStream({
        start: (c) => {
          for (const part of parts) c.enqueue(part)
          c.close()
        },
      })
      return { stream, request: { body: 'the prompt' } } as never
    }
    const agent = guardAgent({ model })
    const reads = () =>
      agent.run(cf, ids, async ({ model }) => read((await model.doStream(asked)).stream))
    const first = await reads()
    const again = await reads()
    expect(bare(first)).toEqual(bare(parts))
    expect(bare(again)).toEqual(bare(parts))
    expect(model.doStreamCalls).toHaveLength(1)
    expect(first.at(-1)?.providerMetadata).toEqual({
      mock: { cached: true },
      counterfoil: { replayed: false },
    })
    expect(again.at(-1)?.providerMetadata?.['counterfoil']).toEqual({ replayed: true })
    const [record] = await listRecords(cf)
    expect(JSON.parse(record?.usageJson ?? '')).toEqual({ tokensIn: 10, tokensOut: 3 })
    // Words in a row: the record is not much larger than what was said.
    expect(record?.resultJson).toContain('"deltas":["one ","two ","three"]')
    expect(record?.resultJson).not.toContain('the prompt')
  })

  test('K2 parts pass through while the model still speaks', async () => {
    const cf = await opens()
    let say: (part: Part | null) => void = () => {}
    const model = new Model({
      doStream: async () =>
        ({
          stream: new ReadableStream({
            start: (c) => {
              say = (part) => (part ? c.enqueue(part) : c.close())
            },
          }),
        }) as never,
    })
    const parts = partsFor([text('one two')])
    const agent = guardAgent({ model })
    await agent.run(cf, ids, async ({ model }) => {
      const { stream } = await model.doStream(asked)
      const reader = stream.getReader()
      for (const part of parts.slice(0, -1)) {
        say(part)
        expect((await reader.read()).value).toEqual(part)
        expect(await listRecords(cf)).toEqual([])
      }
      // The end comes when the reply is on record, or will be before anything that follows.
      say(parts.at(-1) as Part)
      say(null)
      expect((await reader.read()).value).toMatchObject({ type: 'finish' })
      expect((await reader.read()).done).toBe(true)
    })
    expect(await listRecords(cf)).toHaveLength(1)
  })

  test('K2 streamText replays with its tools; nothing is asked or sent again', async () => {
    const cf = await opens()
    const { sent, tools, classes } = sender(major)
    const script = [[text('I write. '), call('c1', 'send', { to: 'ana' })], [text('Sent it.')]]
    const model = scripted(major, script)
    const agent = guardAgent({ model, tools, classes })
    const work = () =>
      agent.run(cf, ids, async ({ model, tools }) => {
        const result = sdk.streamText({ model, tools, stopWhen, prompt: 'Tell Ana.' })
        const words: string[] = []
        for await (const word of result.textStream) words.push(word)
        return { words, usage: await result.totalUsage, results: (await result.steps)[0] }
      })
    const first = await work()
    const again = await work()
    expect(first.words.join('')).toBe('I write. Sent it.')
    expect(again.words).toEqual(first.words)
    expect(again.usage).toEqual(first.usage)
    expect(again.results?.toolResults).toEqual(first.results?.toolResults)
    expect([sent.length, model.doStreamCalls.length]).toEqual([1, 2])
  })

  test('K2, C2 a doubt is an error of the stream, and the model is not asked again', async () => {
    const cf = await opens()
    const { sent, tools, classes } = sender(major, true)
    const model = scripted(major, [[call('c1', 'send', { to: 'ana' })], [text('Sent it.')]])
    const agent = guardAgent({ model, tools, classes })
    const errors: unknown[] = []
    const work = () =>
      agent.run(cf, ids, async ({ model, tools }) => {
        const onError = ({ error }: { error: unknown }) => void errors.push(error)
        const result = sdk.streamText({ model, tools, stopWhen, prompt: 'x', onError })
        const parts: Part[] = []
        for await (const part of result.fullStream) parts.push(part as Part)
        return parts
      })
    await expect(work()).rejects.toMatchObject({ code: 'REPLAY_UNSAFE' })
    const item = await onlyItem(cf)
    expect(errors).toMatchObject([{ code: 'REPLAY_UNSAFE', itemId: item.itemId }])
    expect([sent.length, model.doStreamCalls.length]).toEqual([1, 1])
    const decision = { outcome: 'happened', result: 'sent', by: 'ana', reason: 'seen' } as const
    await cf.inbox.decide(item.itemId, { ...decision, version: item.version })
    const parts = await work()
    expect(parts.filter(({ type }) => type === 'text-delta')).toHaveLength(2)
    expect([sent.length, model.doStreamCalls.length]).toEqual([1, 2])
  })

  test('K2 a turn that outlives its function is closed by whoever reads it', async () => {
    const cf = await opens()
    const { tools, classes } = sender(major)
    const model = scripted(major, [[call('c1', 'send', { to: 'ana' })], [text('Sent it.')]])
    const agent = guardAgent({ model, tools, classes })
    const begin = async () => {
      const turn = await agent.open(cf, ids)
      const { model, tools } = turn
      const result = sdk.streamText({ model, tools, stopWhen, prompt: 'x' })
      const closed = Promise.resolve(result.consumeStream()).then(() => turn.close())
      return { result, closed, turn }
    }
    const { result, closed, turn } = await begin()
    expect(await result.text).toBe('Sent it.')
    await closed
    expect(turn.error).toBeNull()
    const late = turn.model.doGenerate(asked)
    await expect(late).rejects.toMatchObject({ code: 'SCOPE_CLOSED' })
    await (await begin()).closed
  })

  test('K2 a reader that goes away loses the reply for nobody', async () => {
    const cf = await opens()
    const model = scripted(major, [[text('one two three')]])
    const agent = guardAgent({ model })
    await agent.run(cf, ids, async ({ model }) => {
      await (await model.doStream(asked)).stream.cancel()
    })
    const parts = await agent.run(cf, ids, async ({ model }) =>
      read((await model.doStream(asked)).stream),
    )
    expect(parts.at(-1)).toMatchObject({ type: 'finish' })
    expect(model.doStreamCalls).toHaveLength(1)
  })

  test('K2 a stream that breaks is asked for again by the next process, not replayed', async () => {
    const cf = await opens()
    const good = partsFor([text('one two')])
    const streams = [
      [...good.slice(0, 3), { type: 'error', error: new Error('overloaded') }, good.at(-1)],
      null,
      good,
    ]
    let n = 0
    const model = new Model({
      doStream: async () => {
        const parts = streams[n++]
        const stream = new ReadableStream({
          start: (c) => {
            for (const part of parts ?? good.slice(0, 2)) c.enqueue(part)
            if (parts) c.close()
          },
          pull: (c) => c.error(new Error('connection lost')),
        })
        return { stream } as never
      },
    })
    const agent = guardAgent({ model })
    const reads = () =>
      agent.run(cf, ids, async ({ model }) => read((await model.doStream(asked)).stream))
    expect((await reads()).some(({ type }) => type === 'error')).toBe(true)
    await expect(reads()).rejects.toThrow('connection lost')
    expect(bare(await reads())).toEqual(good.map((part) => bare([part])[0]))
    expect(bare(await reads())).toEqual(bare(good))
    expect(n).toBe(3)
  })

  test('K2 equal streams at once, one of them on record: each has its own words', async () => {
    const cf = await opens()
    let n = 0
    const model = new Model({
      doStream: async () => ({ stream: streamOf(partsFor([text(`reply ${n++}`)])) }) as never,
    })
    const agent = guardAgent({ model })
    const texts = (count: number) =>
      agent.run(cf, ids, ({ model }) =>
        Promise.all(
          Array.from({ length: count }, async () => {
            const parts = await read((await model.doStream(asked)).stream)
            return parts.map(({ delta = '' }) => delta).join('')
          }),
        ),
      )
    expect(await texts(1)).toEqual(['reply 0'])
    expect(await texts(3)).toEqual(['reply 0', 'reply 1', 'reply 2'])
    expect(await texts(3)).toEqual(['reply 0', 'reply 1', 'reply 2'])
    expect(n).toBe(3)
  })

  test('K2 preliminary results pass through; the last is recorded and replays', async () => {
    const cf = await opens()
    let runs = 0
    const report = sdk.tool({
      inputSchema: z.object({}),
      async *execute() {
        runs++
        yield { done: 1 }
        yield { done: 2 }
      },
    })
    const model = scripted(major, [[call('c1', 'report', {})], [text('Done.')]])
    const agent = guardAgent({
      model,
      tools: { report },
      classes: { report: { replayClass: 'unsafe_on_replay' } },
    })
    const work = () =>
      agent.run(cf, ids, async ({ model, tools }) => {
        const result = sdk.streamText({ model, tools, stopWhen, prompt: 'x' })
        const parts: unknown[] = []
        for await (const part of result.fullStream) {
          if (part.type === 'tool-result') parts.push([part.output, part.preliminary === true])
        }
        return parts
      })
    expect(await work()).toEqual([
      [{ done: 1 }, true],
      [{ done: 2 }, true],
      [{ done: 2 }, false],
    ])
    expect(await work()).toEqual([
      [{ done: 2 }, true],
      [{ done: 2 }, false],
    ])
    expect(runs).toBe(1)
  })
})
