// Replies that did not end as a reply does: by an error, by their length, without an end. Their
// calls are not made, and the next request asks the model anew.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import type { Part } from '../../../src/adapters/ai-sdk/reply.ts'
import { tool } from '../../../src/index.ts'
import { chatOf, lastText, order, partsOf, respond, shopOf, text } from './chat.ts'
import { ids, listRecords, majors, onlyItem, opens, partsFor, streamOf } from './sdk.ts'

const ended = (unified: string) => {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  return { type: 'finish', finishReason: { unified, raw: unified }, usage } as Part
}
const failed = { type: 'error', error: new Error('overloaded') } as Part
const ends: Readonly<Record<string, readonly Part[]>> = {
  'by an error': [failed],
  'by an error, and says so': [failed, ended('error')],
  'by an error, and goes on': [failed, ended('tool-calls')],
  'by its length': [ended('length')],
  'by a filter': [ended('content-filter')],
  'for a reason of its own': [ended('other')],
  'without an end': [],
}

describe.each(majors)('$name', (major) => {
  const { Model } = major

  /** Breaks off behind its first call; whole when it is asked again. */
  const breaking = (end: readonly Part[]) => {
    let asked = 0
    const model = new Model({
      doStream: async ({ prompt }: { prompt: readonly { role: string }[] }) => {
        const n = asked++
        const said = [order(`id-${n}`, 'tea', `note ${n}`)]
        const whole = prompt.at(-1)?.role === 'user' ? partsFor(said) : partsFor([text('Done.')])
        return {
          stream: streamOf(n === 0 ? [...partsFor(said).slice(0, -1), ...end] : whole),
        } as never
      },
    })
    return { model, asked: () => asked }
  }

  for (const [how, end] of Object.entries(ends)) {
    for (const needsApproval of [false, true]) {
      const after = needsApproval ? ', with an approval' : ''
      test(`K2 a reply that ended ${how} is asked for anew${after}`, async () => {
        const cf = await opens()
        const { model, asked } = breaking(end)
        const { sent, route } = shopOf(major, model, { needsApproval })
        const chat = chatOf(major, route(cf))
        await chat.sendMessage({ text: 'Order tea.' })
        expect([sent, asked()]).toEqual([[], 1])
        // A client that keeps what it saw of the reply; `regenerate` would forget it.
        await chat.sendMessage()
        if (needsApproval) await respond(chat, true)
        expect([lastText(chat), sent, asked()]).toEqual(['Done.', ['tea: note 1'], 3])
        expect(partsOf(chat, 'data-counterfoil-doubt')).toEqual([])
      })
    }
  }

  test('C2 a call that was made for a reply that broke off is not made again', async () => {
    const cf = await opens()
    const { model } = breaking([ended('length')])
    const { sent, route } = shopOf(major, model, {})
    const chat = chatOf(major, route(cf))
    await chat.sendMessage({ text: 'Order tea.' })
    const [reply] = await listRecords(cf)
    const { nodeId = '', checkpointId = '' } = reply ?? {}
    const scope = await cf.scope({ workflowId: 'chat-1', nodeId, checkpointId })
    // As an older version has made it.
    const sends = tool({
      ...{ name: 'order', replayClass: 'unsafe_on_replay', input: z.unknown() },
      run: async () => ({ orderId: 'o-0' }),
    })
    await scope.call(sends, { item: 'tea', note: 'note 0' }, { callId: '0:id-0', placed: {} })
    await scope.close()
    await chat.regenerate()
    expect(sent).toEqual([])
    expect((await onlyItem(cf)).reason).toBe('same_effect')
  })

  test('C2 a reply that broke off, of a provider that executes tools, is a doubt', async () => {
    const cf = await opens()
    const { model, asked } = breaking([ended('error')])
    const shell = { type: 'provider', id: 'mock.shell', args: {}, inputSchema: {} } as never
    const classes = { shell: { replayClass: 'unsafe_on_replay' } } as const
    const agent = guardAgent({ model, tools: { shell }, classes })
    const turn = await agent.open(cf, ids)
    const { stream } = (await (turn.model.doStream as (options: unknown) => Promise<unknown>)({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    })) as { stream: ReadableStream<Part> }
    for await (const _ of stream);
    expect(turn.error).toMatchObject({ code: 'REPLAY_UNSAFE' })
    await turn.close()
    expect([asked(), (await onlyItem(cf)).reason]).toEqual([1, 'unknown'])
  })
})
