// Decisions about a turn that its user has left behind: what became of a call reaches the
// conversation, and nothing is sent for a message that is over.
import { describe, expect, test } from 'vitest'
import { again, chatOf, lastText, once, openShop, order, partsOf, text } from './chat.ts'
import { listRecords, majors, onlyItem } from './sdk.ts'

const hangsUp = (sent: number) => {
  if (sent === 1) throw new Error('socket hang up')
  return undefined
}

describe.each(majors)('$name', (major) => {
  /** An order of unknown outcome, and a user who goes on before anybody has decided. */
  const opensLeft = async (then: Parameters<typeof openShop>[1]['answer']) => {
    const prompts: string[] = []
    const made = await openShop(major, {
      fate: hangsUp,
      answer: (reply, n, prompt) => {
        prompts.push(prompt)
        return n === 0 ? [order('id-0', 'tea', 'now')] : then(reply, n, prompt)
      },
    })
    const { chat } = made
    await chat.sendMessage({ text: 'Order tea.' })
    const last = () => prompts.at(-1) ?? ''
    return { ...made, last }
  }

  test('K2 happened, decided after the user went on: model and client are told', async () => {
    const { cf, sent, chat, decide, last } = await opensLeft((_, n) => [text(`Said, ${n}.`)])
    await chat.sendMessage({ text: 'Did it work?' })
    expect(last()).toContain('must not be made again')
    expect(partsOf(chat, 'data-counterfoil-outcome')).toEqual([])
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    await chat.sendMessage({ text: 'And now?' })
    expect(last()).toContain('o-7')
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
      { data: { tool: 'order', toolCallId: 'id-0', state: 'done', output: { orderId: 'o-7' } } },
    ])
    const rows = (await listRecords(cf)).filter(({ tool }) => tool === 'order')
    expect(rows.map(({ status }) => status)).toEqual(['committed'])
    // The client knows by now: it is not told again, the model is.
    await chat.sendMessage({ text: 'Thanks.' })
    expect(last()).toContain('o-7')
    expect(partsOf(chat, 'data-counterfoil-outcome')).toHaveLength(1)
    expect([sent.length, chat.status, lastText(chat)]).toEqual([1, 'ready', 'Said, 3.'])
  })

  test('I5 did not happen, decided after the user went on: it lapses, on record', async () => {
    const { cf, sent, chat, handler, decide, last } = await opensLeft((_, n) => [
      text(`Said, ${n}.`),
    ])
    await decide({ outcome: 'did_not_happen' })
    await chat.sendMessage({ text: 'Leave it.' })
    expect([sent.length, lastText(chat)]).toEqual([1, 'Said, 1.'])
    expect(last()).toContain('it was not sent')
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
      { data: { state: 'failed', message: expect.stringContaining('the chat had gone on') } },
    ])
    const [row] = (await listRecords(cf)).filter(({ tool }) => tool === 'order')
    expect([row?.status, row?.errorJson]).toEqual(['failed', expect.stringContaining('gone on')])
    // Whoever comes back for the first message is told the same: the grant is used up.
    await again(handler, chat, 0)
    expect(sent).toHaveLength(1)
  })

  test('I5 a call whose grant lapsed may be asked for anew, in the same words', async () => {
    const { cf, sent, chat, decide } = await opensLeft((reply, n) =>
      reply === 0 ? [order(`id-${n}`, 'tea', 'now')] : [text(`Done, ${n}.`)],
    )
    await decide({ outcome: 'did_not_happen' })
    await chat.sendMessage({ text: 'Then order it again.' })
    expect([lastText(chat), sent]).toEqual(['Done, 2.', ['tea: now', 'tea: now']])
    expect((await cf.inbox.list()).items).toEqual([])
  })

  test('I5 did not happen, and the same request again: it is sent once more', async () => {
    const { sent, chat, decide } = await opensLeft((_, n) => [text(`Done, ${n}.`)])
    await decide({ outcome: 'did_not_happen' })
    await chat.regenerate()
    expect([lastText(chat), sent.length]).toEqual(['Done, 1.', 2])
  })

  test('C2 two requests at once behind a decided doubt: nothing is sent', async () => {
    const { sent, chat, handler, decide } = await opensLeft((_, n) => [text(`Said, ${n}.`)])
    await decide({ outcome: 'did_not_happen' })
    const other = chatOf(major, handler)
    other.messages = [...chat.messages]
    await Promise.all([chat.sendMessage({ text: 'Well?' }), other.sendMessage({ text: 'So?' })])
    expect([sent.length, chat.status, other.status]).toEqual([1, 'ready', 'ready'])
  })

  test('K2 a reply on record stays the reply, whatever is known since', async () => {
    const { sent, asked, chat, handler, decide } = await opensLeft((_, n) => [text(`Said, ${n}.`)])
    await chat.sendMessage({ text: 'Did it work?' })
    await decide({ outcome: 'happened', result: { orderId: 'o-7' } })
    await again(handler, chat)
    expect([sent.length, asked()]).toEqual([1, 2])
  })

  test('C2 a send that was allowed too late lapses, too', async () => {
    const { cf, sent, chat } = await openShop(major, {
      answer: (reply, n) => (n > 2 ? [text(`Said, ${n}.`)] : once(reply, n)),
    })
    await chat.sendMessage({ text: 'Order tea.' })
    await chat.regenerate()
    const { itemId, version } = await onlyItem(cf)
    const by = { by: 'ana', reason: 'two are wanted', madeSure: true }
    await cf.inbox.decide(itemId, { ...by, version, outcome: 'send' })
    await chat.sendMessage({ text: 'Forget it.' })
    expect([lastText(chat), sent.length]).toEqual(['Said, 3.', 1])
    // Since regenerate tells what the old answer has done, that comes first.
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
      { data: { state: 'done', output: { orderId: 'o-1' } } },
      { data: { state: 'failed' } },
    ])
  })

  test('D1 abandon ends the turn, and not the chat', async () => {
    const { cf, sent, chat, handler, decide, last } = await opensLeft((reply, n, prompt) =>
      reply === 0 && prompt.includes('Milk')
        ? [order(`m-${n}`, 'milk', '')]
        : [text(`Said, ${n}.`)],
    )
    await decide({ outcome: 'abandon' })
    // The turn itself stays ended, before and after the chat has gone on.
    const retry = async () => JSON.parse(await again(handler, chat, 0))
    expect(await retry()).toMatchObject({ status: 409, code: 'RUN_ABANDONED' })
    await chat.sendMessage({ text: 'Did it work?' })
    expect([chat.status, lastText(chat)]).toEqual(['ready', 'Said, 1.'])
    expect(last()).toContain('nobody knows whether it happened')
    expect(partsOf(chat, 'data-counterfoil-outcome')).toMatchObject([
      { data: { tool: 'order', state: 'given_up' } },
    ])
    expect(await retry()).toMatchObject({ status: 409, code: 'RUN_ABANDONED' })
    await chat.sendMessage({ text: 'Milk, please.' })
    expect([lastText(chat), sent]).toEqual(['Said, 3.', ['tea: now', 'milk: ']])
    expect(await cf.run('chat-1').status()).toMatchObject({ state: 'waiting_tool' })
  })

  test('C2 the same order right behind an abandoned one: a person sees both', async () => {
    const { sent, chat, decide } = await opensLeft((_, n) => [order(`id-${n}`, 'tea', 'anew')])
    await decide({ outcome: 'abandon' })
    await chat.sendMessage({ text: 'Order it.' })
    expect(partsOf(chat, 'data-counterfoil-doubt')).toHaveLength(2)
    expect(sent).toHaveLength(1)
  })

  test('D4 a chat that was cancelled stays cancelled', async () => {
    const { cf, chat, handler } = await opensLeft((_, n) => [text(`Said, ${n}.`)])
    await cf.run('chat-1').cancel({ by: 'ana', reason: 'enough' })
    await chat.sendMessage({ text: 'Hello?' })
    expect(JSON.parse(await again(handler, chat))).toMatchObject({ code: 'RUN_ENDED' })
  })
})
