// What landed, or may have: it is told to whoever goes on without having seen it, and it is what a
// new call is compared with, each record once.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chatRoute, guardAgent } from '../../../../src/adapters/ai-sdk/index.ts'
import {
  chatOf,
  lastText,
  lossy,
  once,
  openShop,
  order,
  partsOf,
  respond,
  text,
  wording,
} from '../chat.ts'
import { call, majors, onlyItem, opens } from '../sdk.ts'

const hangsUp = (count: number) => (sent: number) => {
  if (sent <= count) throw new Error('socket hang up')
  return undefined
}

describe.each(majors)('$name', (major) => {
  const opensLossy = async (options: Parameters<typeof openShop>[1]) => {
    const made = await openShop(major, options)
    const line = lossy(made.handler)
    return { ...made, line, chat: chatOf(major, line.handler) }
  }

  test('C2 last words that prove nothing, and a lost connection: the next turn knows', async () => {
    for (const [first, last] of [
      [[], ''],
      [[text('OK')], 'OK'],
    ] as const) {
      const { cf, sent, chat, line } = await opensLossy({
        answer: (reply, n) =>
          reply === 0 ? [...first, order(`id-${n}`, 'tea', `${n}`)] : last ? [text(last)] : [],
      })
      line.cutAt = 'tool-input-available'
      await chat.sendMessage({ text: 'Order tea.' })
      await line.ended
      await chat.sendMessage({ text: 'Did you? If not, do.' })
      expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
        { data: { tool: 'order', state: 'done', output: { orderId: 'o-1' } } },
      ])
      expect([sent, (await onlyItem(cf)).reason]).toEqual([['tea: 0'], 'same_effect'])
    }
  })

  test('K2 an app that leaves calls out, and shows all words, is told nothing', async () => {
    const { sent, chat } = await opensLossy({
      answer: (reply, n) =>
        reply === 0 ? [text('I see.'), order(`id-${n}`, 'tea', `${n}`)] : [text('Done.')],
    })
    await chat.sendMessage({ text: 'Order tea.' })
    chat.messages = chat.messages.map((message) => ({
      ...message,
      parts: message.parts.filter(({ type }) => !type.startsWith('tool-')),
    }))
    await chat.sendMessage({ text: 'Again, please.' })
    expect(partsOf(chat, 'data-counterfoil-outcome')).toEqual([])
    expect(sent).toEqual(['tea: 0', 'tea: 2'])
  })

  test('C2 an answer asked for anew tells first what the old one has done', async () => {
    const { sent, chat, line } = await opensLossy({ needsApproval: true, answer: once })
    await chat.sendMessage({ text: 'Order tea.' })
    line.cutAt = 'start-step'
    await respond(chat, true)
    await line.ended
    expect(sent).toHaveLength(1)
    await chat.regenerate()
    const types = chat.messages.at(-1)?.parts.map(({ type }) => type)
    expect(types).toEqual(['data-counterfoil-outcome', 'step-start', 'tool-order'])
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
      { data: { tool: 'order', state: 'done', output: { orderId: 'o-1' } } },
    ])
    // Who approves it now knows of both. It is told once.
    await respond(chat, true)
    expect([lastText(chat), sent]).toEqual(['Done, 3.', ['tea: note 0', 'tea: note 2']])
    await chat.sendMessage({ text: 'Thanks.' })
    expect(partsOf(chat, 'data-counterfoil-outcome')).toHaveLength(1)
  })

  test('C2 what is in doubt is compared with, too, and listed once', async () => {
    const { cf, sent, chat } = await opensLossy({
      fate: hangsUp(2),
      answer: (reply, n) =>
        reply === 0
          ? [order(`a-${n}`, 'rent', `${n}`), order(`b-${n}`, 'power', `${n}`)]
          : [text('Done.')],
    })
    await chat.sendMessage({ text: 'Rent and power.' })
    expect(sent).toEqual(['rent: 0', 'power: 0'])
    await chat.sendMessage({ text: 'Rent and power, now.' })
    await chat.sendMessage()
    const { items } = await cf.inbox.list()
    const same = items.filter(({ reason }) => reason === 'same_effect')
    expect(same.length).toBeGreaterThan(0)
    for (const { body } of same) {
      const inputs = body.unmatched.map(({ input }) => (input as { item: string }).item)
      expect(inputs.sort()).toEqual(['power', 'rent'])
    }
    expect(sent).toHaveLength(2)
  })

  test('C2 a pending keyed call is compared with what is asked for instead', async () => {
    const cf = await opens()
    const sent: string[] = []
    let stuck = true
    const { model } = wording(major, (reply, n) =>
      reply === 0
        ? ['rent', 'power'].map((to) => call(`${to}-${n}`, 'charge', { to, note: `${n}` }))
        : [text('Done.')],
    )
    const agent = guardAgent({
      model,
      tools: {
        charge: major.sdk.tool({
          inputSchema: z.object({ to: z.string(), note: z.string() }),
          execute: async ({ to }) => {
            sent.push(to)
            if (stuck) throw new Error('socket hang up')
            return 'charged'
          },
        }),
      },
      classes: {
        charge: {
          ...{ replayClass: 'idempotent_with_key', keyTtlMs: 60_000, retry: { attemptMax: 1 } },
          idempotencyKey: ({ to, note }: { to: string; note: string }) => `${to}-${note}`,
        },
      },
    })
    const handler = chatRoute({
      ...{ cf, agent },
      reply: async ({ model, tools, messages }) =>
        major.sdk.streamText({
          ...{ model, tools, maxRetries: 0, onError: () => {} },
          messages: await major.sdk.convertToModelMessages(messages),
          stopWhen: major.sdk.stepCountIs(3),
        }),
    })
    const chat = chatOf(major, handler)
    await chat.sendMessage({ text: 'Rent and power.' })
    stuck = false
    const before = sent.length
    await chat.sendMessage({ text: 'Rent and power, now.' })
    await chat.sendMessage()
    expect(sent).toHaveLength(before)
    const { items } = await cf.inbox.list()
    const same = items.filter(({ reason }) => reason === 'same_effect')
    for (const { body } of same) {
      const inputs = body.unmatched.map(({ input }) => (input as { to: string }).to)
      expect(inputs.sort()).toEqual(['power', 'rent'])
    }
    expect(same.length).toBeGreaterThan(0)
  })

  test('C2 failed, and nobody knows: a call of the same tool asks a person', async () => {
    for (const how of ['before', 'after', 'regenerate', 'edit']) {
      const { cf, sent, chat, decide } = await opensLossy({
        fate: hangsUp(1),
        answer: (reply, n, prompt) =>
          prompt.includes('Hm') && !prompt.includes('Now') ? [text('Hm.')] : once(reply, n),
      })
      await chat.sendMessage({ text: 'Order tea.' })
      if (how === 'after') await chat.sendMessage({ text: 'Hm?' })
      await decide({ outcome: 'fail' })
      if (how === 'edit') {
        const messageId = chat.messages[0]?.id ?? ''
        await chat.sendMessage({ text: 'Order tea, please.', messageId })
      } else if (how === 'regenerate') {
        await chat.sendMessage()
        await chat.regenerate()
      } else await chat.sendMessage({ text: 'Now order it.' })
      expect([how, sent.length, (await onlyItem(cf)).reason]).toEqual([how, 1, 'same_effect'])
    }
  })

  test('I5 did not happen, then edited: it lapses, and the new order is a new one', async () => {
    const { cf, sent, chat, decide } = await opensLossy({ fate: hangsUp(1), answer: once })
    await chat.sendMessage({ text: 'Order tea.' })
    await decide({ outcome: 'did_not_happen' })
    await chat.sendMessage({ text: 'Order tea, please.', messageId: chat.messages[0]?.id ?? '' })
    expect([lastText(chat), sent]).toEqual(['Done, 2.', ['tea: note 0', 'tea: note 1']])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('C2 happened, then edited: the record says so where a person sees both', async () => {
    const { cf, sent, chat, decide } = await opensLossy({ fate: hangsUp(1), answer: once })
    await chat.sendMessage({ text: 'Order tea.' })
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    await chat.sendMessage({ text: 'Order tea, please.', messageId: chat.messages[0]?.id ?? '' })
    const { reason, body } = await onlyItem(cf)
    expect([reason, body.unmatched.map(({ status }) => status)]).toEqual([
      ...['same_effect', ['committed']],
    ])
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
      { data: { state: 'done', output: { orderId: 'o-7' } } },
    ])
    expect(sent).toHaveLength(1)
  })

  test('C2 in doubt, edited away, asked for anew: model and client are told', async () => {
    const prompts: string[] = []
    const { cf, sent, chat, decide } = await opensLossy({
      fate: hangsUp(1),
      answer: (reply, n, prompt) => {
        prompts.push(prompt)
        const wants = n === 0 || (prompt.includes('Now') && reply === 0)
        return wants ? [order(`id-${n}`, 'tea', `${n}`)] : [text(`Said, ${n}.`)]
      },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await chat.sendMessage({ text: 'Just say hi.', messageId: chat.messages[0]?.id ?? '' })
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    await chat.sendMessage({ text: 'Now order tea.' })
    expect(prompts.at(-1)).toContain('o-7')
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([{ data: { state: 'done' } }])
    expect([sent.length, (await onlyItem(cf)).reason]).toEqual([1, 'same_effect'])
  })

  test('C2 a tab that denies what another has approved is told what came of it', async () => {
    const { handler, sent, chat } = await openShop(major, {
      needsApproval: true,
      answer: (reply, n, prompt) => (prompt.includes('Thanks') ? [text('Bye.')] : once(reply, n)),
    })
    await chat.sendMessage({ text: 'Order tea.' })
    const [late, left] = [chatOf(major, handler), chatOf(major, handler)]
    late.messages = structuredClone(chat.messages)
    left.messages = structuredClone(chat.messages)
    await respond(chat, true)
    await respond(late, false)
    expect(partsOf(late, 'tool-order').map(({ state }) => state)).toEqual(['output-available'])
    expect([lastText(late), sent.length]).toEqual(['Done, 1.', 1])
    // The same with a new message in the place of the denial's own request.
    const [waits] = partsOf(left, 'tool-order')
    await left.addToolApprovalResponse({ id: waits?.approval?.id ?? '', approved: false })
    await left.sendMessage({ text: 'Thanks.' })
    expect(partsOf(left, 'data-counterfoil-outcome')).toMatchObject([{ data: { state: 'done' } }])
  })

  test('C2 a receipt answers one call of a new answer, also after a failure', async () => {
    let [anew, fails] = [false, true]
    const { cf, sent, chat } = await opensLossy({
      answer: (reply, n) => {
        if (!anew) return reply === 0 ? [order(`a-${n}`, 'tea', 'x')] : [text('Done.')]
        if (reply === 1 && fails) {
          fails = false
          throw new Error('the provider is down')
        }
        return reply < 2 ? [order(`a-${n}`, 'tea', 'x')] : [text('Done.')]
      },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    anew = true
    await chat.regenerate()
    expect([chat.status, sent.length]).toEqual(['error', 1])
    await chat.sendMessage()
    expect([sent.length, (await onlyItem(cf)).reason]).toEqual([1, 'same_effect'])
  })

  test('K2 what a browser makes of a result or an input is no other prompt', async () => {
    const results: readonly unknown[] = [
      new URL('http://localhost/a'),
      { bytes: new Uint8Array([1, 2]), none: new Uint8Array(0) },
      { x: Number.NaN },
      { raw: Buffer.from('ab') },
    ]
    for (const result of [...results, null]) {
      const bad = result === null
      const { model, asked } = wording(major, (reply, n) => {
        const broken = { ...call(`s-${n}`, 'look', {}), input: '{"q": 5' }
        if (reply === 0) return [bad ? broken : call(`s-${n}`, 'look', { q: 'x' })]
        return reply === 1 ? [call(`t-${n}`, 'look', { q: 'last' })] : [text('Done.')]
      })
      const look = major.sdk.tool({
        inputSchema: z.object({ q: z.string() }),
        execute: async ({ q }) => (q === 'last' ? 'end' : (result as never)),
      })
      const agent = guardAgent({
        ...{ model, tools: { look }, classes: { look: { replayClass: 'pure' as const } } },
      })
      const cf = await opens()
      const line = lossy(
        chatRoute({
          ...{ cf, agent },
          reply: async ({ model, tools, messages }) =>
            major.sdk.streamText({
              ...{ model, tools, maxRetries: 0, onError: () => {} },
              messages: await major.sdk.convertToModelMessages(messages, { tools }),
              stopWhen: major.sdk.stepCountIs(5),
            }),
        }),
      )
      const chat = chatOf(major, line.handler)
      line.cutAt = '"t-'
      await chat.sendMessage({ text: 'Look.' })
      await line.ended
      await chat.sendMessage()
      expect([result, chat.status, lastText(chat), asked()]).toEqual([
        ...[result, 'ready', 'Done.', 3],
      ])
    }
  })
})
