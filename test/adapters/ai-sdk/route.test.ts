// The chat route: what it refuses, what it does with several requests of one turn at once, and that
// it gives its hold back on every path.
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { chatRoute, guardAgent } from '../../../src/adapters/ai-sdk/index.ts'
import type { Counterfoil } from '../../../src/index.ts'
import { again, chatOf, lastText, once, partsOf, post, respond, shop, wordsOf } from './chat.ts'
import { file, majors, opens, scripted } from './sdk.ts'

const user = (id: string, said: string) => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text: said }],
})

function asks(body: unknown, signal?: AbortSignal): Request {
  return post(JSON.stringify(body), signal)
}

/** A hold that is still there would refuse the scope; the run would not wait for its host. */
async function expectGivenBack(cf: Counterfoil, runId = 'chat-1'): Promise<void> {
  const { state } = await cf.run(runId).status()
  expect(['waiting_tool', 'waiting_human']).toContain(state)
}

describe.each(majors)('$name', (major) => {
  const body = { id: 'chat-1', trigger: 'submit-message', messages: [user('u1', 'Order tea.')] }

  test('a body that is not a chat’s gets a 400 that says what is wrong', async () => {
    const cf = await opens()
    const { route, asked } = shop(major, { answer: once })
    const handler = route(cf)
    const bad: [unknown, string][] = [
      [[], 'an object'],
      [null, 'an object'],
      [{ ...body, id: '' }, '`id`'],
      [{ ...body, messages: [] }, '`messages`'],
      [{ ...body, messages: 'hello' }, '`messages`'],
      [{ ...body, trigger: 'again' }, '`trigger`'],
      [{ ...body, messages: [{ role: 'user', parts: [] }] }, 'messages[0].id'],
      [{ ...body, messages: [{ ...user('u1', ''), role: 'boss' }] }, 'messages[0].role'],
      [{ ...body, messages: [{ id: 'u1', role: 'user', content: 'x' }] }, 'messages[0].parts'],
      [{ ...body, messages: [{ id: 'u1', role: 'user', parts: [null] }] }, 'messages[0].parts'],
      [{ ...body, messages: [{ ...user('a1', ''), role: 'assistant' }] }, 'message of the user'],
    ]
    for (const [wrong, says] of bad) {
      const response = await handler(asks(wrong))
      const { code, detail, status } = (await response.json()) as Record<string, unknown>
      expect([response.status, status, code]).toEqual([400, 400, 'CHAT_REQUEST_INVALID'])
      expect(detail).toContain(says)
    }
    expect((await handler(post('{'))).status).toBe(400)
    expect((await handler(new Request('http://localhost/'))).status).toBe(400)
    expect(asked()).toBe(0)
  })

  test('K2 two and three requests of one turn at once: one order, the same words', async () => {
    for (const count of [2, 3]) {
      const cf = await opens()
      const { route, sent, asked } = shop(major, { answer: once })
      const handler = route(cf)
      const all = Array.from({ length: count }, async () => (await handler(asks(body))).text())
      const words = (await Promise.all(all)).map(wordsOf)
      expect(words).toEqual(Array(count).fill('Done, 1.'))
      expect([sent.length, asked()]).toEqual([1, 2])
      await expectGivenBack(cf)
    }
  })

  test('K2 two servers over one store: one order, the same words for both', async () => {
    const store = `sqlite:${file()}`
    const { route, sent, asked } = shop(major, { answer: once })
    const handlers = [route(await opens({ store })), route(await opens({ store }))]
    const all = handlers.map(async (handler) => (await handler(asks(body))).text())
    expect((await Promise.all(all)).map(wordsOf)).toEqual(['Done, 1.', 'Done, 1.'])
    expect([sent.length, asked()]).toEqual([1, 2])
  })

  test('K2 an approval that is clicked twice, and regenerate that is clicked twice', async () => {
    const cf = await opens()
    const { route, sent, asked } = shop(major, { answer: once, needsApproval: true })
    const handler = route(cf)
    const chat = chatOf(major, handler)
    await chat.sendMessage({ text: 'Order tea.' })
    await respond(chat, true)
    const twice = [again(handler, chat), again(handler, chat)]
    expect((await Promise.all(twice)).map(wordsOf)).toEqual(['Done, 1.', 'Done, 1.'])
    expect([sent.length, asked()]).toEqual([1, 2])
    const [first] = chat.messages
    const anew = { ...body, trigger: 'regenerate-message', messages: [first] }
    const both = await Promise.all([1, 2].map(async () => (await handler(asks(anew))).text()))
    // One new reply, in which a new call waits for its approval; the other request reads it back.
    expect(both[0]).toContain('tool-approval-request')
    expect(both[1]).toContain('"toolCallId":"id-2"')
    expect([sent.length, asked()]).toEqual([1, 3])
  })

  test('a client that goes away: what was begun is finished, the hold given back', async () => {
    const cf = await opens()
    let go = () => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    let begun = () => {}
    const began = new Promise<void>((resolve) => {
      begun = resolve
    })
    const fate = () => {
      begun()
      return gate.then(() => ({ orderId: 'o-1' }))
    }
    const { route, sent, asked } = shop(major, { answer: once, fate: fate as never })
    const handler = route(cf)
    const { body: stream } = await handler(asks(body))
    await began
    await stream?.cancel()
    go()
    // The next request waits for the hold, and reads back what the first has done.
    const words = wordsOf(await (await handler(asks(body))).text())
    expect([words, sent.length, asked()]).toEqual(['Done, 1.', 1, 2])
    await expectGivenBack(cf)
  })

  test('over HTTP, in Hono: a socket that is cut gives the hold back', async () => {
    const cf = await opens()
    let begun = () => {}
    const began = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { route, sent, asked } = shop(major, {
      answer: (reply, n) => {
        if (reply === 1 && n === 1) {
          begun()
          throw new Error('the provider is down')
        }
        return once(reply, n)
      },
    })
    const handler = route(cf)
    const app = new Hono().post('/api/chat', (c) => handler(c.req.raw))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const ask = (signal?: AbortSignal) =>
      fetch(`http://127.0.0.1:${port}/api/chat`, {
        ...{ method: 'POST', body: JSON.stringify(body), ...(signal ? { signal } : {}) },
      })
    const cut = new AbortController()
    await ask(cut.signal)
    await began
    cut.abort()
    const response = await ask()
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(wordsOf(await response.text())).toBe('Done, 2.')
    expect([sent.length, asked()]).toEqual([1, 3])
    await expectGivenBack(cf)
  })

  test('a doubt is a data part with its item and link, and the hold is given back', async () => {
    const cf = await opens()
    const fate = () => {
      throw new Error('socket hang up')
    }
    const { route } = shop(major, { answer: once, fate })
    const chat = chatOf(major, route(cf))
    await chat.sendMessage({ text: 'Order tea.' })
    const { items } = await cf.inbox.list()
    const itemId = items[0]?.itemId ?? ''
    expect(partsOf(chat, 'data-counterfoil-doubt')).toMatchObject([
      { data: { itemId, link: `/inbox/${itemId}`, workflowId: 'chat-1', tool: 'order' } },
    ])
    expect([chat.status, lastText(chat)]).toEqual(['ready', ''])
    await expectGivenBack(cf)
  })

  test('a reply that throws, or is no stream, or breaks off gives it back', async () => {
    const cf = await opens()
    const agent = guardAgent({ model: scripted(major, []) })
    const told: unknown[] = []
    const failing = {
      throws: () => {
        throw new Error('secret of the server')
      },
      isNoStream: () => 'hello' as never,
      streamFails: () =>
        new ReadableStream({
          pull: (controller) => controller.error(new Error('secret of the server')),
        }),
    }
    for (const reply of Object.values(failing)) {
      const handler = chatRoute({ cf, agent, reply, onError: (error) => told.push(error) })
      const response = await handler(asks(body))
      const said = await response.text()
      expect(response.status).toBe(reply === failing.streamFails ? 200 : 500)
      expect(said).not.toContain('secret')
      await expectGivenBack(cf)
    }
    expect(told).toHaveLength(3)
  })

  test('a chat that somebody has paused gets a 409 that says so', async () => {
    const cf = await opens()
    const { route } = shop(major, { answer: once })
    await (await route(cf)(asks(body))).text()
    await cf.run('chat-1').pause({ by: 'ana', reason: 'a look' })
    const response = await route(cf)(asks({ ...body, messages: [user('u2', 'And milk.')] }))
    expect([response.status, await response.json()]).toMatchObject([409, { code: 'RUN_PAUSED' }])
  })
})
