// One answer, in as many messages as its client makes of it: whatever their ids, and whatever comes
// before their first step, each reply has one place, and each call is made once.
import { describe, expect, test } from 'vitest'
import type { UiMessage as Message } from '../../../../src/adapters/ai-sdk/index.ts'
import { chatOf, lastText, lossy, once, openShop, order, partsOf, respond, text } from '../chat.ts'
import { listRecords, majors } from '../sdk.ts'

describe.each(majors)('$name', (major) => {
  const { sdk } = major

  const opensLossy = async (options: Parameters<typeof openShop>[1]) => {
    const made = await openShop(major, options)
    const line = lossy(made.handler)
    const chat = chatOf(major, line.handler)
    return { ...made, line, chat }
  }

  /** Streams of the app's own, each under a new id. */
  const ownIds = (original: boolean) => {
    let ids = 0
    return (streams: { toUIMessageStream(options?: object): unknown }, messages: never[]) =>
      streams.toUIMessageStream({
        generateMessageId: () => `own-${ids++}`,
        ...(original ? { originalMessages: messages } : {}),
      })
  }

  test('C2 an answer in two messages, and a retry: the approved order goes out once', async () => {
    for (const retry of ['sendMessage', 'regenerate'] as const) {
      const { cf, sent, chat, line } = await opensLossy({
        ...{ needsApproval: true, answer: once, ui: ownIds(false) },
      })
      await chat.sendMessage({ text: 'Order tea.' })
      line.cutAt = 'tool-output-available'
      await respond(chat, true)
      await line.ended
      for (let n = 0; n < 3; n++) await (n === 0 ? chat[retry]() : chat.sendMessage())
      expect([sent, (await cf.inbox.list()).items]).toEqual([['tea: note 0'], []])
      const rows = (await listRecords(cf)).filter(({ tool }) => tool === 'order')
      expect(rows).toHaveLength(1)
    }
  })

  test('K2 saved chats (originalMessages): a broken stream, a retry, an approval', async () => {
    const { sent, asked, chat } = await opensLossy({
      ...{ needsApproval: true, ui: ownIds(true) },
      answer: (reply, n) =>
        n === 0
          ? [...once(0, n), { type: 'error', error: new Error('overloaded') }]
          : once(reply, n),
    })
    await chat.sendMessage({ text: 'Order tea.' })
    expect(chat.status).toBe('error')
    await chat.sendMessage()
    for (let n = 0; n < 2; n++) {
      await respond(chat, true).catch(() => chat.sendMessage())
      expect([chat.status, sent, lastText(chat)]).toEqual(['ready', ['tea: note 1'], 'Done, 2.'])
    }
    // A finished turn is read back.
    await chat.sendMessage()
    expect([chat.status, asked()]).toEqual(['ready', 3])
  })

  test('K2 saved chats (originalMessages): a lost connection, and retries', async () => {
    const { sent, asked, chat, line } = await opensLossy({ answer: once, ui: ownIds(true) })
    line.cutAt = 'tool-output-available'
    await chat.sendMessage({ text: 'Order tea.' })
    await line.ended
    for (let n = 0; n < 3; n++) {
      await chat.sendMessage()
      expect([chat.status, lastText(chat), asked(), sent.length]).toEqual([
        ...['ready', 'Done, 1.', 2, 1],
      ])
      expect(chat.messages).toHaveLength(2)
    }
  })

  test('K2 an earlier answer in two messages does not stop the next turn', async () => {
    const { sent, chat, line } = await opensLossy({
      ...{ needsApproval: true, answer: once, ui: ownIds(false) },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    line.cutAt = 'tool-output-available'
    await respond(chat, true)
    await line.ended
    await chat.sendMessage({ text: 'Thanks.' })
    expect([chat.status, sent]).toEqual(['ready', ['tea: note 0']])
  })

  test('K2 an outcome before the first step belongs to no reply: approvals hold', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { sent, chat } = await opensLossy({
      needsApproval: ({ item }) => item === 'milk',
      fate: (n) => (n === 1 ? held.then(() => ({ orderId: 'o-1' })) : undefined),
      answer: (reply, n, prompt) => {
        if (reply > 0) return [text(`Done, ${n}.`)]
        return [order(`id-${n}`, prompt.includes('Milk') ? 'milk' : 'tea', `${n}`)]
      },
    })
    const asking = chat.sendMessage({ text: 'Tea.' })
    await expect.poll(() => sent.length).toBe(1)
    await chat.stop()
    await asking
    release()
    await chat.sendMessage({ text: 'Milk.' })
    expect(partsOf(chat, 'data-counterfoil-outcome')).toHaveLength(1)
    await respond(chat, true)
    expect([lastText(chat), sent]).toEqual(['Done, 2.', ['tea: 0', 'milk: 1']])
  })

  test('K2 a data part of the app before the first step: approvals hold', async () => {
    for (const original of [false, true]) {
      const { sent, chat } = await opensLossy({
        ...{ needsApproval: true, answer: once },
        ui: (streams, messages) =>
          sdk.createUIMessageStream({
            ...(original ? { originalMessages: messages } : {}),
            execute: ({ writer }) => {
              writer.write({ type: 'start' })
              writer.write({ type: 'data-status', data: { at: 'work' } } as never)
              writer.merge(streams.toUIMessageStream({ sendStart: false }) as never)
            },
          }),
      })
      await chat.sendMessage({ text: 'Order tea.' })
      await respond(chat, true)
      expect([lastText(chat), sent]).toEqual(['Done, 1.', ['tea: note 0']])
      await chat.sendMessage()
      expect([chat.status, lastText(chat), sent.length]).toEqual(['ready', 'Done, 1.', 1])
      // The app writes it with each request, and the route hides words only.
      expect(partsOf(chat, 'data-status').length).toBeGreaterThan(2)
    }
  })

  test('K2 words that were lost behind an outcome are shown by the retry', async () => {
    const {
      handler,
      chat: first,
      sent,
    } = await openShop(major, {
      fate: () => new Promise((resolve) => setTimeout(() => resolve({ orderId: 'o-1' }), 50)),
      answer: (reply, n, prompt) =>
        prompt.includes('And?') ? [text(`Said, ${n}.`)] : once(reply, n),
    })
    const asking = first.sendMessage({ text: 'Order tea.' })
    await expect.poll(() => sent.length).toBe(1)
    await first.stop()
    await asking
    const line = lossy(handler)
    const chat = chatOf(major, line.handler)
    chat.messages = [...first.messages]
    line.cutAt = 'start-step'
    await chat.sendMessage({ text: 'And?' })
    await line.ended
    expect([chat.status, lastText(chat)]).toEqual(['error', ''])
    await chat.sendMessage()
    expect([chat.status, lastText(chat)]).toEqual(['ready', 'Said, 1.'])
    await chat.sendMessage()
    expect(lastText(chat)).toBe('Said, 1.')
  })

  test('K2 pieces of a reply that broke off are no reply: approvals hold', async () => {
    const { sent, chat, line } = await opensLossy({
      needsApproval: true,
      answer: (reply, n) => (reply === 0 ? [text('Let me see.'), ...once(0, n)] : once(reply, n)),
    })
    line.cutAt = 'me '
    await chat.sendMessage({ text: 'Order tea.' })
    await line.ended
    await chat.sendMessage()
    await respond(chat, true)
    expect([chat.status, sent]).toEqual(['ready', ['tea: note 0']])
    expect(lastText(chat)).toContain('Done, 1.')
  })

  test('K2 the last answer keeps its id, and what else its message has', async () => {
    const seen: Message[][] = []
    const { chat } = await opensLossy({
      ...{ needsApproval: true, answer: once },
      ui: (streams, messages) => {
        seen.push(messages)
        return streams.toUIMessageStream()
      },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    const id = chat.messages.at(-1)?.id
    await chat.sendMessage()
    expect(seen[1]?.at(-1)).toEqual({
      ...chat.messages.at(-1),
      id,
      parts: [{ type: 'step-start' }],
    })
  })
})
