// Chats that are regenerated, edited, retried and approved: whatever their browser sends, an order
// goes out once, and what nobody can know is put before a person.
import { describe, expect, test } from 'vitest'
import {
  again,
  lastText,
  once,
  openShop,
  order,
  partsOf,
  respond,
  type shop,
  text,
  wordsOf,
} from './chat.ts'
import { majors } from './sdk.ts'

describe.each(majors)('$name', (major) => {
  const opensShop = (options: Parameters<typeof shop>[1]) => openShop(major, options)

  test('K2 regenerate of an unfinished turn, with an order out, sends no other', async () => {
    let broken = true
    const { sent, asked, chat } = await opensShop({
      needsApproval: true,
      answer: (reply, n) => {
        if (reply === 1 && broken) throw new Error('the provider is down')
        return once(reply, n)
      },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await respond(chat, true)
    expect([chat.status, sent]).toEqual(['error', ['tea: note 0']])
    broken = false
    await chat.regenerate()
    // Neither the model's first reply nor the approval is asked for again.
    expect([chat.status, lastText(chat), asked()]).toEqual(['ready', 'Done, 2.', 3])
    expect(partsOf(chat, 'tool-order').map(({ state }) => state)).toEqual(['output-available'])
    expect(sent).toEqual(['tea: note 0'])
  })

  test('C2 approved, of unknown outcome, regenerated: a person is asked', async () => {
    const { sent, asked, chat, decide } = await opensShop({
      needsApproval: true,
      fate: () => {
        throw new Error('socket hang up')
      },
      answer: once,
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await respond(chat, true)
    for (let n = 0; n < 2; n++) {
      expect([chat.status, asked(), sent.length]).toEqual(['ready', 1, 1])
      expect(partsOf(chat, 'data-counterfoil-doubt')).toMatchObject([
        { data: { tool: 'order', reason: 'unknown', question: 'order: did it happen?' } },
      ])
      // Nothing that the model would be told as the answer of its call.
      expect(JSON.stringify(chat.messages)).not.toContain('output-error')
      await chat.regenerate()
    }
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    await chat.regenerate()
    expect([lastText(chat), asked(), sent.length]).toEqual(['Done, 1.', 2, 1])
  })

  test('C2 a doubt is not an answer: the chat goes on from it after the decision', async () => {
    const { sent, asked, chat, decide } = await opensShop({
      fate: () => {
        throw new Error('socket hang up')
      },
      answer: once,
    })
    await chat.sendMessage({ text: 'Order tea.' })
    expect(partsOf(chat, 'data-counterfoil-doubt')).toHaveLength(1)
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    await chat.sendMessage()
    expect(partsOf(chat, 'tool-order').map(({ state }) => state)).toEqual(['output-available'])
    expect([lastText(chat), asked(), sent.length]).toEqual(['Done, 1.', 2, 1])
  })

  test('C2 a new message behind a turn that broke off is told what is known', async () => {
    const prompts: string[] = []
    const { sent, chat, decide, asked } = await opensShop({
      fate: () => {
        throw new Error('socket hang up')
      },
      answer: (reply, n, prompt) => {
        prompts.push(prompt)
        return n === 0 ? once(reply, n) : [text(`Said, ${n}.`)]
      },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await chat.sendMessage({ text: 'Did it work?' })
    expect([chat.status, lastText(chat), sent.length]).toEqual(['ready', 'Said, 1.', 1])
    expect(prompts[1]).toContain('must not be made again')
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    expect(asked()).toBe(2)
  })

  test('K2 a new message behind an approval that nobody gave', async () => {
    const { cf, sent, chat } = await opensShop({ needsApproval: true, answer: once })
    await chat.sendMessage({ text: 'Order tea.' })
    await chat.sendMessage({ text: 'No, order milk.' })
    await respond(chat, true, 99, chat.messages.at(-1)?.id)
    expect([lastText(chat), sent]).toEqual(['Done, 2.', ['tea: note 1']])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K2 two approvals in one reply, at once and one after the other', async () => {
    for (const count of [2, 1]) {
      const { cf, sent, chat } = await opensShop({
        needsApproval: true,
        answer: (reply, n) =>
          reply === 0 ? [order('a', 'tea', `${n}`), order('b', 'milk', `${n}`)] : [text('Done.')],
      })
      await chat.sendMessage({ text: 'Order tea and milk.' })
      await respond(chat, true, count)
      if (count === 1) {
        expect([chat.status, sent]).toEqual(['ready', ['tea: 0']])
        await respond(chat, true)
      }
      expect([lastText(chat), [...sent].sort()]).toEqual(['Done.', ['milk: 0', 'tea: 0']])
      expect((await cf.inbox.list()).items).toEqual([])
    }
  })

  test('K2 approvals of two replies, one after the other', async () => {
    const { cf, sent, chat } = await opensShop({
      needsApproval: true,
      answer: (reply, n) =>
        reply < 2 ? [order(`id-${n}`, ['tea', 'milk'][reply] ?? '', `${n}`)] : [text('Done.')],
    })
    await chat.sendMessage({ text: 'Order tea, then milk.' })
    await respond(chat, true)
    await respond(chat, true)
    expect([lastText(chat), sent]).toEqual(['Done.', ['tea: 0', 'milk: 1']])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K2 an approval that is denied sends nothing, and is not drift later', async () => {
    const { cf, sent, chat } = await opensShop({
      needsApproval: true,
      answer: (reply, n) =>
        reply === 0 ? [order('a', 'tea', `${n}`), order('b', 'milk', `${n}`)] : [text('Done.')],
    })
    await chat.sendMessage({ text: 'Order tea and milk.' })
    const [first] = partsOf(chat, 'tool-order')
    await chat.addToolApprovalResponse({ id: first?.approval?.id ?? '', approved: false })
    await respond(chat, true)
    expect([lastText(chat), sent]).toEqual(['Done.', ['milk: 0']])
    await chat.sendMessage({ text: 'Thanks.' })
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K2 ids and words that come again in a later reply are calls of their own', async () => {
    const { sent, handler, chat, asked } = await opensShop({
      answer: (reply) => (reply < 2 ? [order('call_0', 'tea', 'please')] : [text('Done.')]),
    })
    await chat.sendMessage({ text: 'Order tea twice.' })
    expect([lastText(chat), sent.length, asked()]).toEqual(['Done.', 2, 3])
    expect(wordsOf(await again(handler, chat))).toBe('Done.')
    expect([sent.length, asked()]).toEqual([2, 3])
  })

  test('K2 a retry button: the same request is read back, with the same words', async () => {
    const { sent, handler, chat, asked } = await opensShop({ answer: once })
    await chat.sendMessage({ text: 'Order tea.' })
    const words = wordsOf(await again(handler, chat))
    expect([words, lastText(chat), sent.length, asked()]).toEqual(['Done, 1.', 'Done, 1.', 1, 2])
  })

  test('K2 regenerate of a finished turn: a receipt of the same words answers', async () => {
    const { cf, sent, chat, asked } = await opensShop({
      needsApproval: true,
      answer: (reply, n) =>
        reply === 0 ? [order(`id-${n}`, 'tea', 'please')] : [text(`Done, ${n}.`)],
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await respond(chat, true)
    await chat.regenerate()
    expect([lastText(chat), sent.length, asked()]).toEqual(['Done, 3.', 1, 4])
    await chat.regenerate()
    expect([lastText(chat), sent.length, asked()]).toEqual(['Done, 5.', 1, 6])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K2 regenerate of a finished turn: a person sees a call in other words', async () => {
    for (const [outcome, count] of [
      ['use_record', 1],
      ['send', 2],
      ['fail', 1],
    ] as const) {
      const { sent, chat, decide } = await opensShop({ answer: once })
      await chat.sendMessage({ text: 'Order tea.' })
      await chat.regenerate()
      expect(partsOf(chat, 'data-counterfoil-doubt')).toMatchObject([
        { data: { tool: 'order', reason: 'same_effect' } },
      ])
      expect(sent).toHaveLength(1)
      await decide({ outcome })
      await chat.regenerate()
      expect([lastText(chat), sent.length]).toEqual(['Done, 3.', count])
    }
  })

  test('C2 regenerate of a finished turn: an id that comes again names no other send', async () => {
    const lists = [
      [order('a', 'tea', 'now'), order('b', 'milk', 'now')],
      // The same words by each other's ids; then as they were.
      [order('b', 'tea', 'now'), order('a', 'milk', 'now')],
      [order('a', 'tea', 'now'), order('b', 'milk', 'now')],
    ]
    let turn = 0
    const { cf, sent, chat } = await opensShop({
      needsApproval: true,
      answer: (reply) => (reply === 0 ? (lists[turn++] ?? []) : [text('Done.')]),
    })
    await chat.sendMessage({ text: 'Order tea and milk.' })
    await respond(chat, true)
    for (let n = 0; n < 2; n++) await chat.regenerate()
    expect([lastText(chat), sent]).toEqual(['Done.', ['tea: now', 'milk: now']])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('C2 regenerate of a finished turn: a receipt given out hides no other', async () => {
    let generation = 0
    const { sent, chat } = await opensShop({
      answer: (reply) => {
        if (reply === 0) return [order(`t${generation++}`, 'tea', 'now')]
        return reply === 1 && generation > 1 ? [order('m', 'milk', 'now')] : [text('Done.')]
      },
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await chat.regenerate()
    expect(partsOf(chat, 'data-counterfoil-doubt')).toMatchObject([
      { data: { tool: 'order', reason: 'same_effect' } },
    ])
    expect(sent).toEqual(['tea: now'])
  })

  test('E1 an approval is of one call, not of every later one with its id', async () => {
    const words = ['tea', 'laptop', 'laptop']
    const { sent, chat } = await opensShop({
      needsApproval: true,
      answer: (reply) => (words[reply] ? [order('call_0', words[reply], 'now')] : [text('Done.')]),
    })
    await chat.sendMessage({ text: 'Order tea.' })
    const expected = ['tea: now', 'laptop: now', 'laptop: now']
    for (let n = 0; n < expected.length; n++) {
      expect(partsOf(chat, 'tool-order').at(-1)?.state).toBe('approval-requested')
      expect(sent).toEqual(expected.slice(0, n))
      await respond(chat, true)
    }
    expect([lastText(chat), sent]).toEqual(['Done.', expected])
  })

  test('K2 regenerate of a finished turn: a call that was approved now is sent', async () => {
    const { cf, sent, chat } = await opensShop({ needsApproval: true, answer: once })
    await chat.sendMessage({ text: 'Order tea.' })
    await respond(chat, true)
    await chat.regenerate()
    await respond(chat, true)
    expect([lastText(chat), sent]).toEqual(['Done, 3.', ['tea: note 0', 'tea: note 2']])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('K2 an edited message: what the message did before is put before a person', async () => {
    const { cf, sent, chat, decide } = await opensShop({ answer: once })
    await chat.sendMessage({ text: 'Oder tea.' })
    const [asked] = chat.messages
    await chat.sendMessage({ text: 'Order tea.', messageId: asked?.id ?? '' })
    expect(partsOf(chat, 'data-counterfoil-doubt')).toMatchObject([
      { data: { tool: 'order', reason: 'same_effect' } },
    ])
    expect(sent).toHaveLength(1)
    await decide({ outcome: 'use_record' })
    await chat.regenerate()
    expect([lastText(chat), sent.length]).toEqual(['Done, 3.', 1])
    // A later message is no edit.
    await chat.sendMessage({ text: 'Order tea again.' })
    expect(sent).toHaveLength(2)
    expect((await cf.inbox.list()).items).toEqual([])
  })
})
