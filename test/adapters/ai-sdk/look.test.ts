// Where to look (A10) for a call that was not sent: the record that it is compared with says it.
import { describe, expect, test } from 'vitest'
import { chatOf, order, shop, text } from './chat.ts'
import { majors, onlyItem, opens } from './sdk.ts'

describe.each(majors)('$name', (major) => {
  test('A10 same_effect: each record that may be the same call says where to look', async () => {
    const cf = await opens()
    const { route, sent } = shop(major, {
      answer: (reply, asked) =>
        reply === 0 ? [order(`id-${asked}`, 'tea', `note ${asked}`)] : [text('Done.')],
    })
    const chat = chatOf(major, route(cf))
    await chat.sendMessage({ text: 'Order tea.' })
    await chat.regenerate()
    const { reason, body } = await onlyItem(cf)
    expect([reason, sent]).toEqual(['same_effect', ['tea: note 0']])
    const look = { url: null, say: 'Look for tea in the shop.', fault: null }
    expect(body.unmatched.map((record) => record.look)).toEqual([look])
  })
})
